import Bytes
import Glibc
import POSIX
import TestKit

/// Copies a folder of a vault, holes kept as holes: the objects are preallocated and mostly empty.
func copyFolder(_ from: String, to path: String) throws(Errno) {
  try System.makeDirectory(path, mode: 0o700)
  for name in namesInFolder(from) {
    let (source, target) = (from + "/" + name, path + "/" + name)
    if try System.linkStatus(at: source).isDirectory {
      try copyFolder(source, to: target)
    } else {
      try copyFile(source, to: target)
    }
  }
}

/// Copies a file over whatever has the name; nothing else has the new file's bytes.
func copyFile(_ from: String, to path: String) throws(Errno) {
  let source = try System.open(from, [.noFollow])
  let size = Int(try System.status(of: source).size)
  let target = try System.open(path, [.readWrite, .create, .truncate, .noFollow])
  try System.resize(target, to: UInt64(size))
  var start = 0
  while start < size, let data = seek(source, start, toData: true) {
    let end = seek(source, data, toData: false) ?? size
    let bytes = Buffer(count: min(end - data, 1 << 20))
    var span = bytes.mutableBytes(in: 0..<bytes.count)
    let count = try System.read(source, into: &span, at: UInt64(data))
    guard count > 0 else { return }
    try System.write(target, bytes.bytes(in: 0..<count), at: UInt64(data))
    start = data + count
  }
}

/// lseek(2) to the next data or hole; nil if there is none.
private func seek(_ file: borrowing Descriptor, _ offset: Int, toData: Bool) -> Int? {
  let number = file.rawValue
  let found = lseek(number, offset, toData ? 3 : 4)
  return found < 0 ? nil : found
}

/// Some bytes of a real file.
func readBytes(_ path: String, _ range: Range<Int>) throws(Errno) -> [UInt8] {
  let file = try System.open(path, [.noFollow])
  let bytes = Buffer(count: range.count)
  var span = bytes.mutableBytes(in: 0..<bytes.count)
  let count = try System.read(file, into: &span, at: UInt64(range.lowerBound))
  return bytes.load(0..<count)
}

/// Writes over some bytes of a real file, which may grow.
func writeBytes(_ path: String, _ bytes: [UInt8], at offset: Int) throws(Errno) {
  let file = try System.open(path, [.readWrite, .noFollow])
  try System.write(file, Buffer(bytes).bytes, at: UInt64(offset))
}

func sizeOf(_ path: String) throws(Errno) -> Int {
  Int(try System.linkStatus(at: path).size)
}
