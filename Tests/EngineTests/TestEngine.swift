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

  static var options: EngineOptions {
    var options = EngineOptions()
    options.worksInBackground = false
    options.journalSegmentBytes = 256 << 10
    return options
  }

  init() throws {
    try Engine.create(on: disk, master: master, vault: Self.vault, options: Self.options)
  }

  func open(_ other: (any Disk)? = nil, segmentBytes: Int = 256 << 10) throws -> Engine {
    var options = Self.options
    options.journalSegmentBytes = segmentBytes
    return try Engine.open(
      on: other ?? disk, master: master, vault: Self.vault, options: options, anchor: nil)
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
