import POSIX

/// What was done to the disk, to be asserted.
extension SimulatedDisk {
  /// Whether calls are kept in `calls`; off at first.
  package var keepsCalls: Bool {
    get { state.withLock { $0.log != nil } }
    set { state.withLock { $0.log = newValue ? $0.log ?? [] : nil } }
  }

  /// The calls since `keepsCalls` was set.
  package var calls: [SimulatedCall] { state.withLock { $0.log ?? [] } }

  /// Objects that were closed while they had changes that no sync had made last. There should be
  /// none: if the kernel failed to write them back, nobody would be told (I9).
  package var closedUnsynced: [String] { state.withLock { $0.closedUnsynced.sorted() } }

  /// Exchanges what two objects hold, for good.
  package func swap(_ name: String, _ other: String) {
    guard let mine = content(of: name), let theirs = content(of: other) else { return }
    tamper(name) { $0 = SparseContent(theirs) }
    tamper(other) { $0 = SparseContent(mine) }
  }

  /// Cuts or grows an object, for good.
  package func cut(_ name: String, to size: Int) { tamper(name) { $0.resize(size) } }

  /// Makes a hole in an object, for good.
  package func hollow(_ name: String, _ range: Range<Int>) { tamper(name) { $0.punch(range) } }

  private func tamper(_ name: String, _ body: (inout SparseContent) -> Void) {
    state.withLock { state in
      guard let number = state.names.current.files[name] else { return }
      state.files[number]?.tamper(body)
    }
  }
}
