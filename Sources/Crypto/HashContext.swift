import CCrypto
import Synchronization

/// An OpenSSL context of HMAC-SHA256, EVP_MAC(3).
///
/// It keeps the key used last: a new one costs several times as much as a short message. Except
/// for `holds`, whoever calls has it to himself, see `ThreadContexts`.
@safe
final class HashContext: @unchecked Sendable {
  private let context: OpaquePointer
  /// The key it is ready for; 0 for none. Changes only after the context did.
  private let key = Atomic<UInt64>(0)
  private static let hmac = Algorithm()

  /// Fetched once: a fetch takes locks and compares strings.
  @safe private final class Algorithm: @unchecked Sendable {
    let pointer: OpaquePointer
    /// Whether a context starts again under the key it has. OpenSSL 3.0.0 to 3.0.2 say so and go on
    /// with the message before, which makes wrong hashes (issue 17811).
    let restarts: Bool

    init() {
      guard let hmac = unsafe EVP_MAC_fetch(nil, "HMAC", nil) else {
        preconditionFailure("OpenSSL has HMAC")
      }
      unsafe pointer = hmac
      unsafe restarts = HashContext(hmac).hashesAlikeTwice()
    }
  }

  convenience init() { unsafe self.init(Self.hmac.pointer) }

  @unsafe
  private init(_ hmac: OpaquePointer) {
    guard let new = unsafe EVP_MAC_CTX_new(hmac) else { preconditionFailure("no memory") }
    unsafe context = new
    let name: StaticString = "digest"
    let digest: StaticString = "SHA256"
    // The library reads the value before the call returns.
    let parameters = unsafe [
      OSSL_PARAM_construct_utf8_string(
        UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self),
        UnsafeMutableRawPointer(mutating: digest.utf8Start).assumingMemoryBound(to: CChar.self),
        0),
      OSSL_PARAM_construct_end(),
    ]
    let good = unsafe EVP_MAC_CTX_set_params(context, parameters)
    precondition(good == 1, "HMAC takes SHA-256")
  }

  /// Cleanses, too.
  deinit { unsafe EVP_MAC_CTX_free(context) }

  func holds(_ wanted: UInt64) -> Bool { key.load(ordering: .acquiring) == wanted }

  /// Overwrites a key, or any, and what was computed of it.
  func wipe(_ wanted: UInt64?) {
    if let wanted, !holds(wanted) { return }
    guard !holds(0) else { return }
    let zeros = [UInt8](repeating: 0, count: 32)
    let good = unsafe EVP_MAC_init(context, zeros, zeros.count, nil)
    precondition(good == 1, "a key can be set")
    key.store(0, ordering: .releasing)
  }

  @unsafe
  func digest(
    _ new: UInt64, _ secret: borrowing SecretBytes, _ message: UnsafeRawBufferPointer,
    _ output: UnsafeMutableRawBufferPointer
  ) {
    var good: Int32
    if holds(new), Self.hmac.restarts {
      good = unsafe EVP_MAC_init(context, nil, 0, nil)
    } else {
      good = unsafe secret.bytes.withUnsafeBytes { bytes in
        unsafe EVP_MAC_init(
          context, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count, nil)
      }
      key.store(new, ordering: .releasing)
    }
    if good == 1 { good = unsafe hash(message, output) }
    precondition(good == 1, "HMAC-SHA256 cannot fail")
  }

  /// Hashes a message from the context's start on; 1 if that went well.
  @unsafe
  private func hash(
    _ message: UnsafeRawBufferPointer, _ output: UnsafeMutableRawBufferPointer
  ) -> Int32 {
    var good: Int32 = 1
    if message.count > 0 {
      good = unsafe EVP_MAC_update(
        context, message.baseAddress?.assumingMemoryBound(to: UInt8.self), message.count)
    }
    var length = 0
    if good == 1 {
      good = unsafe EVP_MAC_final(
        context, output.baseAddress?.assumingMemoryBound(to: UInt8.self), &length, output.count)
    }
    return good == 1 && length == 32 ? 1 : 0
  }

  private func hashesAlikeTwice() -> Bool {
    let message = [UInt8](repeating: 1, count: 32)
    var hashes: [[UInt8]] = []
    for key in [message, nil] {
      var hash = [UInt8](repeating: 0, count: 32)
      guard unsafe EVP_MAC_init(context, key, key?.count ?? 0, nil) == 1,
        unsafe message.withUnsafeBytes({ message in
          unsafe hash.withUnsafeMutableBytes { unsafe self.hash(message, $0) }
        }) == 1
      else { return false }
      hashes.append(hash)
    }
    return hashes[0] == hashes[1]
  }
}
