internal import CFuse3
internal import POSIX
internal import Synchronization
internal import Volume

/// What the callbacks of one mount share: the volume, and what the kernel knows of it.
///
/// The methods in the Requests files each answer one kind of request, on the thread that read it.
/// They take no lock of their own while they call the volume or answer.
final class Bridge: Sendable {
  let volume: Volume
  let options: MountOptions
  let marker: ViewMarker
  let known = KnownInodes()
  let kernel = Kernel()
  let activity: Activity
  let notifier: Notifier
  /// How much is still served; rises only. The raw value of a `Stage`.
  private let stageNumber = Atomic<Int>(Stage.serving.rawValue)
  /// Requests let in and not yet answered, by the stage they were let in at.
  private let begunServing = Atomic<Int>(0)
  private let begunRefusing = Atomic<Int>(0)
  /// Write-backs and syncs let in; rises only.
  let writeBacks = Atomic<Int>(0)
  /// Why a page could not be written back, first, since `stop` began: nobody but the program that
  /// wrote it hears of it from the kernel, and that one may not ask.
  let writeBackFailure = Lock<Errno?>(nil)
  /// Set from INIT to its answer; see Wire.swift.
  let isNegotiating = Atomic<Bool>(false)
  /// Set while negotiating, where the kernel offers HANDLE_KILLPRIV_V2.
  let takesKillPriv = Atomic<Bool>(false)
  /// Whether the kernel opens directories by itself once it is told so.
  let leavesOpendir = Atomic<Bool>(false)
  /// The kernel has our answer to INIT, and it is not an error.
  let isAgreed = Atomic<Bool>(false)

  init(volume: Volume, options: MountOptions) {
    self.volume = volume
    self.options = options
    marker = ViewMarker(isShown: options.isMarked)
    activity = Activity(limit: options.idleLimit, end: options.end)
    notifier = Notifier(kernel: kernel)
  }

  static func of(_ request: fuse_req_t?) -> Bridge { unsafe of(fuse_req_userdata(request)) }

  static func of(_ userData: UnsafeMutableRawPointer?) -> Bridge {
    guard let userData = unsafe userData else { preconditionFailure("a request without a bridge") }
    return unsafe Unmanaged<Bridge>.fromOpaque(userData).takeUnretainedValue()
  }

  /// INIT: the answer is sent by libfuse when this returns.
  func started(_ connection: inout fuse_conn_info) {
    let leaves = coffre_fuse_opens_directories(connection.capable) != 0
    leavesOpendir.store(leaves, ordering: .relaxed)
    Capabilities.negotiate(&connection, options)
  }

  // MARK: stages of locking

  /// How far a lock has come. Each stage refuses one kind of request more, so that what write(2)
  /// has taken still finds its way down while nobody begins anything any more.
  enum Stage: Int, Comparable {
    case serving, refusingStarts, refusingAll

    static func < (left: Stage, right: Stage) -> Bool { left.rawValue < right.rawValue }
  }

  /// What a request does, as far as the stages care.
  enum Kind: Int {
    /// A program begins something: it opens, looks, reads, changes, or asks for attributes, as the
    /// kernel does before it lets write(2) into the page cache.
    case start = 1
    /// The end of what was begun: pages and times the kernel writes back, fsync(2).
    case writeBack
  }

  var stage: Stage {
    Stage(rawValue: stageNumber.load(ordering: .sequentiallyConsistent)) ?? .refusingAll
  }

  func enter(_ stage: Stage) {
    stageNumber.store(stage.rawValue, ordering: .sequentiallyConsistent)
  }

  /// Lets a request in, or throws `locked`. Counts it as activity of a person's program, until its
  /// worker is done with it.
  ///
  func admit(_ kind: Kind, isActivity: Bool = true) throws(VolumeError) {
    let stage = begin()
    guard stage.rawValue < kind.rawValue else {
      end(stage)
      throw .locked
    }
    Worker.current.admission = stage
    if isActivity {
      Worker.current.isActive = activity.begin()
      // Nobody was there for too long: the lock is on its way, and whoever comes now comes late.
      guard Worker.current.isActive || kind != .start else { throw .locked }
    }
    if kind == .writeBack { writeBacks.wrappingAdd(1, ordering: .relaxed) }
  }

  /// Rises with everything that comes to its end.
  var moves: Int { activity.servedRequests + kernel.finishedCalls + options.lowerCalls() }

  /// Counts a request as under way, and says at which stage it begins: whoever enters the next one
  /// sees it until its end, or it sees that the stage was entered.
  func begin() -> Stage {
    while true {
      let stage = stage
      count(1, at: stage)
      if stage == self.stage { return stage }
      end(stage)
    }
  }

  /// A request is answered that began at a stage.
  func end(_ stage: Stage) { count(-1, at: stage) }

  private func count(_ change: Int, at stage: Stage) {
    switch stage {
    case .serving: begunServing.wrappingAdd(change, ordering: .sequentiallyConsistent)
    case .refusingStarts: begunRefusing.wrappingAdd(change, ordering: .sequentiallyConsistent)
    case .refusingAll: break
    }
  }

  /// Whether requests are under way that were let in before a stage.
  func hasRequests(before stage: Stage) -> Bool {
    if stage > .serving, begunServing.load(ordering: .sequentiallyConsistent) > 0 { return true }
    return stage > .refusingStarts && begunRefusing.load(ordering: .sequentiallyConsistent) > 0
  }

  /// Keeps the first. At every stage: what the kernel has to write back was taken from a program
  /// that was told it went well.
  func noteWriteBackFailure(_ errno: Errno) {
    writeBackFailure.withLock { if $0 == nil { $0 = errno } }
  }

  // MARK: lookup counts

  /// Counts a lookup, before the answer: the forget may come before the answer's call returns.
  func remember(_ inode: InodeNumber) {
    if !inode.isTag { volume.retain(inode) }
    known.retain(inode)
  }

  func forget(_ inode: InodeNumber, _ count: UInt64) {
    guard inode != .root else { return }
    known.forget(inode, count)
    if !inode.isTag { volume.forget(inode, count: count) }
  }

  func answer(_ reply: consuming Reply, entry attributes: Attributes) {
    remember(attributes.inode)
    if !reply.entry(attributes) { forget(attributes.inode, 1) }
  }
}
