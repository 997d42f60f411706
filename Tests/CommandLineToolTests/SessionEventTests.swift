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

  /// To the keeper and back, and nothing else.
  @Test func theyGoAsMessages() {
    let policies: [EventPolicy] = [
      .complete, .untilFirstUnlock(onSuspend: false), .untilFirstUnlock(onSuspend: true),
    ]
    for policy in policies { #expect(EventPolicy(policy.message) == policy) }
    #expect(EventPolicy(Message("mount", ["protection": "complete"])) == nil)
    #expect(EventPolicy(Message("watch")) == nil)
    for event in SessionEvent.allCases { #expect(SessionEvent(event.cause) == event) }
    #expect(SessionEvent(.requested) == nil)
    let shown: [DesktopEvent] = [
      .locksSoon(seconds: 30), .isUsed, .locked(.screen, isLost: false),
      .locked(.idle, isLost: true),
    ]
    for event in shown { #expect(DesktopEvent(event.message) == event) }
    for fields in [[:], ["seconds": "-1"], ["seconds": "99999999999999999999"]] {
      #expect(DesktopEvent(Message("locks-soon", fields)) == nil)
    }
    #expect(DesktopEvent(Message("locked", ["cause": "because"])) == nil)
  }

  @Test func eachEventHasACauseOfItsOwn() {
    let causes = Set(SessionEvent.allCases.map(\.cause))
    #expect(causes == [.screen, .suspend, .shutdown, .sessionEnd])
    let hurried = causes.filter(\.isHurried)
    #expect(hurried == [.suspend, .shutdown])
  }
}

@Suite struct DesktopNoticeTests {
  private func locked(_ cause: LockCause, isLost: Bool = false) -> DesktopNotice? {
    DesktopNotice(mountPoint: "/home/ada/Private", locked: cause, isLost: isLost)
  }

  @Test func whoAskedForItIsNotTold() {
    let told = LockCause.allCases.filter { locked($0) != nil }
    #expect(Set(told) == [.idle, .atMost, .screen, .suspend])
    let lost = LockCause.allCases.filter { locked($0, isLost: true) == nil }
    #expect(lost == [], "what is lost is told in any case")
  }

  @Test func itSaysWhatAndWhy() {
    #expect(locked(.idle)?.title == "Private is locked")
    #expect(locked(.screen)?.text == "The reason: the screen was locked.")
    let lost = locked(.signal, isLost: true)?.text
    #expect(lost?.hasSuffix("The last changes could not all be written.") == true)
    let warning = DesktopNotice(mountPoint: "/home/ada/Private/", locksIn: 30)
    #expect(warning.title == "Private locks itself in 30 seconds")
  }

  /// Nothing but the last component, in the title, where it can't be taken for markup.
  @Test(arguments: LockCause.allCases)
  func noPathIsShown(_ cause: LockCause) throws {
    let notice = try #require(
      DesktopNotice(mountPoint: "/home/ada/<b>x</b>", locked: cause, isLost: true))
    #expect(!notice.title.contains("home") && !notice.text.contains("<"))
  }

  @Test func oddNamesAreMadeShowable() {
    func title(_ path: String) -> String {
      DesktopNotice(mountPoint: path, locksIn: 30).title
    }
    #expect(title("/a/x\u{1b}[2J\u{202e}\ny") == "x[2Jy locks itself in 30 seconds")
    #expect(title("/\u{7}") == "The vault locks itself in 30 seconds")
    #expect(title("/") == "The vault locks itself in 30 seconds")
    let long = title("/" + String(repeating: "n", count: 255))
    #expect(long == String(repeating: "n", count: 64) + " locks itself in 30 seconds")
  }
}
