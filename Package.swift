// swift-tools-version: 6.2
import PackageDescription

/// Every Swift target is strict: memory safety is checked, a warning is an error.
let strict: [SwiftSetting] = [
  .strictMemorySafety(),
  .treatAllWarnings(as: .error),
  .enableExperimentalFeature("Lifetimes"),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

func module(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: strict)
}

func tests(
  _ name: String, _ dependencies: [Target.Dependency], excluding: [String] = []
) -> Target {
  .testTarget(
    name: name, dependencies: dependencies + ["TestKit"], path: "Tests/\(name)",
    exclude: excluding, swiftSettings: strict)
}

/// What fuzzing needs: the decoders under a test that plays every corpus, or under libFuzzer. The
/// latter is built by scripts/fuzz alone.
let fuzzed: [Target.Dependency] = [
  "CommandLineTool", "Session", "Volume", "Engine", "Disk", "Format", "Crypto", "POSIX", "Bytes",
  "TestKit",
]
let fuzzing: Target =
  Context.environment["COFFRE_FUZZ"] == nil
  ? .testTarget(
    name: "FuzzTests", dependencies: fuzzed, path: "Fuzz", exclude: ["Driver.swift", "Corpus"],
    swiftSettings: strict)
  : .executableTarget(
    name: "fuzz", dependencies: fuzzed, path: "Fuzz", exclude: ["CorpusTests.swift", "Corpus"],
    swiftSettings: strict)

let package = Package(
  name: "coffre",
  products: [
    .executable(name: "coffre", targets: ["coffre"]),
    .library(name: "CoffreVolume", targets: ["Vault", "Volume", "Engine", "Disk"]),
  ],
  targets: [
    // C libraries, each a Debian package found through pkg-config.
    .systemLibrary(name: "CFuse3", pkgConfig: "fuse3", providers: [.apt(["libfuse3-dev"])]),
    .systemLibrary(name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CArgon2", pkgConfig: "libargon2", providers: [.apt(["libargon2-dev"])]),
    // What Swift cannot import: variadic calls, _GNU_SOURCE names, thread-local slots, functions
    // found at run time.
    .target(name: "CSystem"),

    // Each module imports only modules above it.
    module("Bytes"),
    module("POSIX", ["Bytes", "CSystem"]),
    module("Bus", ["POSIX", "CSystem"]),
    module("Crypto", ["POSIX", "Bytes", "CCrypto", "CArgon2", "CSystem"]),
    module("Format", ["Bytes"]),
    module("Disk", ["POSIX", "Bytes"]),
    module("Engine", ["Disk", "Format", "Crypto", "POSIX", "Bytes"]),
    module("Volume", ["Engine", "Disk", "Format", "Crypto", "POSIX", "Bytes"]),
    module("Vault", ["Volume", "Engine", "Disk", "Format", "Crypto", "POSIX", "Bytes"]),
    module("FileTree", ["Volume", "POSIX", "Bytes"]),
    module("FuseBridge", ["Volume", "POSIX", "Bytes", "CFuse3", "CSystem"]),
    module(
      "Session",
      ["FuseBridge", "FileTree", "Vault", "Volume", "Format", "Crypto", "Bus", "POSIX", "Bytes"]),
    module(
      "CommandLineTool",
      ["Session", "FileTree", "Vault", "Volume", "Format", "Crypto", "POSIX", "Bytes"]),
    .executableTarget(name: "coffre", dependencies: ["CommandLineTool"], swiftSettings: strict),

    // Engine calls without FUSE, measured: `swift run -c release bench-engine FOLDER`.
    module("BenchEngine", ["Volume", "Engine", "Disk", "Crypto", "POSIX", "Bytes"]),
    .executableTarget(
      name: "bench-engine", dependencies: ["BenchEngine"], swiftSettings: strict),

    .target(
      name: "TestKit",
      dependencies: ["Volume", "Engine", "Disk", "Format", "Crypto", "POSIX", "Bytes"],
      path: "Tests/TestKit", swiftSettings: strict),
    tests("BytesTests", ["Bytes"]),
    tests("POSIXTests", ["POSIX", "Bytes"]),
    tests("BusTests", ["Bus", "POSIX"]),
    tests("CryptoTests", ["Crypto", "POSIX", "Bytes"]),
    tests("FormatTests", ["Format", "Bytes"]),
    tests("DiskTests", ["Disk", "POSIX", "Bytes"]),
    tests("EngineTests", ["Engine", "Disk", "Format", "Crypto", "POSIX", "Bytes"]),
    tests("VolumeTests", ["Volume", "Engine", "Disk", "Format", "Crypto", "POSIX", "Bytes"]),
    tests(
      "FileTreeTests", ["FileTree", "Volume", "Engine", "Disk", "Crypto", "POSIX", "Bytes"]),
    tests(
      "CommandLineToolTests",
      [
        "CommandLineTool", "Session", "FuseBridge", "FileTree", "Vault", "Volume", "Engine", "Disk",
        "Format", "Crypto", "Bus", "POSIX", "Bytes",
      ]),
    tests(
      "TamperTests",
      ["Vault", "Volume", "Engine", "Disk", "Format", "Crypto", "POSIX", "Bytes"]),
    tests("MountTests", ["Vault", "Crypto", "POSIX", "Bytes"], excluding: ["Checks"]),
    tests("TidyTests", ["POSIX", "Bytes"]),
    fuzzing,
  ],
  swiftLanguageModes: [.v6]
)
