internal import POSIX
internal import Volume

/// A file that is there in the root of a mount, and stored nowhere.
struct ViewTag {
  let name: [UInt8]
  let text: [UInt8]
  let number: Int
  var inode: InodeNumber {
    InodeNumber(rawValue: InodeNumber.firstTag.rawValue + UInt64(number))
  }

  /// https://bford.info/cachedir/, and the other name that backup programs are told to look for.
  static let all = [
    ViewTag(
      number: 0, "CACHEDIR.TAG",
      """
      Signature: 8a477f597d28d172789f06886806bc55
      # This is an open vault of Coffre. Backup programs should pass it by: what they read
      # here is in clear. This file is not stored in the vault. Where you find a copy of it,
      # backup programs pass that folder by as well, until you delete it there.

      """),
    ViewTag(number: 1, ".nobackup", ""),
  ]

  private init(number: Int, _ name: String, _ text: String) {
    self.name = Array(name.utf8)
    self.text = Array(text.utf8)
    self.number = number
  }

  /// The one that listings have: some programs look for it there. The other one is for those that
  /// ask by name, and what a person copies out of a mount has no hidden file in it.
  static let listed = all[0]

  /// The tag with a number; nil for an inode of the volume.
  static func of(_ inode: InodeNumber) -> ViewTag? {
    inode.isTag ? all.first { $0.inode == inode } : nil
  }

  /// What stat(2) tells of it: a file of the root's owner that nobody may write.
  func attributes(root: Attributes, links: UInt32) -> Attributes {
    var tag = root
    tag.inode = inode
    tag.generation = 0
    tag.mode = 0o100444
    tag.links = links
    tag.size = UInt64(text.count)
    tag.blocks = text.isEmpty ? 0 : 8
    (tag.accessed, tag.modified, tag.changed) = (root.born, root.born, root.born)
    return tag
  }
}

/// What tells backup programs to pass a mounted vault by, since they would copy it in clear: tags
/// in the root, and an attribute of the root. None of it is stored.
///
/// Each only stands in for what is not there: something of one's own is never hidden. What is
/// removed is gone for a while, so that whoever removes a file to make another one can (tar(1),
/// install(1), editors); then the mark is there again, since nobody wants an open vault in a backup
/// because he emptied it.
final class ViewMarker: Sendable {
  static let attribute = Array("user.xdg.robots.backup".utf8)
  static let value = Array("false".utf8)
  private static let attributeNumber = ViewTag.all.count
  /// In nanoseconds.
  private static let rest: UInt64 = 10_000_000_000

  private struct State {
    /// Until when each is hidden, by CLOCK_MONOTONIC.
    var ends = [UInt64](repeating: 0, count: ViewMarker.attributeNumber + 1)
    var isWatched = false
  }

  private let isOn: Bool
  private let state = Lock(State())

  init(isShown: Bool) { isOn = isShown }

  private func isShown(_ number: Int) -> Bool {
    isOn && state.withLock { $0.ends[number] } <= Clock.monotonic
  }

  func links(of tag: ViewTag) -> UInt32 { isShown(tag.number) ? 1 : 0 }

  /// What a name in a directory stands for, as long as nothing else has it.
  func tag(_ name: Name, in parent: InodeNumber) -> ViewTag? {
    guard isOn, parent == .root, let tag = Self.tag(name.bytes) else { return nil }
    return isShown(tag.number) ? tag : nil
  }

  private static func tag(_ name: [UInt8]) -> ViewTag? { ViewTag.all.first { $0.name == name } }

  /// Whether an attribute is the one that stands in.
  func isAttribute(_ name: [UInt8], of inode: InodeNumber) -> Bool {
    inode == .root && name == Self.attribute && isShown(Self.attributeNumber)
  }

  /// Something of a name was removed, or is to be: what stands in there is hidden. False if there
  /// was none. `watch` is called where somebody has to see when it is there again.
  func hide(_ name: Name, in parent: InodeNumber, watch: () -> Void) -> Bool {
    guard isOn, parent == .root, let tag = Self.tag(name.bytes) else { return false }
    return hide(tag.number, watch)
  }

  func hide(_ name: [UInt8], of inode: InodeNumber, watch: () -> Void) -> Bool {
    guard isOn, inode == .root, name == Self.attribute else { return false }
    return hide(Self.attributeNumber, watch)
  }

  private func hide(_ number: Int, _ watch: () -> Void) -> Bool {
    let now = Clock.monotonic
    let (wasShown, isWatched) = state.withLock { state in
      defer {
        state.ends[number] = now + Self.rest
        state.isWatched = true
      }
      return (state.ends[number] <= now, state.isWatched)
    }
    if !isWatched { watch() }
    return wasShown
  }

  /// Nanoseconds until all of it is there again; nil, and nobody watches, once it is.
  var left: UInt64? {
    state.withLock { state in
      let now = Clock.monotonic
      guard let end = state.ends.max(), end > now else {
        state.isWatched = false
        return nil
      }
      return end - now
    }
  }
}
