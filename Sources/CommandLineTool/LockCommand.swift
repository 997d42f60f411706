import POSIX
import Session

/// `coffre lock`: of one vault, of a mount point, of all.
///
/// A program that uses a vault may have work in its memory that it could not save any more. So a
/// person who asks hears of it first, and says what is to be done; no other cause of a lock waits
/// for anybody.
enum LockCommand {
  static func run(_ arguments: Arguments) throws(Failure) {
    let path = arguments.positional.first
    guard (path == nil) == arguments.has("all") else {
      throw Failure(.usage, "one of a path and --all is needed", hint: "see `coffre help lock`")
    }
    let patience = try Patience(arguments)
    guard let path else { return try lockAll(patience) }
    let found = try ControlClient.mounts(at: path)
    guard !found.isEmpty else {
      if MountPaths.clearDead(path) { return }
      if let failure = MountPaths.unreachable(path) { throw failure }
      throw Failure(.notMounted, "\(path) is not mounted", hint: "see `coffre status`")
    }
    try lock(found, patience)
  }

  /// None at all is fine: what is asked for is that nothing is open.
  private static func lockAll(_ patience: Patience) throws(Failure) {
    let sight = ControlClient.look()
    try lock(sight.mounts, patience)
    if let silent = sight.silent.first { throw silent.failure }
  }

  /// One that fails does not keep the others open, nor does one that is waited for: in each round
  /// those are locked that nobody holds.
  private static func lock(
    _ mounts: [ControlClient.Found], _ patience: Patience
  ) throws(Failure) {
    var first: Failure?
    var left = mounts
    while true {
      let isOver = patience.isOver
      var held: [ControlClient.Found] = []
      for mount in left {
        let holders = patience.holders(of: mount, isOver: isOver)
        guard holders.isEmpty || isOver else {
          held.append(mount)
          continue
        }
        do throws(Failure) {
          try refuse(holders, mount.status, isOne: mounts.count == 1)
          try ControlClient.lock(mount)
        } catch { first = first ?? error }
      }
      left = held
      if left.isEmpty { break }
      Clock.sleep(nanoseconds: 200_000_000)
    }
    if let first { throw first }
  }

  private static func refuse(
    _ holders: [Holder], _ mount: MountStatus, isOne: Bool
  ) throws(Failure) {
    guard !holders.isEmpty else { return }
    let most = 20
    // The paths in a vault are for the eyes of whoever sits there, and for no log.
    let isSeen = System.isTerminal(2)
    for holder in holders.prefix(most) { Output.note(holder.line(withPaths: isSeen)) }
    if holders.count > most { Output.note("and \(holders.count - most) more") }
    let what = isOne ? "the vault" : mount.mountPoint
    throw Failure(
      .held,
      holders.count == 1 ? "a program uses \(what)" : "\(holders.count) programs use \(what)",
      hint: "end what it does there, or give --wait or --force; see `coffre help lock`")
  }
}

/// What to do about programs that use a vault.
private struct Patience {
  private let waits: Bool
  private let isForced: Bool
  /// When waiting is over, by the clock that goes on while the machine sleeps; nil for never.
  private let end: UInt64?

  init(_ arguments: Arguments) throws(Failure) {
    isForced = arguments.has("force")
    waits = arguments.has("wait")
    var seconds: UInt64?
    if let text = arguments.value("wait"), !text.isEmpty { seconds = try Duration.seconds(text) }
    end = seconds.map { Clock.boottime + $0 * 1_000_000_000 }
  }

  /// Whether nobody is waited for any more.
  var isOver: Bool { !waits || end.map { Clock.boottime >= $0 } ?? false }

  /// Those that keep a vault from being locked, once waiting is over or before.
  func holders(of mount: ControlClient.Found, isOver: Bool) -> [Holder] {
    // Locked meanwhile: what programs still have open is dead.
    if (isForced && isOver) || !mount.isThere { return [] }
    return Holder.find(of: [mount.status])[mount.status.device] ?? []
  }
}
