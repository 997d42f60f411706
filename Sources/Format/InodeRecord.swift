package import Bytes

/// The 256 bytes of an inode.
///
/// A free inode keeps its generation and has mode 0. The last 96 bytes are the first three chunk
/// references of a file, or a symlink's target of up to 96 bytes.
package struct InodeRecord: Sendable {
  package var mode: UInt32 = 0
  package var links: UInt32 = 0
  package var user: UInt32 = 0
  package var group: UInt32 = 0
  /// In bytes; of a symlink the length of its target, of a directory the number of its entries.
  package var size: UInt64 = 0
  package var accessed: (seconds: Int64, nanoseconds: UInt32) = (0, 0)
  package var modified: (seconds: Int64, nanoseconds: UInt32) = (0, 0)
  package var changed: (seconds: Int64, nanoseconds: UInt32) = (0, 0)
  package var born: (seconds: Int64, nanoseconds: UInt32) = (0, 0)
  package var generation: UInt32 = 0
  package var flags: InodeFlags = []
  package var device: UInt64 = 0
  /// Stored chunks.
  package var chunks: UInt64 = 0
  /// The 32 random bytes the file's key is derived from; they exist nowhere else.
  package var seed: [UInt8] = [UInt8](repeating: 0, count: 32)
  /// The number of the file's key: a new one is taken before too much is sealed under it.
  package var keyNumber: UInt32 = 0
  /// While re-keying: the first chunks, in units of 128, that are under the newest key.
  package var rekeyed: UInt32 = 0
  /// Seals done under the file's newest key, as of the last frame of its contents.
  package var seals: UInt64 = 0
  package static let mostSeals: UInt64 = 1 << 40 - 1
  /// The vault's unclean stops that `seals` takes into account, modulo 2^24.
  package var stops: UInt32 = 0
  /// The first page of extended attributes, 0 for none.
  package var attributePage: UInt32 = 0
  /// Levels between `top` and the chunks: 1 for a table, 2 for a pointer page over tables, ...
  package var height: UInt8 = 0
  /// Top of the chunk tree, root of the directory, or page of a long symlink target; 0 for none.
  package var top: UInt32 = 0
  /// The directory a directory is in.
  package var parent: UInt64 = 0
  /// Three references, or the target.
  package var tail: [UInt8] = [UInt8](repeating: 0, count: 96)

  package init() {}

  /// Reads a record; total, since every bit pattern is a record (the page was authenticated).
  package init(from buffer: Buffer, at base: Int) {
    func u32(_ offset: Int) -> UInt32 { buffer.load(UInt32.self, at: base + offset) }
    func u64(_ offset: Int) -> UInt64 { buffer.load(UInt64.self, at: base + offset) }
    func time(_ index: Int) -> (seconds: Int64, nanoseconds: UInt32) {
      (buffer.load(Int64.self, at: base + 24 + 8 * index), u32(56 + 4 * index))
    }
    mode = u32(0)
    links = u32(4)
    user = u32(8)
    group = u32(12)
    size = u64(16)
    accessed = time(0)
    modified = time(1)
    changed = time(2)
    born = time(3)
    generation = u32(72)
    flags = InodeFlags(rawValue: u32(76))
    device = u64(80)
    chunks = u64(88)
    seed = buffer.load((base + 96)..<(base + 128))
    keyNumber = u32(128)
    attributePage = u32(132)
    height = buffer.load(UInt8.self, at: base + 136)
    rekeyed = u32(136) >> 8
    top = u32(140)
    parent = u64(144)
    seals = u64(152) & Self.mostSeals
    stops = UInt32(u64(152) >> 40)
    tail = buffer.load((base + 160)..<(base + 256))
  }

  package func store(to buffer: Buffer, at base: Int) {
    precondition(seed.count == 32 && tail.count == 96)
    buffer.zero(base..<(base + Layout.inodeSize))
    buffer.store(mode, at: base)
    buffer.store(links, at: base + 4)
    buffer.store(user, at: base + 8)
    buffer.store(group, at: base + 12)
    buffer.store(size, at: base + 16)
    for (index, time) in [accessed, modified, changed, born].enumerated() {
      buffer.store(time.seconds, at: base + 24 + 8 * index)
      buffer.store(time.nanoseconds, at: base + 56 + 4 * index)
    }
    buffer.store(generation, at: base + 72)
    buffer.store(flags.rawValue, at: base + 76)
    buffer.store(device, at: base + 80)
    buffer.store(chunks, at: base + 88)
    buffer.store(seed, at: base + 96)
    precondition(rekeyed < 1 << 24)
    buffer.store(keyNumber, at: base + 128)
    buffer.store(attributePage, at: base + 132)
    buffer.store(UInt32(height) | rekeyed << 8, at: base + 136)
    buffer.store(top, at: base + 140)
    buffer.store(parent, at: base + 144)
    precondition(seals <= Self.mostSeals && stops < 1 << 24)
    buffer.store(seals | UInt64(stops) << 40, at: base + 152)
    buffer.store(tail, at: base + 160)
  }
}

package struct InodeFlags: OptionSet, Sendable {
  package let rawValue: UInt32
  package init(rawValue: UInt32) { self.rawValue = rawValue }

  /// Chunks beyond the size are still to be released; nothing may grow the file before.
  package static let trimming = InodeFlags(rawValue: 1)
  /// On the orphan list: no name is left.
  package static let orphan = InodeFlags(rawValue: 2)
  /// Some chunks may be under the key before the newest.
  package static let rekeying = InodeFlags(rawValue: 4)
}
