import POSIX

/// libFuzzer's entry for each input. `COFFRE_FUZZ_TARGET` says which decoder gets it.
@c(LLVMFuzzerTestOneInput)
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
  target.run(unsafe [UInt8](UnsafeBufferPointer(start: start, count: count)))
  return 0
}

private typealias Words = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>

@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
  _ count: UnsafeMutablePointer<Int32>, _ words: UnsafeMutablePointer<Words>,
  _ body: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
) -> Int32

/// The program's beginning, under the name that the package manager gives it.
@c(fuzz_main)
public func fuzzMain(
  _ count: Int32, _ words: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
) -> Int32 {
  var (count, words) = unsafe (count, words)
  return unsafe runDriver(&count, &words, fuzzOneInput)
}

private let target: FuzzTarget = {
  let name = System.environment("COFFRE_FUZZ_TARGET") ?? ""
  guard let target = FuzzTarget(rawValue: name) else { preconditionFailure("no target \(name)") }
  return target
}()
