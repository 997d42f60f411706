import Glibc

/// Calls of glibc that Swift does not import, found by their names.
enum LinuxCalls {
  typealias Text = UnsafePointer<CChar>

  static func renameat2(
    _ from: Int32, _ name: Text, _ to: Int32, _ newName: Text, _ flags: UInt32
  ) -> Int32 {
    typealias Call = @convention(c) (Int32, Text, Int32, Text, UInt32) -> Int32
    return unsafe unsafeBitCast(symbol("renameat2"), to: Call.self)(from, name, to, newName, flags)
  }

  static func lsetxattr(
    _ path: Text, _ name: Text, _ value: UnsafeRawPointer?, _ count: Int, _ flags: Int32
  ) -> Int32 {
    typealias Call = @convention(c) (Text, Text, UnsafeRawPointer?, Int, Int32) -> Int32
    return unsafe unsafeBitCast(symbol("lsetxattr"), to: Call.self)(path, name, value, count, flags)
  }

  static func lgetxattr(
    _ path: Text, _ name: Text, _ value: UnsafeMutableRawPointer?, _ count: Int
  ) -> Int {
    typealias Call = @convention(c) (Text, Text, UnsafeMutableRawPointer?, Int) -> Int
    return unsafe unsafeBitCast(symbol("lgetxattr"), to: Call.self)(path, name, value, count)
  }

  static func llistxattr(
    _ path: Text, _ names: UnsafeMutablePointer<CChar>?, _ count: Int
  ) -> Int {
    typealias Call = @convention(c) (Text, UnsafeMutablePointer<CChar>?, Int) -> Int
    return unsafe unsafeBitCast(symbol("llistxattr"), to: Call.self)(path, names, count)
  }

  static func lremovexattr(_ path: Text, _ name: Text) -> Int32 {
    typealias Call = @convention(c) (Text, Text) -> Int32
    return unsafe unsafeBitCast(symbol("lremovexattr"), to: Call.self)(path, name)
  }

  private static func symbol(_ name: String) -> UnsafeMutableRawPointer {
    guard let symbol = unsafe dlsym(nil, name) else { preconditionFailure("glibc has \(name)") }
    return unsafe symbol
  }
}
