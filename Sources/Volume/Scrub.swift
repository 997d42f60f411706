import Bytes
import Engine
import Format
import POSIX

/// One check of a volume, whatever is damaged in it; see `Volume.scrub`.
///
/// Damage is of two sorts. What does not authenticate is told at once, and is true whoever else
/// uses the volume: a piece that fails is looked at again with what names it held. What does not
/// fit together (names, counts, maps) is true only if nothing changed while it was read.
///
/// Memory: two bits a slot or page, four bytes an inode.
final class Scrub {
  let volume: Volume
  let options: ScrubOptions
  private let tell: (ScrubProgress) -> Bool
  var report = ScrubReport()
  /// Damage of what does not fit together, until it is known that nothing changed meanwhile.
  var relations: [Damage] = []
  var repairs: [Repair] = []
  /// Metadata pages of which no copy is true, and their place in the report.
  var lost: [PageID: Int] = [:]
  /// Pages of names or references of which one copy is bad: whose they are is seen later.
  var ownerless: [UInt32: Int] = [:]
  /// What was said of lost pages, so that it is said once.
  private var blamed: Set<Damage.Key> = []
  /// Inodes whose record cannot be read.
  var lostInodes = SparseBits()
  /// The type of each inode in use, as mode >> 12.
  var types = SparseCounts<UInt8>()
  /// How many names each inode has.
  var names = SparseCounts<UInt16>()
  var inodes = SparseBits()
  var pages = SparseBits()
  var slots = SparseBits()
  var metaSlots = SparseBits()
  /// The root that `metaSlots` is of.
  var metaMapGeneration: UInt64 = 0
  /// In a check of a part: metadata pages looked at.
  var seen: Set<PageID> = []
  var progress = ScrubProgress()
  private var told: UInt64 = 0
  let scratch = CheckScratch()
  let checker: ChunkChecker
  var job: [ChunkChecker.Piece] = []
  var jobChunks = 0
  /// Whether chunks are read in this pass.
  var readsData = false

  var engine: Engine { volume.engine }
  var isWhole: Bool { options.path == nil }

  init(_ volume: Volume, _ options: ScrubOptions, _ tell: @escaping (ScrubProgress) -> Bool) {
    self.volume = volume
    self.options = options
    self.tell = tell
    checker = ChunkChecker(volume.engine.data)
  }

  /// Throws `.closed` when it is to stop, and what keeps it from starting.
  func run() throws(EngineError) {
    defer { checker.abandon() }
    if !options.isQuick { try checker.start(Self.threads) }
    if isWhole { try runWhole() } else { try runPart() }
    try name()
  }

  /// Enough to keep the disk busy while each core has a chunk to open.
  private static var threads: Int { max(4, 2 * System.processors) }

  private func runWhole() throws(EngineError) {
    setTotal()
    checkObjects()
    try checkPages()
    readsData = !options.isQuick
    var tries = 0
    while !report.isCompared && tries < 3 {
      let before = (engine.changes, engine.generation)
      forgetRelations()
      try checkInodes()
      readsData = false
      try checkDirectories()
      try compare()
      report.isCompared = before == (engine.changes, engine.generation)
      tries += 1
    }
    try finishData()
    guard report.isCompared else { return }
    for damage in relations { add(damage) }
    if options.repairs { repairAll() }
  }

  private func forgetRelations() {
    relations = []
    repairs.removeAll { $0 != .map(.metaMap) }
    types = SparseCounts()
    names = SparseCounts()
    inodes = SparseBits()
    pages = SparseBits()
    slots = SparseBits()
    report.files = 0
    report.directories = 0
    report.others = 0
  }

  private func setTotal() {
    let system = try? engine.page(PageID(.system, 0))
    let used = system.flatMap { try? SystemPage.count(SystemPage.usedSlots, in: $0) }
    let slots = options.isQuick ? 0 : used ?? 0
    progress.total = (slots + 2 * engine.usedMetaSlots) * UInt64(Layout.chunkSize)
  }

  /// Tells how far it is, now and then.
  func tick() throws(EngineError) {
    let now = Clock.monotonic
    guard now &- told > 100_000_000 else { return }
    told = now
    if volume.isStopping { throw .closed }
    var shown = progress
    shown.done += checker.checked * UInt64(Layout.chunkSize)
    if shown.total > 0 { shown.done = min(shown.done, shown.total) }
    if !tell(shown) { throw .closed }
  }

  // MARK: - Damage

  /// Notes damage; returns its place in the report, or nil if there is too much already.
  @discardableResult
  func add(_ damage: Damage) -> Int? {
    guard report.damages.count < ScrubReport.listed else {
      report.omitted += 1
      return nil
    }
    report.damages.append(damage)
    return report.damages.count - 1
  }

  /// Notes what does not fit together.
  func relate(_ kind: Damage.Kind, _ detail: String, _ change: (inout Damage) -> Void = { _ in }) {
    guard relations.count < ScrubReport.listed else {
      report.omitted += 1
      return
    }
    var damage = Damage(kind)
    damage.detail = detail
    change(&damage)
    relations.append(damage)
  }

  /// Says what a page that cannot be read was for. The first to say so completes what is told of
  /// the page, others tell of it again.
  func blame(_ id: PageID, _ change: (inout Damage) -> Void) {
    var place = id
    while lost[place] == nil && place.level < 6 { place = place.table }
    guard let index = lost[place] else {
      // It was readable a moment ago.
      var damage = Damage(.page)
      damage.detail = Damage.describe(id)
      change(&damage)
      if let index = add(damage) { lost[id] = index }
      return
    }
    var damage = report.damages[index]
    let isFirst = place == id && damage.inode == nil
    damage.range = nil
    change(&damage)
    guard blamed.insert(damage.key).inserted else { return }
    if isFirst { report.damages[index] = damage } else { add(damage) }
  }

  /// An inode whose record is lost, once.
  func blame(inode number: UInt64) {
    guard lostInodes.insert(number) else { return }
    blame(Inodes.page(of: number)) { damage in
      damage.noun = "inode"
      damage.inode = number
      damage.detail = "its record is lost"
    }
  }

  /// A page of names or references is in use by an inode.
  func mark(_ page: UInt32, of number: UInt64) {
    if !isWhole { check(PageID(.pages, page)) }
    if let index = ownerless.removeValue(forKey: page) { report.damages[index].inode = number }
    guard isWhole, !pages.insert(UInt64(page)) else { return }
    relate(.structure, "page \(page) is used twice") { $0.inode = number }
  }
}

extension Volume {
  /// Reads and authenticates what is stored: everything, or a part of the tree, and whether it fits
  /// together. Readers and writers may go on, unless it repairs.
  ///
  /// `tell` hears now and then how far it is, and stops it by answering false. Throws `.locked`
  /// when it was stopped; damage is no reason to throw.
  package func scrub(
    _ options: ScrubOptions, _ tell: @escaping (ScrubProgress) -> Bool = { _ in true }
  ) throws(VolumeError) -> ScrubReport {
    // The vault is not closed, nor are keys wiped, before this has ended.
    let mayStart = background.withLock { state in
      guard !state.stopping else { return false }
      state.running += 1
      return true
    }
    guard mayStart else { throw .locked }
    defer { background.withLock { $0.running -= 1 } }
    let scrub = Scrub(self, options, tell)
    do throws(EngineError) { try scrub.run() } catch { throw VolumeError(error) }
    return scrub.report
  }

  var isStopping: Bool { background.withLock { $0.stopping } }
}
