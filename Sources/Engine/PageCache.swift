import Format
import POSIX

/// Published pages in memory, with a bound on the clean ones.
///
/// Pages leave in two generations: what was not asked for since the last turn goes first.
final class PageCache: Sendable {
  private struct State {
    var young: [PageID: Page] = [:]
    var old: [PageID: Page] = [:]
  }

  private let state = Lock(State())
  private let half: Int

  /// `capacity` is in pages.
  init(capacity: Int) { half = max(64, capacity / 2) }

  func page(_ id: PageID) -> Page? {
    state.withLock { state in
      if let page = state.young[id] { return page }
      guard let page = state.old[id] else { return nil }
      insert(page, id, &state)
      return page
    }
  }

  func insert(_ page: Page, as id: PageID) {
    state.withLock { state in insert(page, id, &state) }
  }

  func clear() { state.withLock { $0 = State() } }

  private func insert(_ page: Page, _ id: PageID, _ state: inout State) {
    if state.young.count >= half {
      state.old = state.young
      state.young = [:]
      state.young.reserveCapacity(half)
    }
    state.young[id] = page
    // An older version must not come back when the newer one is turned out first.
    state.old[id] = nil
  }
}
