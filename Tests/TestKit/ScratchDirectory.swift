import Glibc

/// A folder of its own under /tmp for one test, removed with all it holds.
package final class ScratchDirectory: Sendable {
  package let path: String

  package init() {
    var template = Array("/tmp/coffre-test-XXXXXX".utf8CString)
    guard unsafe mkdtemp(&template) != nil else { preconditionFailure("a folder in /tmp") }
    path = String(
      decoding: template.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit { Self.remove(path) }

  /// The path of something in the folder.
  package func path(_ name: String) -> String { path + "/" + name }

  /// Removes a tree; links are not followed.
  private static func remove(_ path: String) {
    if let stream = unsafe opendir(path) {
      var names: [String] = []
      while let entry = unsafe readdir(stream) {
        let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
          unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        if name != "." && name != ".." { names.append(name) }
      }
      unsafe closedir(stream)
      for name in names {
        let child = path + "/" + name
        if unsafe unlink(child) != 0 { remove(child) }
      }
    }
    unsafe rmdir(path)
  }
}
