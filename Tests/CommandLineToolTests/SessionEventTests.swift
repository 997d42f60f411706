import Testing

@testable import Session

@Suite struct SessionEventTests {
  /// At which events a mount of each kind is locked.
  @Test func eachPolicyHasItsEvents() {
    let all = Set(SessionEvent.allCases)
    func events(_ policy: EventPolicy) -> Set<SessionEvent> { all.filter(policy.locks) }
    #expect(events(.complete) == all)
    #expect(events(.untilFirstUnlock(onSuspend: false)) == [.logout, .shutdown])
    #expect(events(.untilFirstUnlock(onSuspend: true)) == [.logout, .shutdown, .suspend])
  }

  /// Nothing is held back at which nothing is done.
  @Test func onlyWhatLocksIsDelayed() {
    #expect(EventPolicy.complete.delayed == "sleep:shutdown")
    #expect(EventPolicy.untilFirstUnlock(onSuspend: false).delayed == "shutdown")
    #expect(EventPolicy.untilFirstUnlock(onSuspend: true).delayed == "sleep:shutdown")
  }

  @Test func eachEventHasACauseOfItsOwn() {
    let causes = Set(SessionEvent.allCases.map(\.cause))
    #expect(causes == [.screen, .suspend, .shutdown, .sessionEnd])
    let hurried = causes.filter(\.isHurried)
    #expect(hurried == [.suspend, .shutdown])
  }
}
