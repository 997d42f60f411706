import Disk
import POSIX

/// An open object of a simulated disk.
final class SimulatedFile: DiskFile {
  private let disk: SimulatedDisk
  private let number: Int
  private let name: String
  private let writable: Bool

  init(_ disk: SimulatedDisk, _ number: Int, _ name: String, writable: Bool) {
    self.disk = disk
    self.number = number
    self.name = name
    self.writable = writable
  }

  deinit { disk.state.withLock { $0.close(number, name) } }

  private func content(
    _ state: inout SimulatedState, _ kind: SimulatedCall.Kind
  ) throws(DiskError) -> SparseContent {
    guard let content = state.files[number]?.current else { throw state.fail(.stale, kind, name) }
    return content
  }

  private func beginChange(
    _ state: inout SimulatedState, _ kind: SimulatedCall.Kind, _ range: Range<Int>? = nil
  ) throws(DiskError) {
    try state.begin(kind, name, range.map { UInt64($0.lowerBound)..<UInt64($0.upperBound) })
    guard writable else { throw state.fail(.badDescriptor, kind, name) }
  }

  func read(into span: inout MutableRawSpan, at offset: UInt64) throws(DiskError) -> Int {
    // The content is copied out, which costs nothing: the lock must not be held over the span.
    var isShort = false
    let stored = try disk.state.withLock { (state) throws(DiskError) -> SparseContent in
      do throws(DiskError) {
        try state.begin(.read, name, offset..<(offset + UInt64(span.byteCount)))
      } catch {
        guard error.errno == SimulatedDisk.short else { throw error }
        isShort = true
      }
      return try content(&state, .read)
    }
    let start = min(Int(clamping: offset), stored.size)
    let end = min(stored.size, start + span.byteCount)
    let bytes = stored.read(start..<(isShort ? start + (end - start) / 2 : end))
    span.copy(from: bytes, 0..<bytes.count, to: 0)
    return bytes.count
  }

  func write(_ span: RawSpan, at offset: UInt64) throws(DiskError) {
    let bytes = array(span)
    let range = Int(offset)..<(Int(offset) + bytes.count)
    try disk.state.withLock { (state) throws(DiskError) in
      do throws(DiskError) { try beginChange(&state, .write, range) } catch {
        // A write that fails may have got half-way. Nothing is written after the power is lost.
        let half = bytes.count / 1024 * 512
        if error.operation != SimulatedState.powerLoss, writable, half > 0 {
          state.files[number]?.change(.write(Array(bytes[..<half]), at: range.lowerBound))
        }
        throw error
      }
      // On a full disk what fits is written.
      let fitting = try content(&state, .write).fitting(range, pages: state.freePages)
      if !fitting.isEmpty {
        let part = Array(bytes[..<fitting.count])
        state.files[number]?.change(.write(part, at: range.lowerBound))
      }
      guard fitting == range else { throw state.fail(.noSpace, .write, name) }
    }
  }

  func sync() throws(DiskError) {
    try disk.state.withLock { (state) throws(DiskError) in
      do throws(DiskError) { try state.begin(.sync, name) } catch {
        if error.operation != SimulatedState.powerLoss { state.files[number]?.failSync() }
        throw error
      }
      state.files[number]?.sync()
    }
  }

  func allocate(_ range: Range<UInt64>) throws(DiskError) {
    let range = Int(range.lowerBound)..<Int(range.upperBound)
    try disk.state.withLock { (state) throws(DiskError) in
      try beginChange(&state, .allocate, range)
      guard !range.isEmpty else { throw state.fail(.invalid, .allocate, name) }
      let fitting = try content(&state, .allocate).fitting(range, pages: state.freePages)
      guard fitting == range else {
        // What was reserved so far stays reserved, past the end too, as on ext4 and XFS.
        state.files[number]?.reserve(fitting)
        throw state.fail(.noSpace, .allocate, name)
      }
      state.files[number]?.change(.allocate(range))
    }
  }

  func punch(_ range: Range<UInt64>) throws(DiskError) -> Bool {
    let range = Int(range.lowerBound)..<Int(range.upperBound)
    return try disk.state.withLock { (state) throws(DiskError) in
      try beginChange(&state, .punch, range)
      guard !range.isEmpty else { throw state.fail(.invalid, .punch, name) }
      guard state.punches else { return false }
      state.files[number]?.change(.punch(range))
      return true
    }
  }

  func size() throws(DiskError) -> UInt64 {
    try disk.state.withLock { (state) throws(DiskError) in
      try state.begin(.size, name)
      return UInt64(try content(&state, .size).size)
    }
  }

  func resize(_ size: UInt64) throws(DiskError) {
    try disk.state.withLock { (state) throws(DiskError) in
      try beginChange(&state, .resize)
      state.files[number]?.change(.resize(Int(size)))
    }
  }
}
