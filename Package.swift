// swift-tools-version: 6.2
import PackageDescription

// Warnings are errors in CI only (`.ci/run`): a newer compiler, with new warnings, must not break
// the build of a package that depends on this one.

/// Exposes what glibc keeps behind a feature macro: `posix_spawn_file_actions_addchdir_np` and its
/// like.
let gnuSource: [CSetting] = [.define("_GNU_SOURCE", .when(platforms: [.linux]))]

/// A layer of the program: it sees those that it names, and nothing above it.
func layer(_ name: String, dependencies: [Target.Dependency]) -> Target {
  .target(
    name: "Serialq\(name)", dependencies: dependencies, path: "Sources/serialq/\(name)",
    cSettings: gnuSource)
}

let package = Package(
  name: "SerialPromises",
  // The first with `Clock`. `.ci/apple` type-checks for the first two.
  platforms: [.macOS(.v13), .iOS(.v16), .tvOS(.v16), .watchOS(.v9), .visionOS(.v1)],
  products: [
    .library(name: "SerialPromises", targets: ["SerialPromises"]),
    .executable(name: "serialq", targets: ["serialq"]),
  ],
  targets: [
    .target(name: "SerialPromises"),
    layer("System", dependencies: ["SerialPromises"]),
    layer("Queue", dependencies: ["SerialqSystem"]),
    layer("Runner", dependencies: ["SerialqQueue", "SerialqSystem", "SerialPromises"]),
    layer(
      "Watch", dependencies: ["SerialqRunner", "SerialqQueue", "SerialqSystem", "SerialPromises"]),
    layer(
      "CLI",
      dependencies: [
        "SerialqWatch", "SerialqRunner", "SerialqQueue", "SerialqSystem", "SerialPromises",
      ]),
    .executableTarget(
      name: "serialq",
      dependencies: ["SerialqCLI"],
      path: "Sources/serialq",
      exclude: ["System", "Queue", "Runner", "Watch", "CLI", "Launchers"],
      sources: ["main.swift"]
    ),
    .target(
      name: "TestSupport", dependencies: ["SerialPromises"], path: "Tests/TestSupport"),
    .testTarget(
      name: "SerialPromisesTests",
      dependencies: ["SerialPromises", "TestSupport"]
    ),
    .testTarget(
      name: "serialqTests",
      dependencies: [
        "serialq", "SerialqCLI", "SerialqWatch", "SerialqRunner", "SerialqQueue", "SerialqSystem",
        "SerialPromises",
        "TestSupport",
      ],
      exclude: ["Snapshots", "Transcripts", "Faults/faults.c", "System/Kqueue"],
      cSettings: gnuSource
    ),
    // A user's app: its code belongs to the main actor, unless it says otherwise.
    .testTarget(
      name: "MainActorTests",
      dependencies: ["SerialPromises"],
      swiftSettings: [
        .defaultIsolation(MainActor.self),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
      ]
    ),
    .executableTarget(
      name: "Benchmarks",
      dependencies: ["SerialPromises"],
      path: "Tests/Benchmarks",
      cSettings: gnuSource
    ),
  ],
  swiftLanguageModes: [.v6]
)
