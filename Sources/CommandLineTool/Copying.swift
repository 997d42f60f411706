import FileTree
import POSIX
import Session
import Volume

/// What `get` and `put` have in common: a copy that is shown, may be stopped, and tells what it
/// left out.
final class Copying {
  /// Which side of the copy the vault is.
  enum Direction { case intoVault, outOfVault }

  let direction: Direction
  /// The path outside of the vault, as it is told. The names in a tree are told from there: they
  /// are those of the vault, but outside they are in clear anyway.
  let outside: String
  private let bar = ProgressBar()
  private var left = 0
  private var hasToldAttributes = false

  init(_ direction: Direction, outside: [UInt8]) {
    self.direction = direction
    self.outside = VerifyReport.Item.shown(outside)
  }

  func options(for tree: OpenTree, replaces: Bool) -> CopyOptions {
    var options = CopyOptions()
    options.replaces = replaces
    // A volume that is closed afterwards makes all of it last at once.
    options.syncsEach = tree.isMounted || direction == .outOfVault
    options.excluded = direction == .intoVault ? tree.excluded : []
    options.isStopped = { Interruption.isWanted }
    options.tell = { [self] count in bar.add(count) }
    options.report = { [self] path, problem in report(path, problem) }
    return options
  }

  /// Copies, with the bar on the terminal meanwhile.
  func run(
    _ total: @autoclosure () -> UInt64, _ body: () throws(CopyError) -> Void
  ) throws(Failure) {
    if bar.isShown { bar.expect(total()) }
    defer { bar.clear() }
    do throws(CopyError) { try body() } catch { throw failure(error) }
    bar.clear()
    guard left > 0 else { return }
    throw Failure(.incomplete, "\(left) \(left == 1 ? "thing was" : "things were") not copied")
  }

  static func size(of folder: any Folder) -> UInt64 {
    TreeCopy.size(of: folder) { Interruption.isWanted }
  }

  func failure(_ error: CopyError) -> Failure {
    switch (error, direction) {
    case (.stopped, _): Failure(.systemError, "stopped")
    case (.source(let error), .outOfVault), (.target(let error), .intoVault):
      error == .system(.isDirectory)
        ? Failure(.exists, "a folder has that name in the vault") : Failure(inVault: error)
    case (.source(let error), .intoVault), (.target(let error), .outOfVault):
      error == .system(.exists)
        ? Self.exists(outside) : Failure(error.errno, doing: outside)
    }
  }

  static func exists(_ path: String) -> Failure {
    Failure(.exists, "\(path) is there already", hint: "with --force it is replaced")
  }

  private func report(_ path: [UInt8], _ problem: CopyProblem) {
    bar.clear()
    let name = outside + "/" + VerifyReport.Item.shown(path)
    switch problem {
    case .attributes:
      if !hasToldAttributes {
        Output.warning("not all extended attributes could be kept, beginning with \(name)")
      }
      hasToldAttributes = true
      return
    case .failed(let error): Output.warning("\(name) is left out: \(sentence(error))")
    case .exists: Output.warning("\(name) is left out: something else has that name")
    case .inside: Output.warning("\(name) is left out: the copy would go into itself")
    case .special(let kind): Output.warning("\(name) is left out: it is a \(kind.rawValue)")
    }
    left += 1
  }

  private func sentence(_ error: CopyError) -> String { failure(error).message }
}
