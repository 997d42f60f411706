import Bytes
import Crypto
import Disk
import Format
import POSIX
import TestKit

@testable import Engine

/// An engine on a disk, without threads.
struct TestVault: ~Copyable {
  static let vault = [UInt8](repeating: 4, count: 16)
  let disk = SimulatedDisk()
  let master = SecretBytes(random: 32)

  let options: EngineOptions

  init(segmentBytes: Int = 256 << 10) throws {
    var options = EngineOptions()
    options.worksInBackground = false
    options.journalSegmentBytes = segmentBytes
    self.options = options
    try Engine.create(on: disk, master: master, vault: Self.vault, options: options)
  }

  /// Opens the vault, or another disk with the same one.
  func open(
    _ other: (any Disk)? = nil, anchor: (any Disk)? = nil,
    _ change: (inout EngineOptions) -> Void = { _ in }
  ) throws -> Engine {
    var options = options
    change(&options)
    return try Engine.open(
      on: other ?? disk, master: master, vault: Self.vault, options: options, anchor: anchor)
  }
}

extension Engine {
  /// Makes so many pages that start with a number.
  @discardableResult
  func makePages(_ count: Int, first: UInt64 = 7, frees: Bool = false) throws -> [UInt32] {
    try transact(frees: frees) { (transaction) throws(EngineError) in
      var made: [UInt32] = []
      for _ in 0..<count {
        let (number, page) = try transaction.allocatePage()
        page.store(first, at: 0)
        made.append(number)
      }
      return made
    }.result
  }

  func first(of page: UInt32) throws -> UInt64 {
    try read { (pages) throws(EngineError) in
      try pages.read(PageID(.pages, page)).load(UInt64.self, at: 0)
    }
  }
}

extension SimulatedDisk {
  var journal: [String] { names.filter { $0.hasPrefix("journal/") } }
}
