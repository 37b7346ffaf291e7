// swift-tools-version: 6.2
import PackageDescription

/// Every target speaks Swift 6 and treats warnings as errors, so that a warning cannot land unseen.
let strict: [SwiftSetting] = [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)]

/// What `tidemark init` lays down, compiled into the program: a single binary has no folder to look for it in.
///
/// The names differ in all folders, since an embedded file is known by its last name alone.
let templates: [Resource] = [
  "gitignore", "gitattributes",
  "tasks-and-photos/tidemark.json", "tasks-and-photos/schema.sql", "tasks-and-photos/schema.json",
  "contacts/contacts-tidemark.json", "contacts/contacts-schema.sql", "contacts/contacts-schema.json",
].map { .embedInCode("../../Templates/\($0)") }

let package = Package(
  name: "tidemark",
  products: [
    .executable(name: "tidemark", targets: ["tidemark"]),
    .library(name: "OfflineEngine", targets: ["OfflineEngine", "SupabaseAPI"]),
    .library(name: "FileWorkspace", targets: ["FileWorkspace"]),
  ],
  targets: [
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
    .systemLibrary(name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CCrypt", pkgConfig: "libxcrypt", providers: [.apt(["libcrypt-dev"])]),
    .systemLibrary(name: "CMicrohttpd", pkgConfig: "libmicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
    .systemLibrary(name: "CWslay", providers: [.apt(["libwslay-dev"])]),
    // Loaded at run time, so without link flags: see its header.
    .systemLibrary(name: "CVips", providers: [.apt(["libvips42"])]),
    .systemLibrary(name: "CMagic", providers: [.apt(["libmagic-dev"])]),
    .systemLibrary(name: "CInotifyTools", providers: [.apt(["libinotifytools0-dev"])]),

    .target(name: "Images", dependencies: ["CVips", "CMagic"], swiftSettings: strict),
    .target(name: "LosslessJSON", swiftSettings: strict),
    .target(name: "SQLite", dependencies: ["CSQLite"], swiftSettings: strict),
    .target(name: "Hashing", dependencies: ["CCrypto"], swiftSettings: strict),
    .target(name: "Threads", swiftSettings: strict),
    .target(name: "Randomness", swiftSettings: strict),
    .target(name: "WebSocket", dependencies: ["CWslay", "Hashing"], swiftSettings: strict),
    .target(
      name: "SupabaseAPI", dependencies: ["CCurl", "LosslessJSON", "WebSocket", "Threads"], swiftSettings: strict),
    .target(
      name: "OfflineEngine", dependencies: ["SupabaseAPI", "SQLite", "LosslessJSON", "Threads", "Hashing"],
      swiftSettings: strict),
    .target(
      name: "FileWorkspace", dependencies: ["OfflineEngine", "CInotifyTools", "Hashing", "Images", "Threads"],
      resources: templates, swiftSettings: strict),
    .target(
      name: "StandInServer",
      dependencies: [
        "SQLite", "LosslessJSON", "CMicrohttpd", "CCrypt", "Hashing", "WebSocket", "Images", "Threads", "Randomness",
      ],
      resources: [.embedInCode("../../Templates/tasks-and-photos/schema.json")], swiftSettings: strict),
    .target(name: "Daemon", dependencies: ["FileWorkspace", "Threads"], swiftSettings: strict),
    .executableTarget(
      name: "tidemark", dependencies: ["Daemon", "FileWorkspace", "StandInServer", "Images"], swiftSettings: strict),
    .executableTarget(
      name: "tidemark-bench",
      dependencies: ["OfflineEngine", "SupabaseAPI", "StandInServer", "SQLite", "LosslessJSON", "Randomness"],
      path: "Sources/Benchmarks",
      swiftSettings: strict),

    .executableTarget(
      name: "tidemark-sim",
      dependencies: ["Daemon", "FileWorkspace", "OfflineEngine", "StandInServer", "SQLite", "Hashing", "Randomness"],
      path: "Sources/Simulator", swiftSettings: strict),

    .executableTarget(
      name: "tidemark-fuzz",
      dependencies: [
        "FileWorkspace", "StandInServer", "SupabaseAPI", "LosslessJSON", "WebSocket", "Images", "Randomness",
      ],
      path: "Sources/Fuzzing", swiftSettings: strict),

    .executableTarget(
      name: "tidemark-conformance", dependencies: ["StandInServer", "LosslessJSON"], path: "Sources/Conformance",
      swiftSettings: strict),

    .executableTarget(
      name: "offline-tasks", dependencies: ["OfflineEngine", "SupabaseAPI"], path: "Examples/OfflineTasks",
      swiftSettings: strict),

    .testTarget(name: "TidyTests", swiftSettings: strict),
    .testTarget(name: "LosslessJSONTests", dependencies: ["LosslessJSON", "Randomness"], swiftSettings: strict),
    .testTarget(name: "WebSocketTests", dependencies: ["WebSocket"], swiftSettings: strict),
    .testTarget(
      name: "ImagesTests", dependencies: ["Images", "Randomness"], exclude: ["Fixtures"], swiftSettings: strict),
    .testTarget(name: "SQLiteTests", dependencies: ["SQLite"], swiftSettings: strict),
    .testTarget(
      name: "SupabaseAPITests", dependencies: ["SupabaseAPI", "WebSocket"], exclude: ["Goldens", "Fixtures"],
      swiftSettings: strict),
    .testTarget(
      name: "OfflineEngineTests", dependencies: ["OfflineEngine", "StandInServer", "SQLite", "Randomness"],
      exclude: ["Goldens"], swiftSettings: strict),
    .testTarget(
      name: "FileWorkspaceTests", dependencies: ["FileWorkspace", "StandInServer", "Randomness"], swiftSettings: strict),
    .testTarget(
      name: "StandInServerTests", dependencies: ["StandInServer", "Images", "Randomness", "tidemark-conformance"],
      exclude: ["Conformance"],
      swiftSettings: strict),
    .testTarget(name: "DaemonTests", dependencies: ["Daemon"], swiftSettings: strict),
    .testTarget(name: "TidemarkTests", dependencies: ["tidemark"], exclude: ["Goldens"], swiftSettings: strict),
    .testTarget(
      name: "SimulatorTests", dependencies: ["tidemark-sim"], exclude: ["Days"], swiftSettings: strict),
    .testTarget(name: "FuzzingTests", dependencies: ["tidemark-fuzz"], exclude: ["Corpus"], swiftSettings: strict),
    .testTarget(
      name: "EndToEndTests", dependencies: ["tidemark", "offline-tasks", "tidemark-conformance"], swiftSettings: strict),
  ]
)
