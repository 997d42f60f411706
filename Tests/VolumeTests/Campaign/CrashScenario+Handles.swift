import Bytes
import Engine
import POSIX
import TestKit

@testable import Volume

/// What is done through open files.
extension CrashScenario {
  private static let caller = Caller(user: 1000, group: 1000, mask: 0o022)

  mutating func noteOrphans(before tree: ModelVolume) {
    for index in handles.indices where handles[index].orphan == nil {
      let node = handles[index].node
      if !history.tree.hasNode(node) { handles[index].orphan = tree.bytes(of: node) }
    }
  }

  private mutating func pickFile() -> (path: Path, number: Int)? {
    let files = history.tree.files
    return files.isEmpty ? nil : random.pick(files)
  }

  mutating func open() throws {
    guard handles.count < 4, let file = pickFile() else { return }
    let inode = try VolumeDriver(volume).find(file.path)
    try volume.open(inode, truncate: false)
    handles.append(OpenFile(inode: inode, node: file.number))
  }

  mutating func release() throws {
    guard !handles.isEmpty else { return }
    volume.release(handles.remove(at: random.below(handles.count)).inode)
  }

  /// open(2) with O_TRUNC, write(2), close(2), as many editors save a file.
  mutating func replace() throws {
    guard let file = pickFile() else { return }
    let inode = try VolumeDriver(volume).find(file.path)
    let hadContents = try history.tree.size(of: file.path) > 0
    var next = history.tree
    next.apply(.truncate(file.path, to: 0))
    begin(next)
    do throws(VolumeError) { try volume.open(inode, truncate: true) } catch {
      guard error.errno == .noSpace, flavour.room != nil else { throw error }
      history.refuse()
      disk.setMark(history.mark)
      return
    }
    history.finish(framed: [file.number], isDurable: false)
    disk.setMark(history.mark)
    try apply(.write(file.path, at: 0, count: 1 + random.below(20_000), fill: random.next()))
    try call(framed: hadContents ? [file.number] : []) { try $0.flush(inode) }
    volume.release(inode)
  }

  mutating func syncData() throws {
    guard let file = pickFile() else { return }
    let inode = try VolumeDriver(volume).find(file.path)
    try call(framed: [file.number], isDurable: true) { try $0.sync(inode, dataOnly: true) }
  }

  /// A file without a name is read, written and synced as any other, as long as it is open.
  mutating func changeOrphan() throws {
    guard
      let index = handles.indices.filter({ handles[$0].orphan != nil }).randomElement(
        using: &random), var content = handles[index].orphan
    else { return }
    let inode = handles[index].inode
    let offset = random.below(content.count + 5000)
    let bytes = Operation.bytes(1 + random.below(9000), fill: random.next())
    begin(history.tree)
    do throws(VolumeError) {
      try volume.write(inode, Buffer(bytes).bytes, at: UInt64(offset), clearsSetID: false)
      let end = offset + bytes.count
      if content.count < end { content += [UInt8](repeating: 0, count: end - content.count) }
      content.replaceSubrange(offset..<end, with: bytes)
    } catch {
      guard error.errno == .noSpace, flavour.room != nil else { throw error }
    }
    history.finish(framed: [], isDurable: false)
    if random.chance(50) {
      try call(isDurable: true) { try $0.sync(inode, dataOnly: false) }
    }
    for other in handles.indices where handles[other].inode == inode {
      handles[other].orphan = content
    }
    guard try VolumeDriver(volume).contents(of: inode) == content else {
      throw Disagreement(description: "a file without a name has other bytes")
    }
  }

  /// A clean stop, and the next mount.
  mutating func reopen() throws {
    for handle in handles { volume.release(handle.inode) }
    handles = []
    try call(framed: everyFile, isDurable: true) { try $0.close() }
    begin(history.tree)
    do { volume = try flavour.open(disk) } catch { throw VolumeError(error) }
    history.finish(framed: [], isDurable: true)
    disk.setMark(history.mark)
  }
}
