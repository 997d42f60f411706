import Bytes
package import POSIX
package import Volume

/// Why a copy was not made.
package enum CopyError: Error, Hashable, Sendable {
  case source(VolumeError)
  case target(VolumeError)
  /// Whoever asked for it does not want it any more.
  case stopped
}

/// What could not be copied of a tree, while the rest was.
package enum CopyProblem: Hashable, Sendable {
  case failed(CopyError)
  /// A pipe, a socket or a device: it has no content to keep.
  case special(FileInformation.Kind)
  /// Something else has the name already.
  case exists
  /// The folder is where the copy goes, or the vault itself.
  case inside
  /// The target has no place for some extended attributes.
  case attributes
}

/// How copies are made, and who hears of it.
package struct CopyOptions {
  /// A file that has the name is replaced.
  package var replaces = false
  /// Whether a tree's files are made to last one by one, or all at once by whoever closes the tree.
  package var syncsEach = true
  /// Folders of the system that are never copied, by their identity.
  package var excluded: Set<String> = []
  /// Answers true to stop.
  package var isStopped: () -> Bool = { false }
  /// Hears of bytes, as they are copied.
  package var tell: (UInt64) -> Void = { _ in }
  /// Hears of each file that is copied whole.
  package var copied: () -> Void = {}
  /// Hears what of a tree is not copied; the path is from where the tree begins.
  package var report: ([UInt8], CopyProblem) -> Void = { _, _ in }

  package init() {}
}

/// Bytes that come one after another, such as those of a pipe.
package final class ByteStream {
  private let descriptor: Descriptor

  package init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }

  /// Fills a buffer, or what is left of it until the end; a pipe gives little at a time. Waits for
  /// input only as long as nobody wants to stop: then nil.
  func fill(_ buffer: Buffer, isStopped: () -> Bool) throws(Errno) -> Int? {
    var count = 0
    while count < buffer.count {
      while !System.waitForInput(descriptor, milliseconds: 100) {
        if isStopped() { return nil }
      }
      var span = buffer.mutableBytes(in: count..<buffer.count)
      let got = try System.receive(descriptor, into: &span)
      if got == 0 { break }
      count += got
      if isStopped() { return nil }
    }
    return count
  }
}
