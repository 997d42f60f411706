import Engine
import Format

/// The copies of root, journal and metadata pages.
extension Scrub {
  func checkObjects() {
    for check in engine.checkRoots() {
      var damage = Damage(.root)
      damage.objects = [check.object]
      damage.detail = "one copy of the root; the other is good"
      damage.isRepaired = check.isHealed
      add(damage)
    }
    for check in engine.checkJournal() {
      var damage = Damage(.journal)
      damage.objects = [check.object]
      damage.detail = "what was changed last, from byte \(check.offset ?? 0) on"
      add(damage)
    }
  }

  /// Both copies of everything the trees name.
  func checkPages() throws(EngineError) {
    let generation = engine.generation
    metaMapGeneration = generation
    var place: UInt64? = 0
    while let current = place {
      try tick()
      let limit = CheckScratch.pages
      place = engine.checkPages(from: current, limit: limit, scratch: scratch) { check in
        note(check)
        if !metaSlots.insert(UInt64(check.slot)) && engine.generation == generation {
          add(twice(check))
        }
      }
    }
    if engine.generation == generation { compareMetaMap(generation) }
  }

  private func twice(_ check: PageCheck) -> Damage {
    var damage = Damage(.structure)
    damage.objects = [Containers.name(of: check.slot, in: "meta-a")]
    damage.slot = Containers.place(of: check.slot)
    damage.detail = "used twice: \(Damage.describe(check.id))"
    return damage
  }

  /// The map of metadata slots against what the trees name: both are of the same root, or nothing
  /// is said.
  private func compareMetaMap(_ generation: UInt64) {
    relations = []
    compare(.metaMap, metaSlots, what: "metadata slots")
    let used = engine.usedMetaSlots
    if lost.isEmpty && metaSlots.count != used {
      relate(.map, "the root counts \(used) metadata slots in use, not \(metaSlots.count)")
    }
    if engine.generation == generation {
      for damage in relations { add(damage) }
    } else {
      repairs = []
    }
    relations = []
  }

  private func note(_ check: PageCheck) {
    report.pages += 1
    progress.done += 2 * UInt64(Layout.chunkSize)
    guard !check.bad.isEmpty, let index = add(Damage(check)) else { return }
    if check.isLost {
      lost[check.id] = index
    } else if check.id.file == .pages && check.id.level == 0 {
      ownerless[check.id.index] = index
    }
  }

  /// In a check of a part: a page and the tables above it, once.
  func check(_ id: PageID) {
    guard seen.insert(id).inserted else { return }
    engine.checkPage(id, scratch: scratch) { check in
      guard check.id == id || seen.insert(check.id).inserted else { return }
      note(check)
    }
  }
}
