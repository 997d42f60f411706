import Bytes
import Glibc
import POSIX
import TestKit
import Testing

@testable import Crypto

@Suite struct RandomTests {
  @Test func anIVIsNeverGivenTwice() throws {
    let all = Lock<[IV]>([])
    let threads = try (0..<4).map { (_: Int) throws(Errno) in
      try Thread.start("ivs") {
        let mine = (0..<25000).map { _ in Random.iv() }
        all.withLock { $0 += mine }
      }
    }
    for thread in threads { thread.join() }
    let ivs = all.withLock { $0 }
    #expect(ivs.count == 100_000)
    #expect(Set(ivs).count == 100_000)
  }

  @Test func aWipedPoolGivesNoZeros() {
    _ = Random.iv()
    Random.wipePool()
    let iv = Random.iv()
    #expect(iv != IV(high: 0, low: 0))
  }

  @Test func randomBytesDiffer() {
    let values = (0..<1000).map { _ in Random.bytes(16) }
    #expect(Set(values).count == 1000)
    #expect(values.allSatisfy { $0.count == 16 })
    #expect(Random.bytes(0) == [])
    #expect(Set((0..<1000).map { _ in Random.uint64() }).count == 1000)
  }

  /// Every bit is set about half of the time: far off what chance allows means a broken generator.
  @Test func noBitIsStuck() {
    var counts = [Int](repeating: 0, count: 96)
    for _ in 0..<4000 {
      let iv = Random.iv()
      for bit in 0..<64 { counts[bit] += Int(iv.high >> UInt64(bit) & 1) }
      for bit in 0..<32 { counts[64 + bit] += Int(iv.low >> UInt32(bit) & 1) }
    }
    // Ten standard deviations, so that this never fails by chance.
    #expect(counts.allSatisfy { abs($0 - 2000) < 320 })
  }
}

@Suite struct IVPoolTests {
  @Test func aWipedPoolIsEmpty() {
    var pool = IVPool()
    let first = pool.next()
    #expect(pool.count == IVPool.capacity - 1)
    pool.wipe()
    #expect(pool.count == 0)
    #expect(pool.next() != first)
    #expect(pool.count == IVPool.capacity - 1)
  }

  @Test func theLastIVIsFollowedByNewOnes() {
    var pool = IVPool()
    var ivs: [IV] = []
    for _ in 0..<2 {
      repeat { ivs.append(pool.next()) } while pool.count > 0
    }
    #expect(ivs.count >= 2 * IVPool.capacity)
    #expect(Set(ivs).count == ivs.count)
  }

  @Test func whatIsOlderThanASecondIsDropped() {
    var pool = IVPool()
    _ = pool.next()
    _ = pool.next()
    Clock.sleep(nanoseconds: IVPool.lifetime + 1_000_000)
    _ = pool.next()
    #expect(pool.count == IVPool.capacity - 1)
  }

  @Test func aForkFindsAnEmptyPool() {
    // Swift hides fork(2); nothing of Coffre calls it, but a library might.
    typealias Fork = @convention(c) () -> pid_t
    let fork = unsafe unsafeBitCast(dlsym(nil, "fork"), to: Fork.self)
    var pool = IVPool()
    _ = pool.next()
    let child = fork()
    if child == 0 { _exit(pool.count == 0 ? 0 : 1) }
    var status: Int32 = -1
    let ended = unsafe waitpid(child, &status, 0)
    #expect(ended == child && status == 0)
    #expect(pool.count == IVPool.capacity - 1)
  }

  /// Locked, not dumped and wiped on fork, as the kernel tells it; a process of its own has no
  /// other pool.
  @Test func thePoolLiesInLockedMemoryAndIsWiped() async {
    await #expect(processExitsWith: .success) {
      // The sanitizers turn mlock(2) off.
      let flags: Set<Substring> =
        try OwnMemory.hasSanitizer() ? ["dd", "wf"] : ["lo", "dd", "wf"]
      func isLocked(_ mapping: OwnMemory.Mapping) -> Bool { mapping.flags.isSuperset(of: flags) }
      let before = try OwnMemory.filledPages(where: isLocked)
      _ = Random.iv()
      #expect(try OwnMemory.filledPages(where: isLocked) == before + 4)
      Random.wipePool()
      #expect(try OwnMemory.filledPages(where: isLocked) == before)
    }
  }
}

@Suite struct HashTests {
  /// FIPS 180-4's example.
  @Test func sha256IsThatOfTheStandard() {
    let message = Buffer(Array("abc".utf8))
    #expect(
      hex(Hash.sha256(message.bytes))
        == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    let none = Buffer(count: 0)
    #expect(
      hex(Hash.sha256(none.bytes))
        == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
  }

  /// RFC 4231, 4.2 and 4.3.
  @Test func hmacIsThatOfTheRFC() {
    let one = Buffer(Array("Hi There".utf8))
    #expect(
      hex(Hash.hmacSHA256(key: secret([UInt8](repeating: 0x0b, count: 20)), one.bytes))
        == "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7")
    let two = Buffer(Array("what do ya want for nothing?".utf8))
    #expect(
      hex(Hash.hmacSHA256(key: secret(Array("Jefe".utf8)), two.bytes))
        == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
  }

  /// Directories on disk depend on it: it may never change.
  @Test func theKeyedHashIsStable() {
    let hash = KeyedHash(key: secret([UInt8](repeating: 0x0b, count: 20)))
    // The first eight bytes of RFC 4231's first digest, little-endian.
    #expect(hash.hash(Array("Hi There".utf8)) == 0x5338_dbd8_614c_34b0)
    #expect(hash.hash([]) == hash.hash([]))
    let other = KeyedHash(key: secret([UInt8](repeating: 0x0c, count: 20)))
    #expect(hash.hash([]) != other.hash([]))
  }
}
