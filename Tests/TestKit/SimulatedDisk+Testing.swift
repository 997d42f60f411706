import POSIX

extension SimulatedDisk {
  // MARK: - Control

  /// Changing calls so far, failed ones included.
  package var steps: Int { state.withLock { $0.steps } }

  /// After this many steps every call fails, as if the power were gone, and nothing changes.
  package var stopAfter: Int? {
    get { state.withLock { $0.stopAfter } }
    set { state.withLock { $0.stopAfter = newValue } }
  }

  /// Fails chosen calls. A failed write leaves its first half behind, a failed sync loses the data.
  package var fault: SimulatedFault? {
    get { state.withLock { $0.fault } }
    set { state.withLock { $0.fault = newValue } }
  }

  /// What a fault answers to make a read short, as if the object ended in its midst.
  static let short = Errno(rawValue: -1)

  /// The bytes there is room for, in pages of 4096; nil for no limit.
  package var capacity: Int? {
    get { state.withLock { $0.capacity } }
    set { state.withLock { $0.capacity = newValue } }
  }

  /// Whether holes can be punched; where not, `punch` returns false.
  package var punches: Bool {
    get { state.withLock { $0.punches } }
    set { state.withLock { $0.punches = newValue } }
  }

  /// Bytes taken, in pages of 4096.
  package var used: Int { state.withLock { $0.used } }

  /// How often calls of a kind were made.
  package func count(of kind: SimulatedCall.Kind) -> Int {
    state.withLock { $0.counts[kind] ?? 0 }
  }

  package func resetCounts() { state.withLock { $0.counts = [:] } }

  // MARK: - Copies

  /// The disk after a power loss now. The same seed on the same state gives the same disk.
  package func crashed(seed: UInt64, mode: CrashMode) -> SimulatedDisk {
    SimulatedDisk(state.withLock { $0.crashed(seed: seed, mode) })
  }

  /// An independent copy, synced or not, without faults and with all counts at zero.
  package func snapshot() -> SimulatedDisk { SimulatedDisk(state.withLock { $0.detached }) }

  // MARK: - Tampering, none of it a step

  /// All objects, sorted; folders not included.
  package var names: [String] { state.withLock { $0.names.current.files.keys.sorted() } }

  package var folders: [String] {
    state.withLock { $0.names.current.folders.filter { !$0.isEmpty }.sorted() }
  }

  package func content(of name: String) -> [UInt8]? {
    state.withLock { state in
      guard let file = state.names.current.files[name].flatMap({ state.files[$0] }) else {
        return nil
      }
      return file.current.read(0..<file.current.size)
    }
  }

  package func size(of name: String) -> Int? {
    state.withLock { state in
      state.names.current.files[name].flatMap { state.files[$0]?.current.size }
    }
  }

  /// Inverts one bit: bit `bit % 8` of byte `bit / 8`. False past the end.
  @discardableResult
  package func flipBit(of name: String, at bit: Int) -> Bool {
    state.withLock { state in
      guard let number = state.names.current.files[name], let file = state.files[number],
        bit / 8 < file.current.size
      else { return false }
      state.files[number]?.tamper { content in
        guard let byte = content.read((bit / 8)..<(bit / 8 + 1)).first else { return }
        content.write([byte ^ (1 << UInt8(bit % 8))], 0..<1, at: bit / 8)
      }
      return true
    }
  }

  /// Overwrites bytes for good, as an attacker or a failing disk would.
  package func overwrite(_ name: String, at offset: Int, with bytes: [UInt8]) {
    state.withLock { state in
      guard let number = state.names.current.files[name] else { return }
      state.files[number]?.tamper { $0.write(bytes, 0..<bytes.count, at: offset) }
    }
  }

  /// Gives an object other bytes for good, or makes one that has them.
  package func replace(_ name: String, with bytes: [UInt8]) {
    state.withLock { state in
      let number = state.addFile(SimulatedContent(durable: SparseContent(bytes)))
      state.names.tamper {
        $0.files[name] = number
        let folder = NameTable.folder(of: name)
        $0.folders.insert(folder)
      }
      state.forgetUnreachable()
    }
  }

  package func removeObject(_ name: String) {
    state.withLock { state in
      state.names.tamper { $0.files[name] = nil }
      state.forgetUnreachable()
    }
  }
}
