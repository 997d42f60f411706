package import Crypto
import FuseBridge
import POSIX
package import Vault
package import Volume

/// Checks of a vault, mounted or not.
package enum Verification {
  /// What is to be checked, from a path as it was typed.
  package static func options(path: String?, isQuick: Bool, repairs: Bool) -> ScrubOptions {
    var options = ScrubOptions()
    options.isQuick = isQuick
    options.repairs = repairs
    options.path = path.map { path in
      path.utf8.split(separator: UInt8(ascii: "/")).map { Array($0) }.filter { $0 != [0x2e] }
    }
    return options
  }

  /// Checks a vault that is not mounted for writing.
  package static func run(
    _ vault: Vault, password: borrowing SecretBytes, _ options: ScrubOptions,
    _ tell: @escaping (ScrubProgress) -> Bool
  ) throws(Failure) -> VerifyReport {
    do throws(VerifyError) {
      return VerifyReport(try vault.verify(password: password, options, tell), vault: vault.path)
    } catch { throw Failure(error, vault: vault.path) }
  }
}

extension Failure {
  init(_ error: VerifyError, vault: String) {
    switch error {
    case .vault(let error): self.init(error, vault: vault)
    case .noSuchPath:
      self.init(
        .noSuchPath, "there is nothing at that path in the vault",
        hint: "the path starts at the top of the vault, and links are not followed")
    case .stopped:
      self.init(.notChecked, "the check could not be finished: the vault was locked meanwhile")
    }
  }
}

extension ControlClient {
  /// Checks a mounted vault, through the process that has it open.
  package static func verify(
    _ found: Found, path: String?, isQuick: Bool, _ tell: (ScrubProgress) -> Void
  ) throws(Failure) -> VerifyReport {
    guard let connection = try? connect(found.socket) else {
      throw Failure(.notMounted, "the vault was locked in the meantime")
    }
    var request = Message("verify", ["quick": isQuick ? "yes" : "no"])
    request["path"] = path
    do throws(Errno) { try connection.send(request) } catch {
      throw Failure(error, doing: "control socket")
    }
    var items: [VerifyReport.Item] = []
    while let message = connection.receive(patience: nil) {
      if let failure = message.failure { throw failure }
      if let item = VerifyReport.Item(message) { items.append(item) }
      if let report = VerifyReport(message, items: items) { return report }
      if message.verb == "progress" {
        var progress = ScrubProgress()
        progress.done = message["done"].flatMap { UInt64($0) } ?? 0
        progress.total = message["total"].flatMap { UInt64($0) } ?? 0
        tell(progress)
      }
    }
    throw Failure(.notChecked, "the mount's process ended before the check did")
  }
}

/// A check that runs for somebody at the control socket.
///
/// It has a thread of its own: whoever asked may not read the answers, and that must not hold up
/// the check, for which a lock waits.
final class MountedCheck: Sendable {
  private struct State {
    var progress = ScrubProgress()
    var isUnwanted = false
    var result: Result<VerifyReport, Failure>?
  }

  private let state = Monitor(State())

  init(_ mount: ActiveMount, _ request: Message, user: UInt32) throws(Errno) {
    let options = Verification.options(
      path: request["path"], isQuick: request["quick"] == "yes", repairs: false)
    try Thread.start("coffre-check") { [state] in
      let result: Result<VerifyReport, Failure>
      do throws(VerifyError) {
        let found = try mount.vault.verify(options, user: user) { progress in
          // A vault that somebody has checked is in use.
          mount.session.noteUse()
          return state.withLock { state in
            state.progress = progress
            return !state.isUnwanted
          }
        }
        result = .success(VerifyReport(found, vault: mount.settings.vault))
      } catch { result = .failure(Failure(error, vault: mount.settings.vault)) }
      state.withLock { $0.result = result }
    }
  }

  /// Answers until the check is over or nobody listens.
  func answer(_ connection: Connection) {
    var told = ScrubProgress()
    while true {
      let (progress, result) = state.withLock(
        when: { $0.result != nil || $0.progress != told }, timeout: 1_000_000_000
      ) { ($0.progress, $0.result) }
      do throws(Errno) {
        if let result { return try send(result, connection) }
        guard !connection.hasEnded else { throw .brokenPipe }
        told = progress
        try connection.send(
          Message(
            "progress", ["done": String(progress.done), "total": String(progress.total)]))
      } catch {
        state.withLock { $0.isUnwanted = true }
        return
      }
    }
  }

  private func send(
    _ result: Result<VerifyReport, Failure>, _ connection: Connection
  ) throws(Errno) {
    switch result {
    case .failure(let failure): try connection.send(Message(failure))
    case .success(let report):
      for item in report.items { try connection.send(item.message) }
      try connection.send(report.message)
    }
  }
}
