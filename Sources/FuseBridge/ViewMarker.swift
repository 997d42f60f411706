internal import Synchronization
internal import Volume

/// A file that is there in the root of a mount, and stored nowhere.
struct ViewTag {
  let name: [UInt8]
  let text: [UInt8]
  let inode: InodeNumber

  /// https://bford.info/cachedir/, and the other name that backup programs are told to look for.
  static let all = [
    ViewTag(
      number: 0, "CACHEDIR.TAG",
      """
      Signature: 8a477f597d28d172789f06886806bc55
      # This is an open vault of Coffre. Backup programs should pass it by: what they read
      # here is in clear. This file is not stored in the vault.

      """),
    ViewTag(number: 1, ".nobackup", ""),
  ]

  private init(number: UInt64, _ name: String, _ text: String) {
    self.name = Array(name.utf8)
    self.text = Array(text.utf8)
    inode = InodeNumber(rawValue: InodeNumber.firstTag.rawValue + number)
  }

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

extension InodeNumber {
  /// Those of a volume are below 2^36 (Inodes.swift).
  static let firstTag = InodeNumber(rawValue: 1 << 40)
  /// Whether the volume must not hear of it.
  var isTag: Bool { self >= .firstTag }
}

/// What tells backup programs to pass a mounted vault by, since they would copy it in clear: tags in
/// the root, and an attribute of the root. None of it is stored.
///
/// The tags are found by their names and are in no listing: so programs look for them, while those
/// that copy, remove or commit what is listed never meet them. Each only stands in for what is not
/// there, and until a program makes or removes something of its name. From then on, until the next
/// mount, the name is like any other: absent after it was removed, and free to be made with O_EXCL.
final class ViewMarker: Sendable {
  static let attribute = Array("user.xdg.robots.backup".utf8)
  static let value = Array("false".utf8)
  private static let attributeBit: UInt8 = 0x80

  /// A bit for each that stands in; they only go.
  private let shown: Atomic<UInt8>

  init(isShown: Bool) { shown = Atomic(isShown ? .max : 0) }

  private func isShown(_ bit: UInt8) -> Bool { shown.load(ordering: .relaxed) & bit != 0 }

  private func hide(_ bit: UInt8) -> Bool {
    shown.bitwiseAnd(~bit, ordering: .relaxed).oldValue & bit != 0
  }

  private static func bit(of inode: InodeNumber) -> UInt8 {
    1 << UInt8(inode.rawValue - InodeNumber.firstTag.rawValue)
  }

  func links(of tag: ViewTag) -> UInt32 { isShown(Self.bit(of: tag.inode)) ? 1 : 0 }

  /// What a name in a directory stands for, as long as nothing else has it.
  func tag(_ name: Name, in parent: InodeNumber) -> ViewTag? {
    guard parent == .root, shown.load(ordering: .relaxed) != 0 else { return nil }
    let name = name.bytes
    return ViewTag.all.first { $0.name == name && isShown(Self.bit(of: $0.inode)) }
  }

  /// Leaves a name to the volume if it is a tag's; false if it was so already.
  @discardableResult
  func giveUp(_ name: Name, in parent: InodeNumber) -> Bool {
    tag(name, in: parent).map { hide(Self.bit(of: $0.inode)) } ?? false
  }

  /// Whether an attribute is the one that stands in.
  func isAttribute(_ name: [UInt8], of inode: InodeNumber) -> Bool {
    inode == .root && isShown(Self.attributeBit) && name == Self.attribute
  }

  @discardableResult
  func giveUp(_ name: [UInt8], of inode: InodeNumber) -> Bool {
    isAttribute(name, of: inode) && hide(Self.attributeBit)
  }
}
