import Bytes
import Crypto
import Disk
import Format
import TestKit

@testable import Engine
@testable import Volume

/// Decoders of the engine: of what is sealed, and of what the seal was good for.
enum StoreTargets {
  private static let vault = FuzzVault.shared

  /// A journal segment as anybody may have changed it: what opens is what was sealed there.
  static func frame(_ bytes: [UInt8]) {
    let segment = Buffer(Input.changing(Frames.shared.segment, bytes))
    var offset = 0
    while offset < segment.count {
      if let found = Frames.shared.codec.open(segment, at: offset) {
        let expected = Frames.shared.payloads[offset]
        precondition(
          found.payload.load(0..<found.payload.count) == expected, "a forged frame opens")
      }
      offset += Layout.frameAlignment
    }
  }

  /// Three frames in a segment of four pages.
  private final class Frames: Sendable {
    static let shared = Frames()
    let codec: SegmentCodec
    let segment: [UInt8]
    let payloads: [Int: [UInt8]]

    private init() {
      let name = SegmentName(number: 5, seed: [UInt8](repeating: 3, count: 32))
      codec = SegmentCodec(name, master: vault.master, vault: vault.identifier)
      let all = Buffer(count: 4 * Layout.chunkSize)
      var payloads: [Int: [UInt8]] = [:]
      var offset = 0
      for length in [40, 700, 3000] {
        let payload = Buffer([UInt8](repeating: UInt8(length % 251), count: length))
        let frame = Buffer(count: SegmentCodec.paddedSize(length))
        _ = codec.seal(payload, length, at: UInt64(offset), into: frame)
        all.copy(from: frame, 0..<frame.count, to: offset)
        payloads[offset] = payload.load(0..<length)
        offset += frame.count
      }
      segment = all.load(0..<all.count)
      self.payloads = payloads
    }
  }

  /// A root that authenticates: the vault opens and works, or says why not.
  static func root(_ bytes: [UInt8]) {
    let disk = vault.start.snapshot()
    let roots = RootFiles(disk: disk, master: vault.master, vault: vault.identifier)
    guard let copy = try? roots.read(0) else { preconditionFailure("the root is there") }
    let plain = Buffer(Input.changing(copy.record.encoded().load(0..<plainRoot), bytes))
    write(plain, with: roots, to: disk)
    work(on: disk)
  }

  private static let plainRoot = Layout.rootSize - 28

  private static func write(_ plain: Buffer, with roots: RootFiles, to disk: SimulatedDisk) {
    let sealed = Buffer(count: Layout.rootSize)
    let iv = Random.iv()
    iv.store(to: sealed, at: 0)
    let tag = roots.key.seal(
      plain, 0..<plainRoot, into: sealed, at: 12, iv: iv,
      additional: AdditionalData(kind: SealedKind.root, 0, 0))
    tag.store(to: sealed, at: Layout.rootSize - 16)
    for name in RootFiles.names { disk.replace(name, with: sealed.load(0..<sealed.count)) }
  }

  /// Records in a frame that authenticates, at the journal's beginning.
  static func records(_ bytes: [UInt8]) {
    let buffer = Buffer(bytes)
    var reader = ByteReader(buffer)
    while reader.remaining > 0, JournalRecord.decode(&reader) != nil {}
    guard bytes.count < 16 << 10 else { return }
    let disk = vault.start.snapshot()
    let roots = RootFiles(disk: disk, master: vault.master, vault: vault.identifier)
    guard let root = try? roots.read(0)?.record else { preconditionFailure("the root is there") }
    let payload = Buffer(count: SegmentCodec.preludeSize + bytes.count)
    payload.store(root.firstSequence, at: 0)
    Tag(low: root.previousTagLow, high: root.previousTagHigh).store(to: payload, at: 8)
    payload.store(bytes, at: SegmentCodec.preludeSize)
    let codec = SegmentCodec(root.segment, master: vault.master, vault: vault.identifier)
    let frame = Buffer(count: SegmentCodec.paddedSize(payload.count))
    _ = codec.seal(payload, payload.count, at: 0, into: frame)
    disk.overwrite(
      SegmentCodec.fileName(root.segment.number), at: 0, with: frame.load(0..<frame.count))
    work(on: disk)
  }

  /// Both halves of an anchor: as anybody may have changed them or, if the first byte is large,
  /// sealed.
  static func anchor(_ bytes: [UInt8]) {
    let anchor = vault.anchor.snapshot()
    let name = AnchorFile.name(of: vault.identifier)
    guard let good = anchor.content(of: name) else { preconditionFailure("the anchor is there") }
    let file = AnchorFile(disk: anchor, master: vault.master, vault: vault.identifier)
    var input = Input(bytes)
    if input.byte() >= 128 {
      func number() -> UInt64 {
        input.piece(8).reduce(0) { $0 << 8 | UInt64($1) }
      }
      let record = AnchorRecord(
        generation: number(), session: [UInt8](repeating: UInt8(input.byte()), count: 16),
        rootTag: Tag(low: number(), high: number()), configurationGeneration: number())
      try? file.write(record, counter: number())
    } else {
      anchor.replace(name, with: Input.changing(good, Array(bytes.dropFirst())))
    }
    work(on: vault.start.snapshot(), anchor: anchor)
  }

  /// Opens and works; errors are what is expected.
  static func work(on disk: SimulatedDisk, anchor: SimulatedDisk? = nil) {
    guard let volume = try? vault.open(disk, anchor: anchor) else { return }
    TreeTargets.work(on: volume)
    try? volume.close()
    if let again = try? vault.open(disk, anchor: anchor) { try? again.close() }
  }
}
