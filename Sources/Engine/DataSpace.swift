package import Bytes
import Crypto
import Disk
import Format
import POSIX

/// The slots of file chunks: giving out, sealing into and reading from them.
package final class DataSpace: Sendable {
  package let containers: Containers
  package let allocator: SlotAllocator
  /// Slots whose ciphertext is in a journal frame of a vault that may not be written (read-only
  /// mount).
  private let overlay = Lock<[UInt32: Buffer]>([:])

  init(containers: Containers, allocator: SlotAllocator) {
    self.containers = containers
    self.allocator = allocator
  }

  /// Pages of the map that so many slots can lie in.
  package func mapPages(for slots: Int) throws(EngineError) -> Int {
    let pagesPerContainer = Int(Layout.slotsPerContainer) / Int(Layout.bitsPerPage)
    do throws(DiskError) {
      return min(slots, (try containers.count() + 1) * pagesPerContainer)
    } catch { throw .disk(error) }
  }

  func keep(_ bytes: Buffer, for slot: UInt32) {
    overlay.withLock { $0[slot] = bytes }
  }

  /// Reads consecutive slots as they are stored. Throws `.damaged` if they are not all there.
  package func read(
    _ slots: Range<UInt32>, into sealed: Buffer, at offset: Int
  ) throws(EngineError) {
    let length = slots.count * Layout.chunkSize
    var span = sealed.mutableBytes(in: offset..<(offset + length))
    do {
      guard try containers.read(slots, copy: 0, into: &span) || hasOverlay else {
        throw EngineError.damaged(Self.describe(slots))
      }
    } catch let error as DiskError {
      // A medium that can't be read is damage as well, and is told with its place.
      throw error.errno == .ioError ? .damaged(Self.describe(slots)) : .disk(error)
    } catch let error as EngineError {
      throw error
    } catch { preconditionFailure("only these two are thrown") }
    applyOverlay(slots, sealed, offset)
  }

  private var hasOverlay: Bool { overlay.withLock { !$0.isEmpty } }

  private func applyOverlay(_ slots: Range<UInt32>, _ sealed: Buffer, _ offset: Int) {
    overlay.withLock { images in
      guard !images.isEmpty else { return }
      for slot in slots {
        guard let image = images[slot] else { continue }
        let start = offset + Int(slot - slots.lowerBound) * Layout.chunkSize
        sealed.copy(from: image, 0..<Layout.chunkSize, to: start)
      }
    }
  }

  package func write(_ sealed: Buffer, _ range: Range<Int>, at slot: UInt32) throws(EngineError) {
    do { try containers.write(sealed.bytes(in: range), at: slot) } catch {
      if error.isFull {
        throw .noSpace("the lower filesystem is full")
      }
      throw .disk(error)
    }
  }

  /// Takes slots back that were written and that no frame names. Their space is the disk's again
  /// where it is short; elsewhere the next chunks find it allocated.
  package func giveBack(_ slots: [UInt32], punching: @autoclosure () -> Bool) {
    guard !slots.isEmpty else { return }
    let punching = punching()
    for range in Engine.ranges(slots) {
      if punching { try? containers.punch(range) }
      allocator.giveBackPieces(range)
    }
  }

  /// The object a slot is in, and its place there: slot n of an object is at byte n * 4096.
  package static func describe(_ slots: Range<UInt32>) -> String {
    let first = Containers.place(of: slots.lowerBound)
    let place =
      slots.count == 1 ? "slot \(first)" : "slots \(first)-\(Int(first) + slots.count - 1)"
    return Containers.name(of: slots.lowerBound, in: "data") + " " + place
  }
}
