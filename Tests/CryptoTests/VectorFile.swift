import TestKit

/// One case of NIST's GCM vectors, gcmEncryptExtIV256.rsp and gcmDecrypt256.rsp.
struct GCMVector: Sendable {
  var count = ""
  var key: [UInt8] = []
  var iv: [UInt8] = []
  var plain: [UInt8] = []
  var sealed: [UInt8] = []
  var additional: [UInt8] = []
  var tag: [UInt8] = []
  /// Whether the tag is wrong.
  var fails = false
}

/// The vectors of Debian's package python3-cryptography-vectors, wherever its Python puts them.
enum VectorFile {
  private static let folder: String? = namesInFolder("/usr/lib")
    .filter { $0.hasPrefix("python3") }
    .map { "/usr/lib/\($0)/dist-packages/cryptography_vectors/ciphers/AES/GCM" }
    .first { !namesInFolder($0).isEmpty }

  /// For `.enabled(if:)`.
  static var isInstalled: Bool { folder != nil }

  /// The cases with IVs of 96 bits and tags of 128, the only ones Coffre uses.
  static func read(_ name: String) -> [GCMVector] {
    guard let folder, let lines = readLines(folder + "/" + name) else { return [] }
    var section: [String: String] = [:]
    var vectors: [GCMVector] = []
    var current: GCMVector?
    func finish() {
      if let current, section["IVlen"] == "96", section["Taglen"] == "128" {
        vectors.append(current)
      }
      current = nil
    }
    for line in lines {
      let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        .map { $0.filter { !" []".contains($0) } }
      if line.hasPrefix("[") && parts.count == 2 {
        finish()
        section[parts[0]] = parts[1]
      } else if line == "FAIL" {
        current?.fails = true
      } else if parts.count == 2 {
        if parts[0] == "Count" {
          finish()
          current = GCMVector(count: parts[1])
        }
        set(parts[0], parts[1], in: &current)
      }
    }
    finish()
    return vectors
  }

  private static func set(_ field: String, _ value: String, in vector: inout GCMVector?) {
    switch field {
    case "Key": vector?.key = unhex(value)
    case "IV": vector?.iv = unhex(value)
    case "PT": vector?.plain = unhex(value)
    case "CT": vector?.sealed = unhex(value)
    case "AAD": vector?.additional = unhex(value)
    case "Tag": vector?.tag = unhex(value)
    default: break
    }
  }
}
