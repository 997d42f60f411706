package import Disk
import POSIX

/// A disk in memory that loses, tears and fails whatever was not synced, as its seed has it.
///
/// It promises no more than POSIX does: `sync` makes the contents of a file last but not its name,
/// `syncFolder` makes names last but not contents. Every call that changes something is a step; a
/// test stops the disk after each step in turn, takes `crashed` states of it, and opens those.
package final class SimulatedDisk: Disk {
  let state: Lock<SimulatedState>

  package init() { state = Lock(SimulatedState()) }

  init(_ state: SimulatedState) { self.state = Lock(state) }

  package func open(_ name: String, writable: Bool) throws(DiskError) -> any DiskFile {
    let number = try state.withLock { (state) throws(DiskError) -> Int in
      try state.begin(.open, name)
      if state.names.current.folders.contains(name) {
        throw state.fail(writable ? .isDirectory : .invalid, .open, name)
      }
      guard let number = state.names.current.files[name] else {
        throw state.fail(.noSuchFile, .open, name)
      }
      state.files[number]?.handles += 1
      return number
    }
    return SimulatedFile(self, number, name, writable: writable)
  }

  package func create(_ name: String) throws(DiskError) -> any DiskFile {
    let number = try state.withLock { (state) throws(DiskError) -> Int in
      try state.begin(.create, name)
      try state.checkFolder(of: name, .create)
      guard state.names.current.files[name] == nil, !state.names.current.folders.contains(name)
      else { throw state.fail(.exists, .create, name) }
      let number = state.addFile(SimulatedContent())
      state.files[number]?.handles = 1
      state.names.change(.create(name, number))
      return number
    }
    return SimulatedFile(self, number, name, writable: true)
  }

  package func createFolder(_ name: String) throws(DiskError) {
    try state.withLock { (state) throws(DiskError) in
      try state.begin(.createFolder, name)
      try state.checkFolder(of: name, .createFolder)
      guard state.names.current.files[name] == nil else {
        throw state.fail(.notDirectory, .createFolder, name)
      }
      if !state.names.current.folders.contains(name) { state.names.change(.createFolder(name)) }
    }
  }

  package func remove(_ name: String) throws(DiskError) {
    try state.withLock { (state) throws(DiskError) in
      try state.begin(.remove, name)
      guard state.names.current.files[name] != nil else {
        let isFolder = state.names.current.folders.contains(name)
        throw state.fail(isFolder ? .isDirectory : .noSuchFile, .remove, name)
      }
      state.names.change(.remove(name))
    }
  }

  package func rename(_ name: String, to newName: String) throws(DiskError) {
    try state.withLock { (state) throws(DiskError) in
      try state.begin(.rename, name)
      guard let number = state.names.current.files[name] else {
        throw state.fail(.noSuchFile, .rename, name)
      }
      try state.checkFolder(of: newName, .rename)
      guard !state.names.current.folders.contains(newName) else {
        throw state.fail(.isDirectory, .rename, name)
      }
      if name != newName { state.names.change(.rename(name, to: newName, number)) }
    }
  }

  package func list(_ folder: String) throws(DiskError) -> [String] {
    try state.withLock { (state) throws(DiskError) in
      try state.begin(.list, folder)
      guard state.names.current.folders.contains(folder) else {
        throw state.fail(.noSuchFile, .list, folder)
      }
      return state.names.current.names(in: folder)
    }
  }

  package func syncFolder(_ folder: String) throws(DiskError) {
    try state.withLock { (state) throws(DiskError) in
      try state.begin(.syncFolder, folder)
      guard state.names.current.folders.contains(folder) else {
        throw state.fail(.noSuchFile, .syncFolder, folder)
      }
      state.names.sync(folder: folder)
      state.forgetUnreachable()
    }
  }

  package func space() throws(DiskError) -> DiskSpace {
    try state.withLock { (state) throws(DiskError) in
      try state.begin(.space, "")
      let total = state.capacity ?? 1 << 40
      return DiskSpace(total: UInt64(total), free: UInt64(max(0, total - state.used)))
    }
  }
}

extension SimulatedState {
  func checkFolder(of name: String, _ kind: SimulatedCall.Kind) throws(DiskError) {
    guard names.current.folders.contains(NameTable.folder(of: name)) else {
      throw fail(.noSuchFile, kind, name)
    }
  }
}
