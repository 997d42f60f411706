package import POSIX

/// Where replay had to stop though the journal did not end there, or perhaps did not.
package struct JournalGap: Hashable, Sendable {
  package enum Cause: Hashable, Sendable {
    /// What comes later knows that a frame which does not authenticate was durable.
    case damaged
    case missing
    /// The file is shorter than a segment is.
    case short
    /// The lower filesystem could not read it.
    case unreadable(Errno)
  }

  /// The stored object, such as `journal/0000000000000007`.
  package let object: String
  package let cause: Cause
  /// Frames found behind the gap; there may have been more.
  package let framesBehind: Int

  package init(object: String, cause: Cause, framesBehind: Int) {
    self.object = object
    self.cause = cause
    self.framesBehind = framesBehind
  }
}
