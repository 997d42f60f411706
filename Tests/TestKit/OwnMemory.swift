import Bytes
package import POSIX

/// What this process has in its memory, proc_pid_mem(5).
package enum OwnMemory {
  package struct Mapping {
    package let addresses: Range<UInt64>
    package let isWritable: Bool
    /// As in VmFlags of proc_pid_smaps(5).
    package fileprivate(set) var flags: Set<Substring> = []
  }

  package static func mappings() throws(Errno) -> [Mapping] {
    var mappings: [Mapping] = []
    for line in try text("/proc/self/smaps").split(separator: "\n") {
      let words = line.split(separator: " ")
      let bounds = words[0].split(separator: "-").compactMap { UInt64($0, radix: 16) }
      if bounds.count == 2 {
        mappings.append(
          Mapping(addresses: bounds[0]..<bounds[1], isWritable: words[1].contains("w")))
      } else if words[0] == "VmFlags:", !mappings.isEmpty {
        mappings[mappings.count - 1].flags = Set(words.dropFirst())
      }
    }
    return mappings
  }

  /// Files in /proc tell no size.
  private static func text(_ path: String) throws(Errno) -> String {
    let file = try System.open(path, .readOnly)
    let buffer = Buffer(count: 1 << 16)
    var bytes: [UInt8] = []
    while true {
      var span = buffer.mutableBytes(in: 0..<buffer.count)
      let count = try System.read(file, into: &span, at: UInt64(bytes.count))
      if count == 0 { return String(decoding: bytes, as: UTF8.self) }
      bytes += buffer.load(0..<count)
    }
  }
}

extension OwnMemory {
  private static let page = 4096

  /// How often the 32 bytes of a planted key are in writable memory. Secret memory that even the
  /// kernel does not read is not counted.
  package static func occurrences(of key: PlantedKey) throws(Errno) -> Int {
    var found = 0
    try readPages(where: { $0.isWritable }) { buffer in
      for offset in stride(from: 0, to: page, by: 8) where key.isIn(buffer, at: offset) {
        found += 1
      }
    }
    return found
  }

  /// How many pages of some mappings are not zero.
  package static func filledPages(
    where isWanted: (Mapping) -> Bool
  ) throws(Errno) -> Int {
    var found = 0
    try readPages(where: isWanted) { if !$0.isZero(0..<page) { found += 1 } }
    return found
  }

  /// Whether there is a sanitizer's shadow memory: terabytes, mostly unused.
  package static func hasSanitizer() throws(Errno) -> Bool {
    try mappings().contains(where: isShadow)
  }

  private static func isShadow(_ mapping: Mapping) -> Bool { mapping.addresses.count > 1 << 34 }

  /// Calls `body` with a copy of each page in use, and 24 bytes of the next.
  private static func readPages(
    where isWanted: (Mapping) -> Bool, _ body: (Buffer) -> Void
  ) throws(Errno) {
    let memory = try System.open("/proc/self/mem", .readOnly)
    let pages = try System.open("/proc/self/pagemap", .readOnly)
    let buffer = Buffer(count: page + 24)
    for mapping in try mappings() where isWanted(mapping) && !isShadow(mapping) {
      for start in try usedPages(mapping.addresses, pages) {
        // Zeros first: the buffer reads itself, too. What cannot be read stays zero.
        buffer.zero(0..<buffer.count)
        let count = min(buffer.count, Int(mapping.addresses.upperBound - start))
        var span = buffer.mutableBytes(in: 0..<count)
        _ = try? System.read(memory, into: &span, at: start)
        body(buffer)
      }
    }
  }

  /// The pages that have something in them, in memory or in swap: a few of the many of a stack.
  private static func usedPages(
    _ addresses: Range<UInt64>, _ pages: borrowing Descriptor
  ) throws(Errno) -> [UInt64] {
    let first = addresses.lowerBound / UInt64(page)
    let buffer = Buffer(count: addresses.count / page * 8)
    var span = buffer.mutableBytes(in: 0..<buffer.count)
    guard try System.read(pages, into: &span, at: first * 8) == buffer.count else { return [] }
    return (0..<(buffer.count / 8)).filter { buffer.load(UInt64.self, at: $0 * 8) >> 62 != 0 }
      .map { (first + UInt64($0)) * UInt64(page) }
  }
}
