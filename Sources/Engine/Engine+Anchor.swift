import Bytes
import Crypto
import Format

extension Engine {
  /// Refuses a vault that is older than, or a fork of, what this machine has seen.
  static func checkAnchor(
    _ anchor: AnchorFile?, _ chain: inout Chain, _ store: PageStore, _ options: EngineOptions,
    _ warnings: inout [OpenWarning]
  ) throws(EngineError) {
    guard let anchor else {
      // Without one an older state would go unnoticed: that is said aloud.
      if !options.readOnly { warnings.append(.anchorUnwritable) }
      return
    }
    let known: AnchorRecord
    switch anchor.read() {
    case .nothing: return warnings.append(.firstUse)
    case .damaged: return warnings.append(.anchorDamaged)
    case .known(let record, let counter):
      known = record
      chain.anchorCounter = counter
    }
    do { try check(known, chain, store, options) } catch {
      switch error {
      case .older, .forked, .olderConfiguration:
        guard options.acceptOlder || options.readOnly else { throw error }
        warnings.append(.olderAccepted)
        // The discarded line may have gone further than the accepted one: stay above both.
        chain.root.generation = max(chain.root.generation, known.generation)
      case .damaged where options.acceptOlder || options.readOnly:
        // The lineage is lost: whether this is the newest state cannot be told.
        warnings.append(.olderAccepted)
        chain.root.generation = max(chain.root.generation, known.generation)
      default: throw error
      }
    }
  }

  /// The root first: where a whole backup was put back, the older configuration belongs to it.
  private static func check(
    _ known: AnchorRecord, _ chain: Chain, _ store: PageStore, _ options: EngineOptions
  ) throws(EngineError) {
    try check(known, chain, store)
    if known.configurationGeneration > options.configurationGeneration {
      throw .olderConfiguration(
        presented: options.configurationGeneration, known: known.configurationGeneration)
    }
  }

  private static func check(
    _ known: AnchorRecord, _ chain: Chain, _ store: PageStore
  ) throws(EngineError) {
    let root = chain.root
    if root.session == known.session {
      if root.generation < known.generation {
        throw .older(presented: root.generation, known: known.generation)
      }
      if root.generation == known.generation, chain.rootTag != known.rootTag { throw .forked }
      return
    }
    if root.generation < known.generation {
      throw .older(presented: root.generation, known: known.generation)
    }
    // The known session must be in the lineage, and the next one must have begun from that point or
    // a later one; not from an earlier one that was accepted.
    var following: UInt64?
    for index in stride(from: Int(root.lineageCount) - 1, through: 0, by: -1) {
      let page = try store.pageForWriter(PageID(.lineage, UInt32(index / 128)))
      let offset = (index % 128) * 32
      guard !page.bytes.isZero(offset..<(offset + 16)) else { throw .damaged("the lineage") }
      if page.bytes.equals(known.session, at: offset) {
        guard let following, following >= known.generation else { throw .forked }
        return
      }
      following = page.bytes.load(UInt64.self, at: offset + 24)
    }
    throw .forked
  }
}
