import Foundation
import Testing

@Suite("A watcher that runs for long", .timeLimit(.minutes(90)))
struct SoakTests {
  /// For how long: a few rounds in every run, an hour by `make soak`.
  private static let seconds = ProcessInfo.processInfo.environment["TIDEMARK_SOAK_SECONDS"].flatMap { Double($0) } ?? 0
  private static let fewestRounds = 40

  /// What a process and its state take.
  private struct Size: CustomStringConvertible {
    var kilobytes: Int
    var descriptors: Int
    var databaseBytes: Int

    init(_ program: Program, _ replica: Replica) throws {
      let status = try String(contentsOfFile: "/proc/\(program.processID)/status", encoding: .utf8)
      let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") })
      kilobytes = try #require(line.split(separator: " ").dropFirst().first.flatMap { Int($0) })
      descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(program.processID)/fd").count
      databaseBytes = ["state.sqlite", "state.sqlite-wal"].reduce(0) { sum, name in
        let found = try? FileManager.default.attributesOfItem(atPath: "\(replica.path)/.tidemark/\(name)")
        return sum + (found?[.size] as? Int ?? 0)
      }
    }

    var description: String {
      "\(kilobytes) kB of memory, \(descriptors) descriptors, a state of \(databaseBytes) bytes"
    }
  }

  private static let fileCount = 20

  @Test("takes no more memory, descriptors or disk after many edits, conflicts and cut connections than after a few")
  func staysFlat() async throws {
    let site = try await Site()
    let (a, b) = try await site.replicas()
    for number in 0..<Self.fileCount { try a.write("tasks/task-\(number).json", #"{"title": "task-\#(number)"}"#) }
    for replica in [a, b] { try await replica.converge() }
    let names = try a.tasks()
    try #require(names.count == Self.fileCount)
    let watchers = [try await a.watch(), try await b.watch()]
    let start = ContinuousClock.now
    var round = 0
    var sizes: [[Size]] = []
    while round < Self.fewestRounds || ContinuousClock.now - start < .seconds(Self.seconds) {
      try await liveRound(round, site, a, watchers, names)
      round += 1
      if round % 10 == 0 { sizes.append([try Size(watchers[0], a), try Size(watchers[1], b)]) }
    }
    let told = [(0, "at first"), (sizes.count / 4, "after a quarter"), (sizes.count - 1, "at last")]
    print("\(round) rounds: \(told.map { "\(sizes[$0.0]) \($0.1)" }.joined(separator: ", "))")
    for replica in 0..<2 {
      // What caches, statements and pages of memory come to is there after the first part.
      let settled = sizes[sizes.count / 4][replica]
      let last = sizes[sizes.count - 1][replica]
      #expect(last.kilobytes < settled.kilobytes + max(settled.kilobytes / 5, 8_192), "\(sizes)")
      #expect(last.descriptors <= settled.descriptors + 4, "\(sizes)")
      #expect(last.databaseBytes < settled.databaseBytes * 2 + (1 << 20), "\(sizes)")
    }
    for watcher in watchers { #expect(await watcher.stop().status == 0) }
  }

  /// One edit of one replica that the other gets, and now and then a new file, its end, and a cut connection.
  private func liveRound(
    _ round: Int, _ site: Site, _ a: Replica, _ watchers: [Program], _ names: [String]
  ) async throws {
    let name = names[round % names.count]
    let places = watchers.map(\.lineCount)
    try a.edit("tasks/\(name)") { $0["notes"] = "round \(round)" }
    try await watchers[0].line(with: "edited", name, from: places[0])
    try await watchers[1].line(with: "written", name, from: places[1])
    if round % 5 == 3 {
      let added = "added-\(round)"
      try a.write("tasks/\(added).json", #"{"title": "\#(added)"}"#)
      try await watchers[1].line(with: "written", added, from: places[1])
      try a.remove("tasks/\(added).json")
    }
    if round % 7 == 5 { try await site.misbehave(#"[{"kind": "dropAfter"}, {"kind": "realtimeDisconnect"}]"#) }
  }
}
