// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [.treatAllWarnings(as: .error)]

/// Exposes what glibc keeps behind a feature macro: `posix_spawn_file_actions_addchdir_np` and its like.
let gnuSource: [CSetting] = [.define("_GNU_SOURCE", .when(platforms: [.linux]))]

/// A layer of the program: it sees those that it names, and nothing above it.
func layer(_ name: String, dependencies: [Target.Dependency]) -> Target {
  .target(
    name: "Serialq\(name)", dependencies: dependencies, path: "Sources/serialq/\(name)",
    cSettings: gnuSource, swiftSettings: strict)
}

let package = Package(
  name: "SerialPromises",
  platforms: [.macOS(.v15), .iOS(.v18)],
  products: [
    .library(name: "SerialPromises", targets: ["SerialPromises"]),
    .executable(name: "serialq", targets: ["serialq"]),
  ],
  targets: [
    .target(name: "SerialPromises", swiftSettings: strict),
    layer("System", dependencies: []),
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
      sources: ["main.swift"],
      swiftSettings: strict
    ),
    .target(name: "TestSupport", path: "Tests/TestSupport", swiftSettings: strict),
    .testTarget(
      name: "SerialPromisesTests",
      dependencies: ["SerialPromises", "TestSupport"],
      swiftSettings: strict
    ),
    .testTarget(
      name: "serialqTests",
      dependencies: [
        "serialq", "SerialqCLI", "SerialqWatch", "SerialqRunner", "SerialqQueue", "SerialqSystem",
        "SerialPromises",
        "TestSupport",
      ],
      exclude: ["Snapshots", "Faults/faults.c", "System/Kqueue"],
      cSettings: gnuSource,
      swiftSettings: strict
    ),
    // A user's app: its code belongs to the main actor, unless it says otherwise.
    .testTarget(
      name: "MainActorTests",
      dependencies: ["SerialPromises"],
      swiftSettings: strict + [
        .defaultIsolation(MainActor.self),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
      ]
    ),
    .executableTarget(
      name: "Benchmarks",
      dependencies: ["SerialPromises"],
      path: "Tests/Benchmarks",
      cSettings: gnuSource,
      swiftSettings: strict
    ),
  ],
  swiftLanguageModes: [.v6]
)
