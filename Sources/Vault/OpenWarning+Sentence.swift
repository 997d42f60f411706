import Engine
import POSIX

extension OpenWarning {
  var sentence: String {
    switch self {
    case .firstUse:
      "this machine sees the vault for the first time and trusts what it sees; "
        + "an older copy of it could not be told"
    case .anchorDamaged:
      "what this machine remembered of the vault is damaged; an older copy of it could not be told"
    case .anchorUnwritable:
      "the state folder cannot be written; an older copy of the vault will not be told"
    case .olderAccepted: "an older state of the vault was accepted"
    case .recovered: "the vault was not closed properly last time; everything synced is there"
    case .journalCut(let gap):
      "\(gap.sentence); changes after that point are not shown\(gap.found)"
    case .journalLossAccepted(let gap):
      "\(gap.sentence); changes after that point are given up\(gap.found)"
    case .diskFull:
      "there is no space left where the vault is, so it is read-only; make room and mount it again"
    case .rootCopyHealed: "one copy of the root was damaged or older and has been made good"
    }
  }

  /// Whether it is still to be known later, and not only after the mount.
  var isLasting: Bool {
    switch self {
    case .anchorUnwritable, .olderAccepted, .journalCut, .journalLossAccepted, .diskFull: true
    case .firstUse, .anchorDamaged, .recovered, .rootCopyHealed: false
    }
  }
}

extension JournalGap {
  var sentence: String {
    switch cause {
    case .damaged: "the journal is damaged in \(object)"
    case .missing: "the journal is damaged: \(object) is missing"
    case .short: "the journal is damaged: \(object) is cut short"
    case .unreadable(let errno):
      "the journal cannot be read: \(object): \(errno.description.lowercased())"
    }
  }

  /// Whether it may be good another time.
  var mayPass: Bool {
    if case .unreadable = cause { true } else { false }
  }

  fileprivate var found: String {
    switch framesBehind {
    case 0: ""
    case 1: " (one was found)"
    default: " (\(framesBehind) were found)"
    }
  }
}
