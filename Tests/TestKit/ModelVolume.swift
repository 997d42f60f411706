package import POSIX
package import Volume

extension ModelVolume {
  private mutating func add(_ path: Path, _ kind: ModelNode.Kind) throws(Errno) {
    let (directory, name) = try place(path)
    guard try entries(directory)[name] == nil else { throw .exists }
    set(name, make(kind), in: directory)
  }

  package mutating func create(_ path: Path) throws(Errno) {
    try add(path, .file(SparseContent()))
  }

  package mutating func makeDirectory(_ path: Path) throws(Errno) {
    try add(path, .directory([:]))
  }

  package mutating func makeFIFO(_ path: Path) throws(Errno) { try add(path, .fifo) }

  package mutating func symlink(_ path: Path, target: [UInt8]) throws(Errno) {
    let (directory, name) = try place(path)
    guard !target.isEmpty else { throw .noSuchFile }
    guard target.count <= 4095 else { throw .nameTooLong }
    guard try entries(directory)[name] == nil else { throw .exists }
    set(name, make(.symlink(target)), in: directory)
  }

  package mutating func link(_ path: Path, as newPath: Path) throws(Errno) {
    let number = try find(path)
    let (directory, name) = try place(newPath)
    guard try entries(directory)[name] == nil else { throw .exists }
    guard node(number).entries == nil else { throw .notPermitted }
    change(number) { $0.links += 1 }
    set(name, number, in: directory)
  }

  package mutating func unlink(_ path: Path) throws(Errno) {
    let (directory, name) = try place(path)
    guard let number = try entries(directory)[name] else { throw .noSuchFile }
    guard node(number).entries == nil else { throw .isDirectory }
    set(name, nil, in: directory)
    drop(number)
  }

  package mutating func removeDirectory(_ path: Path) throws(Errno) {
    let (directory, name) = try place(path)
    guard let number = try entries(directory)[name] else { throw .noSuchFile }
    guard try entries(number).isEmpty else { throw .notEmpty }
    set(name, nil, in: directory)
    drop(number)
  }

  package mutating func rename(_ path: Path, to newPath: Path, _ mode: RenameMode) throws(Errno) {
    let (from, name) = try place(path)
    let (to, newName) = try place(newPath)
    guard let source = try entries(from)[name] else { throw .noSuchFile }
    let target = try entries(to)[newName]
    if mode == .exchange {
      guard let target else { throw .noSuchFile }
      try exchange((source, from, name), (target, to, newName))
      return
    }
    if mode == .noReplace, target != nil { throw .exists }
    let isDirectory = node(source).entries != nil
    if isDirectory, isBelow(to, source) { throw .invalid }
    if let target {
      if target == source { return }
      if let entries = node(target).entries {
        guard isDirectory else { throw .isDirectory }
        guard entries.isEmpty else { throw .notEmpty }
      } else if isDirectory {
        throw .notDirectory
      }
      set(newName, nil, in: to)
      drop(target)
    }
    set(name, nil, in: from)
    set(newName, source, in: to)
  }

  private mutating func exchange(
    _ one: (node: Int, directory: Int, name: [UInt8]),
    _ other: (node: Int, directory: Int, name: [UInt8])
  ) throws(Errno) {
    if one.node == other.node { return }
    if isBelow(other.directory, one.node) || isBelow(one.directory, other.node) { throw .invalid }
    set(one.name, other.node, in: one.directory)
    set(other.name, one.node, in: other.directory)
  }
}
