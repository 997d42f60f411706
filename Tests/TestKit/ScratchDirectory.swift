import Glibc

/// A folder of its own for one test, removed with all it holds.
package final class ScratchDirectory: Sendable {
  package let path: String

  package init(in folder: String = "/tmp") {
    var template = Array("\(folder)/coffre-test-XXXXXX".utf8CString)
    guard unsafe mkdtemp(&template) != nil else { preconditionFailure("a folder in \(folder)") }
    path = String(
      decoding: template.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit { Self.remove(Array(path.utf8CString)) }

  /// The path of something in the folder.
  package func path(_ name: String) -> String { path + "/" + name }

  /// Removes a tree, whatever bytes its names have; links are not followed.
  private static func remove(_ path: [CChar]) {
    if let stream = unsafe opendir(path) {
      var names: [[CChar]] = []
      while let entry = unsafe readdir(stream) {
        let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
          unsafe bytes.prefix { $0 != 0 }.map { CChar(bitPattern: $0) }
        }
        if name != [0x2e] && name != [0x2e, 0x2e] { names.append(name) }
      }
      unsafe closedir(stream)
      for name in names {
        let child = path.dropLast() + [0x2f] + name + [0]
        if unsafe unlink(child) != 0 { remove(child) }
      }
    }
    unsafe rmdir(path)
  }
}
