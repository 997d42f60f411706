import POSIX
import Synchronization

/// Ctrl-C and its like, while something is changed: the work stops at the next piece, takes away
/// what is not whole, and lets the process end as the signal would have.
enum Interruption {
  private static let signal = Atomic<Int32>(0)

  /// From now on signals are held; before any other thread is started.
  static func watch() {
    System.holdSignals()
    // Without the thread a signal stops nothing, and the work is done to its end.
    _ = try? Thread.start("coffre-signals") {
      while true {
        let number = System.waitForSignal()
        // Who asks twice does not want to wait for a disk or a program that hangs.
        if signal.exchange(number, ordering: .relaxed) != 0 { System.end(by: number) }
      }
    }
  }

  static var isWanted: Bool { signal.load(ordering: .relaxed) != 0 }

  /// Ends the process, if a signal came; the vault is closed by now.
  static func endIfWanted() {
    let number = signal.load(ordering: .relaxed)
    if number != 0 { System.end(by: number) }
  }
}
