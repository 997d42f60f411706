import Bytes
package import POSIX

/// The bytes of a real file; nil if it cannot be read.
package func readFile(_ path: String) -> [UInt8]? {
  do throws(Errno) {
    let file = try System.open(path, .readOnly)
    let buffer = Buffer(count: Int(try System.status(of: file).size))
    var span = buffer.mutableBytes(in: 0..<buffer.count)
    let count = try System.read(file, into: &span, at: 0)
    return buffer.load(0..<count)
  } catch { return nil }
}

/// The lines of a real file, without their ends; nil if it cannot be read.
package func readLines(_ path: String) -> [String]? {
  readFile(path).map { bytes in
    bytes.split(separator: 0x0a, omittingEmptySubsequences: false).map {
      String(decoding: $0.last == 0x0d ? $0.dropLast() : $0, as: UTF8.self)
    }
  }
}

/// Makes or replaces a real file.
package func writeFile(_ path: String, _ bytes: [UInt8]) throws(Errno) {
  let file = try System.open(path, [.readWrite, .create, .truncate])
  let buffer = Buffer(bytes)
  try System.write(file, buffer.bytes, at: 0)
}

/// The names in a real folder, sorted; none if it cannot be read.
package func namesInFolder(_ path: String) -> [String] {
  do throws(Errno) {
    let folder = try System.open(path, .directory)
    return try System.names(in: folder).sorted()
  } catch { return [] }
}

/// The paths of all regular files below a real folder, sorted. Links are not followed.
package func filesBelow(_ path: String) -> [String] {
  var found: [String] = []
  for name in namesInFolder(path) {
    let child = path + "/" + name
    do throws(Errno) {
      let status = try System.status(of: try System.open(child, [.noFollow, .nonBlocking]))
      if status.isRegular { found.append(child) }
      if status.isDirectory { found += filesBelow(child) }
    } catch { continue }
  }
  return found
}
