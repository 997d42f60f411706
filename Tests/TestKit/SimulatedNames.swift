/// The names in a simulated vault: files by number, and folders.
struct NameTable: Sendable {
  var files: [String: Int] = [:]
  var folders: Set<String> = [""]

  /// The folder a name is in, "" for the vault itself.
  static func folder(of name: String) -> String {
    name.lastIndex(of: "/").map { String(name[..<$0]) } ?? ""
  }

  func names(in folder: String) -> [String] {
    let all = Array(files.keys) + folders.filter { !$0.isEmpty }
    return all.filter { Self.folder(of: $0) == folder }
      .map { folder.isEmpty ? $0 : String($0.dropFirst(folder.count + 1)) }.sorted()
  }
}

/// A change of names that no sync of a folder has made last.
struct PendingName: Sendable {
  enum Change: Sendable {
    case create(String, Int)
    case remove(String)
    case rename(String, to: String, Int)
    case createFolder(String)
  }

  let change: Change
  /// Folders still to be synced before the change lasts.
  var folders: Set<String>

  init(_ change: Change) {
    self.change = change
    folders = []
    folders = Set(names.map(NameTable.folder))
  }

  var names: Set<String> {
    switch change {
    case .create(let name, _), .remove(let name), .createFolder(let name): [name]
    case .rename(let name, let newName, _): [name, newName]
    }
  }

  /// The file a change names, if any.
  var file: Int? {
    switch change {
    case .create(_, let file), .rename(_, _, let file): file
    case .remove, .createFolder: nil
    }
  }

  func apply(to table: inout NameTable) {
    switch change {
    case .create(let name, let file): table.files[name] = file
    case .remove(let name): table.files[name] = nil
    case .rename(let name, let newName, let file):
      table.files[name] = nil
      table.files[newName] = file
    case .createFolder(let name): table.folders.insert(name)
    }
  }
}

/// Names as programs see them, as a power loss leaves them for certain, and what lies between.
struct SimulatedNames: Sendable {
  private(set) var current = NameTable()
  private(set) var durable = NameTable()
  private(set) var pending: [PendingName] = []

  init() {}

  init(durable table: NameTable) {
    current = table
    durable = table
  }

  mutating func change(_ change: PendingName.Change) {
    let change = PendingName(change)
    change.apply(to: &current)
    pending.append(change)
  }

  mutating func sync(folder: String) {
    for index in pending.indices { pending[index].folders.remove(folder) }
    let lasting = withEarlier(pending.map { $0.folders.isEmpty })
    for (change, lasts) in zip(pending, lasting) where lasts { change.apply(to: &durable) }
    pending = zip(pending, lasting).filter { !$0.1 }.map { $0.0 }
  }

  /// Adds to some changes those before them of the same names, without which they make no sense.
  private func withEarlier(_ chosen: [Bool]) -> [Bool] {
    var chosen = chosen
    var names: Set<String> = []
    for (index, change) in pending.enumerated().reversed() {
      guard chosen[index] || !names.isDisjoint(with: change.names) else { continue }
      chosen[index] = true
      names.formUnion(change.names)
    }
    return chosen
  }

  mutating func tamper(_ body: (inout NameTable) -> Void) {
    body(&current)
    body(&durable)
  }

  /// Whether a file can still be reached, now or after a crash.
  func mentions(_ file: Int) -> Bool {
    current.files.values.contains(file) || durable.files.values.contains(file)
      || pending.contains { $0.file == file }
  }

  func afterCrash(_ mode: CrashMode, _ random: inout SplitMix64) -> NameTable {
    var table = durable
    switch mode {
    case .keepAll: table = current
    case .dropAll: break
    case .prefix:
      for change in pending.prefix(random.below(pending.count + 1)) { change.apply(to: &table) }
    case .subset:
      let likelihood = random.pick([10, 50, 90])
      let kept = withEarlier(pending.map { _ in random.chance(likelihood) })
      for (change, isKept) in zip(pending, kept) where isKept { change.apply(to: &table) }
    case .random: return afterCrash(random.chance(50) ? .prefix : .subset, &random)
    }
    // What was in a folder that is lost is lost with it.
    let folders = table.folders
    table.files = table.files.filter { folders.contains(NameTable.folder(of: $0.key)) }
    return table
  }
}
