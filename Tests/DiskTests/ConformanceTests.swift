import Bytes
import Disk
import POSIX
import TestKit
import Testing

/// What the engine relies on, on a real disk and on the simulated one.
@Suite struct ConformanceTests {
  @Test(arguments: DiskKind.allCases)
  func aNewObjectIsEmptyAndUnique(_ kind: DiskKind) throws {
    let test = try kind.make()
    let file = try test.disk.create("object")
    #expect(try file.size() == 0)
    #expect(try file.get(10, at: 0) == [])
    #expect(test.disk.createFailure("object") == .exists)
  }

  @Test(arguments: DiskKind.allCases)
  func whatIsMissingIsReported(_ kind: DiskKind) throws {
    let test = try kind.make()
    let disk = test.disk
    #expect(disk.openFailure("gone", writable: true) == .noSuchFile)
    #expect(disk.createFailure("gone/new") == .noSuchFile)
    #expect(failure { () throws(DiskError) in try disk.remove("gone") } == .noSuchFile)
    #expect(failure { () throws(DiskError) in try disk.rename("gone", to: "new") } == .noSuchFile)
    #expect(failure { () throws(DiskError) in _ = try disk.list("gone") } == .noSuchFile)
    #expect(failure { () throws(DiskError) in try disk.syncFolder("gone") } == .noSuchFile)
  }

  @Test(arguments: DiskKind.allCases)
  func theErrorNamesTheObject(_ kind: DiskKind) throws {
    let test = try kind.make()
    let error = #expect(throws: DiskError.self) {
      _ = try test.disk.open("data/0001", writable: false)
    }
    #expect(error?.object == "data/0001")
    #expect(error?.operation == "open")
  }

  @Test(arguments: DiskKind.allCases)
  func bytesComeBack(_ kind: DiskKind) throws {
    let test = try kind.make()
    let file = try test.disk.create("object")
    var random = SplitMix64(seed: 1)
    let bytes = random.bytes(10000)
    try file.put(bytes, at: 3)
    #expect(try file.size() == 10003)
    #expect(try file.get(20000, at: 0) == [0, 0, 0] + bytes)
    #expect(try file.get(5, at: 10000) == Array(bytes[9997...]))
    #expect(try file.get(5, at: 20000) == [])
    try file.put([], at: 50000)
    #expect(try file.size() == 10003)
    try file.sync()
    let again = try test.disk.open("object", writable: false)
    #expect(try again.get(20000, at: 3) == bytes)
  }

  @Test(arguments: DiskKind.allCases)
  func aReadOnlyObjectRefusesWrites(_ kind: DiskKind) throws {
    let test = try kind.make()
    try test.disk.create("object").put([1, 2, 3], at: 0)
    let file = try test.disk.open("object", writable: false)
    #expect(failure { () throws(DiskError) in try file.put([9], at: 0) } == .badDescriptor)
    #expect(try file.get(3, at: 0) == [1, 2, 3])
  }

  @Test(arguments: DiskKind.allCases)
  func whatIsCutReadsAsZerosAfterwards(_ kind: DiskKind) throws {
    let test = try kind.make()
    let file = try test.disk.create("object")
    try file.put([UInt8](repeating: 7, count: 10000), at: 0)
    try file.resize(5000)
    #expect(try file.size() == 5000)
    try file.resize(9000)
    let expected = [UInt8](repeating: 7, count: 5000) + [UInt8](repeating: 0, count: 4000)
    #expect(try file.get(10000, at: 0) == expected)
    try file.resize(0)
    #expect(try file.get(10, at: 0) == [])
  }

  @Test(arguments: DiskKind.allCases)
  func allocationKeepsWhatIsThere(_ kind: DiskKind) throws {
    let test = try kind.make()
    let file = try test.disk.create("object")
    try file.put([1, 2, 3], at: 0)
    try file.allocate(0..<20000)
    #expect(try file.size() == 20000)
    #expect(try file.get(5, at: 0) == [1, 2, 3, 0, 0])
    try file.allocate(0..<100)
    #expect(try file.size() == 20000)
  }

  @Test(arguments: DiskKind.allCases)
  func aHoleReadsAsZerosAndKeepsTheSize(_ kind: DiskKind) throws {
    let test = try kind.make()
    let file = try test.disk.create("object")
    try file.put([UInt8](repeating: 7, count: 20000), at: 0)
    guard try file.punch(4000..<13000) else { return }
    #expect(try file.size() == 20000)
    #expect(try file.get(9000, at: 4000) == [UInt8](repeating: 0, count: 9000))
    #expect(try file.get(4000, at: 0) == [UInt8](repeating: 7, count: 4000))
    #expect(try file.get(9000, at: 13000) == [UInt8](repeating: 7, count: 7000))
  }
}
