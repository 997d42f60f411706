// swift-tools-version: 6.2
import PackageDescription

/// The store without what is above it: each mutation is built, so that what no test of it needs is
/// left out. `scripts/mutations` puts this in the place of the package's own manifest.
let strict: [SwiftSetting] = [
  .strictMemorySafety(),
  .enableExperimentalFeature("Lifetimes"),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

func module(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: strict)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .testTarget(
    name: name, dependencies: dependencies + ["TestKit"], path: "Tests/\(name)",
    swiftSettings: strict)
}

let package = Package(
  name: "coffre",
  targets: [
    .systemLibrary(name: "CCrypto", pkgConfig: "libcrypto"),
    .systemLibrary(name: "CArgon2", pkgConfig: "libargon2"),
    .target(name: "CSystem"),
    module("Bytes"),
    module("POSIX", ["Bytes", "CSystem"]),
    module("Crypto", ["POSIX", "Bytes", "CCrypto", "CArgon2", "CSystem"]),
    module("Format", ["Bytes"]),
    module("Disk", ["POSIX", "Bytes"]),
    module("Engine", ["Disk", "Format", "Crypto", "POSIX", "Bytes"]),
    module("Volume", ["Engine", "Disk", "Format", "Crypto", "POSIX", "Bytes"]),
    .target(
      name: "TestKit",
      dependencies: ["Volume", "Engine", "Disk", "Format", "Crypto", "POSIX", "Bytes"],
      path: "Tests/TestKit", swiftSettings: strict),
    tests("EngineTests", ["Engine", "Disk", "Format", "Crypto", "POSIX", "Bytes"]),
    tests("VolumeTests", ["Volume", "Engine", "Disk", "Format", "Crypto", "POSIX", "Bytes"]),
  ],
  swiftLanguageModes: [.v6]
)
