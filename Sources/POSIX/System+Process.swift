import CSystem
import Glibc

/// How a process ended.
package enum ProcessEnd: Hashable, Sendable {
  case exited(Int32)
  case killed(signal: Int32)
}

/// What a descriptor of a new process is.
package enum ChildDescriptor: Hashable, Sendable {
  case null
  case inherited
  case number(Int32)
}

/// Processes, and what a process knows of itself.
extension System {
  /// Starts a program, posix_spawn(3): descriptors 0, 1, ... are as given, those of this process
  /// closed. No signal is blocked or ignored in it.
  ///
  /// Detached, it is free from the terminal, setsid(2), and what this process inherited is closed
  /// too.
  package static func spawn(
    _ path: String, _ arguments: [String], descriptors: [ChildDescriptor], detached: Bool
  ) throws(Errno) -> Int32 {
    var words: [CChar] = []
    for argument in arguments {
      words += argument.utf8.map { CChar(bitPattern: $0) }
      words.append(0)
    }
    let numbers = descriptors.map { descriptor -> Int32 in
      switch descriptor {
      case .null: -1
      case .inherited: -2
      case .number(let number): number
      }
    }
    var process: Int32 = 0
    let result = unsafe coffre_spawn(
      path, words, arguments.count, numbers, Int32(numbers.count), detached ? 1 : 0, &process)
    guard result == 0 else { throw Errno(rawValue: result) }
    return process
  }

  /// Waits for a child, waitpid(2).
  package static func wait(for process: Int32) throws(Errno) -> ProcessEnd {
    let result = coffre_wait(process)
    if result <= -1000 { throw Errno(rawValue: -1000 - result) }
    return result < 0 ? .killed(signal: -result) : .exited(result)
  }

  /// Undoes what the starter of this program may have left: descriptors 0 to 2 closed, so that a
  /// file of ours would become one and get what is printed; SIGCHLD ignored, so that the end of a
  /// child would be lost; SIGXFSZ not ignored, so that a limit on the size of files would end the
  /// process where EFBIG can be told. To be called before anything is opened; throws if /dev/null
  /// can't be.
  package static func settle() throws(Errno) { _ = try check { Int(coffre_settle()) } }

  /// Opens the system's log for lines that are written once nothing can be opened any more.
  package static func openLog() { coffre_open_log() }

  /// Writes a line to the system's log, syslog(3); nobody is told if there is none.
  package static func log(_ line: String, isError: Bool = true) {
    unsafe coffre_log(line, isError ? 1 : 0)
  }

  package static func exit(_ code: Int32) -> Never { Glibc.exit(code) }

  package static var processNumber: Int32 { getpid() }

  /// Cores this process may use.
  package static var processors: Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }
  package static var userNumber: UInt32 { geteuid() }
  package static var groupNumber: UInt32 { getegid() }

  /// The words after the program's name, as the bytes they are.
  package static var arguments: [[UInt8]] {
    var words: [[UInt8]] = []
    for index in 1..<max(1, Int(CommandLine.argc)) {
      guard let word = unsafe CommandLine.unsafeArgv[index] else { break }
      words.append(unsafe Array(UnsafeRawBufferPointer(start: word, count: strlen(word))))
    }
    return words
  }

  /// The last part of the name this program was started by.
  package static var programName: [UInt8] {
    guard CommandLine.argc > 0, let word = unsafe CommandLine.unsafeArgv[0] else { return [] }
    let bytes = unsafe (0..<strlen(word)).map { unsafe UInt8(bitPattern: word[$0]) }
    return Array(bytes[(bytes.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0)...])
  }

  /// Nil also for what is not UTF-8.
  package static func environment(_ name: String) -> String? {
    guard let value = unsafe getenv(name) else { return nil }
    return unsafe String(validatingCString: value)
  }

  package static func setEnvironment(_ name: String, _ value: String) {
    unsafe setenv(name, value, 1)
  }

  package static func changeDirectory(_ path: String) throws(Errno) {
    _ = try check { Int(unsafe chdir(path)) }
  }

  /// New files are for their owner alone, umask(2).
  package static func keepFilesPrivate() { umask(0o077) }

  /// No core dump, and no other process of the user looks into this one, prctl(2).
  package static func forbidDumps() {
    _ = coffre_limit_core()
    _ = coffre_forbid_dumps()
  }

  /// From now on pieces of memory, up to 128 KiB, are wiped when they are given back, by
  /// free(3), whoever has used them. Not where a sanitizer has its own.
  package static func wipeFreedMemory() { coffre_wipe_freed_memory() }

  /// What `ps` and `top` show for this thread or, in the first one, for the process; at most 15
  /// bytes.
  package static func nameThread(_ name: String) { unsafe coffre_name_thread(name) }

  /// Blocks SIGTERM, SIGINT, SIGHUP, SIGQUIT and SIGUSR1; to be called before any thread starts, so
  /// that all of them do.
  package static func holdSignals() { coffre_hold_signals() }

  /// Waits for one of the signals held, sigwait(3).
  package static func waitForSignal() -> Int32 { coffre_wait_signal() }

  /// Ends this process by a signal, as if nobody had held it, so that whoever started it can tell.
  package static func end(by signal: Int32) -> Never {
    coffre_end_by(signal)
    exit(128 + signal)
  }

  /// The signal of a write to a pipe nobody reads.
  package static var pipeSignal: Int32 { SIGPIPE }

  /// A write to a pipe nobody reads fails with EPIPE instead of ending the process.
  package static func ignorePipeSignal() { signal(SIGPIPE, SIG_IGN) }
}
