import Foundation
import Testing

/// The rules of ARCHITECTURE.md that a compiler does not check.
@Suite("The order of the house")
struct ArchitectureTests {
  /// What each module may import of the project's own; imports only go down.
  static let layers: [(module: String, mayImport: Set<String>)] = [
    ("LosslessJSON", []),
    ("SQLite", []),
    ("Hashing", []),
    ("Threads", []),
    ("Randomness", []),
    ("Images", []),
    ("WebSocket", ["Hashing"]),
    ("SupabaseAPI", ["LosslessJSON", "WebSocket", "Threads"]),
    ("OfflineEngine", ["SupabaseAPI", "SQLite", "LosslessJSON", "Threads", "Hashing"]),
    ("FileWorkspace", ["OfflineEngine", "SupabaseAPI", "SQLite", "LosslessJSON", "Hashing", "Images", "Threads"]),
    ("Daemon", ["FileWorkspace", "OfflineEngine", "SupabaseAPI", "LosslessJSON", "Threads"]),
    ("StandInServer", ["SQLite", "LosslessJSON", "WebSocket", "Hashing", "Images", "Threads", "Randomness"]),
  ]

  @Test("imports only go down", arguments: layers)
  func importsGoDown(layer: (module: String, mayImport: Set<String>)) {
    let own = Set(SourceFile.all.map(\.module))
    let files = SourceFile.all.filter { $0.module == layer.module }
    #expect(!files.isEmpty)
    for file in files {
      let upward = Set(file.imports).intersection(own).subtracting(layer.mayImport)
      #expect(upward.isEmpty, "\(file.path) imports \(upward.sorted().joined(separator: ", "))")
    }
  }

  @Test("a C library is imported by one module only")
  func libraries() throws {
    let folder = SourceFile.root.appending(path: "Sources").path(percentEncoded: false)
    let libraries = try FileManager.default.contentsOfDirectory(atPath: folder).filter { name in
      FileManager.default.fileExists(atPath: "\(folder)/\(name)/module.modulemap")
    }
    #expect(libraries.count > 5)
    for library in libraries {
      let users = Set(SourceFile.all.filter { $0.imports.contains(library) }.map(\.module))
      #expect(users.count == 1, "\(library) is imported by \(users.sorted())")
    }
  }

  /// The programs for developers are allowed what the shipped one is not.
  private static let tools: Set<String> = ["Benchmarks", "Conformance", "Simulator"]

  @Test("no shipped module needs the whole of Foundation, whose tables double the program")
  func foundation() {
    for file in SourceFile.all where !Self.tools.contains(file.module) {
      #expect(!file.imports.contains("Foundation"), "\(file.path) imports Foundation, not FoundationEssentials")
    }
  }

  /// Effects that come in at construction, the words that have them, and the files that are their place.
  static let effects: [(effect: String, words: [String], places: Set<String>)] = [
    (
      "the time", ["clock_gettime(", "gettimeofday(", "ContinuousClock", "SuspendingClock", "Date()", "time(nil)"],
      ["OfflineEngine/LiveEnvironment.swift", "SupabaseAPI/Realtime/CurlWebSocketOpener.swift"]
    ),
    (
      "chance",
      ["UUID()", ".random(in", "SystemRandomNumberGenerator", "getrandom(", ".shuffled()", ".randomElement()"],
      ["OfflineEngine/LiveEnvironment.swift", "SupabaseAPI/Realtime/CurlWebSocketOpener.swift"]
    ),
    ("a pause", ["Task.sleep(", "usleep(", "nanosleep("], ["OfflineEngine/LiveEnvironment.swift"]),
    (
      "a thread", ["pthread_create(", "DispatchQueue", "Thread("],
      ["Threads/BlockingThread.swift", "FileWorkspace/Watch/InotifyWatcher.swift"]
    ),
    // With the environment's executor a task is part of the run that a seed repeats.
    ("a stray task", ["Task {", "Task(priority", "Task.detached"], []),
    ("the environment or the terminal", ["getenv(", "print(", "exit("], []),
  ]

  @Test("below the command, effects have one place each", arguments: effects)
  func effectsHavePlaces(effect: (effect: String, words: [String], places: Set<String>)) {
    let modules: Set<String> = [
      "Threads", "LosslessJSON", "SQLite", "SupabaseAPI", "OfflineEngine", "FileWorkspace", "Daemon",
    ]
    var places: Set<String> = []
    for file in SourceFile.all where modules.contains(file.module) {
      guard let line = effect.words.lazy.compactMap({ file.line(with: $0) }).first else { continue }
      places.insert(file.path)
      #expect(effect.places.contains(file.path), "\(file.path) uses \(effect.effect): \(line)")
    }
    // A place that is none any more is taken off the list.
    #expect(places == effect.places)
  }

  /// The deciding parts, which a property test can run millions of times.
  static let pure = [
    "FileWorkspace/Reconcile/Reconcile.swift", "FileWorkspace/Merge/TextMerge.swift",
    "FileWorkspace/Merge/RowMerge.swift", "FileWorkspace/Photos/PhotoDecision.swift",
    "OfflineEngine/Replay/PassPlan.swift", "SupabaseAPI/Realtime/RealtimeSession.swift",
    "Daemon/Watch/ExchangePlan.swift",
  ]

  @Test("what decides is pure: it waits for nothing and reaches for nothing", arguments: pure)
  func purity(path: String) throws {
    let file = try #require(SourceFile.all.first { $0.path == path })
    #expect(Set(file.imports).isSubset(of: ["LosslessJSON", "OfflineEngine", "SupabaseAPI"]))
    for word in ["async", "await ", "Mutex", "FileSystem", "Database", "UserEngine"] {
      #expect(file.line(with: word) == nil, "\(path) is not pure")
    }
  }
}
