import LosslessJSON
import OfflineEngine
import StandInServer
import Testing

@testable import FileWorkspace

@Suite("A process that dies in a command")
struct CommandCrashTests {
  enum Command: String, CaseIterable, CustomTestStringConvertible {
    case keepTheirs, keepMine, keepMerged, keepTheirsOfDelete, keepDelete, undo, restore
    var testDescription: String { rawValue }

    /// What both texts of the row's notes are in the end; nil where the row is gone.
    var notes: String? {
      switch self {
      case .keepTheirs, .keepTheirsOfDelete: "theirs"
      case .keepMine: "mine"
      case .keepMerged: "merged"
      case .keepDelete: nil
      case .undo, .restore: "before"
      }
    }
  }

  enum Death: String, CaseIterable, CustomTestStringConvertible {
    case kill, killAfter, commit
    var testDescription: String { rawValue }
  }

  private let path = "tasks/milk.json"

  /// A workspace in which the command has something to do.
  private func world(for command: Command, number: Int, on server: Project) async throws -> (TaskWorld, Replica) {
    let world = try await TaskWorld(
      server: server.standIn, server.clock, number: number, [task(number, "Milk", notes: "before")])
    let replica = try world.replica()
    try await replica.settle()
    switch command {
    case .keepTheirs, .keepMine, .keepMerged:
      try replica.edit("milk.json", ["notes": "mine"])
      world.update(key(number), ["notes": "theirs"])
    case .keepTheirsOfDelete, .keepDelete:
      try replica.remove("milk.json")
      world.update(key(number), ["notes": "theirs"])
    case .undo: world.update(key(number), ["notes": "theirs"])
    case .restore: world.delete(key(number))
    }
    try await replica.sync()
    return (world, replica)
  }

  private struct Project {
    let clock = VirtualClock()
    let standIn: StandIn

    init() throws { standIn = try TaskWorld.project(clock) }
  }

  private func run(_ command: Command, _ replica: Replica) async throws {
    let workspace = replica.workspace
    _ = try await workspace.start()
    switch command {
    case .keepTheirs, .keepTheirsOfDelete: _ = try await workspace.resolve(.path(path), keepsMine: false)
    case .keepMine, .keepDelete: _ = try await workspace.resolve(.path(path), keepsMine: true)
    case .keepMerged:
      let merged = MergedText(#"{"title": "Milk", "notes": "merged"}"#, name: "merged")
      _ = try await workspace.resolve(.path(path), with: merged)
    case .undo: _ = try await workspace.undo()
    case .restore: _ = try await workspace.restore(path, path: nil)
    }
    try await workspace.seeWrittenFiles()
  }

  /// Whether the command was done, as far as a person can tell, who gives it again where it was not.
  private func isDone(_ command: Command, _ replica: Replica) throws -> Bool {
    switch command {
    case .keepTheirs, .keepMine, .keepMerged, .keepTheirsOfDelete, .keepDelete: try replica.conflicts.isEmpty
    case .undo, .restore: replica.json("milk.json")?["notes"] == "before"
    }
  }

  @Test(
    "at any effect leaves it done or to be done again, and nothing of it behind", arguments: Command.allCases,
    Death.allCases)
  func atAnyEffect(command: Command, death: Death) async throws {
    let server = try Project()
    // Of the operations on files some in each run, of the few commits all.
    let step = death == .commit ? 1 : max(1, 16 / testEffort)
    var number = 1 + (Command.allCases.firstIndex(of: command) ?? 0) % step
    while true {
      let (world, replica) = try await world(for: command, number: number, on: server)
      switch death {
      case .kill: replica.files.plan(.stop, atOperation: replica.files.operationCount + number)
      case .killAfter: replica.files.plan(.stopAfter, atOperation: replica.files.operationCount + number)
      case .commit: replica.commits.plan(last: number - 1)
      }
      _ = try? await run(command, replica)
      let hasDied = replica.files.isStopped
      try replica.restart()
      try await replica.settle()
      if try !isDone(command, replica) {
        try await run(command, replica)
        try await replica.settle()
      }
      let what = "\(death) at effect \(number)"
      let rows = Array(world.rows.values)
      #expect(rows.map { $0["notes"] } == (command.notes.map { [.string($0)] } ?? []), "\(what)")
      #expect(replica.names == (command.notes == nil ? [] : ["milk.json"]), "\(what)")
      #expect(replica.json("milk.json")?["notes"] == command.notes.map(JSONValue.string), "\(what)")
      #expect(try replica.queue.isEmpty && replica.conflicts.isEmpty && replica.problems.isEmpty, "\(what)")
      if command.notes != "mine", [.keepTheirs, .keepMerged].contains(command) {
        #expect(replica.trash.contains { $0.contains("\"mine\"") }, "\(what)")
      }
      guard hasDied else { break }
      number += step
    }
    #expect(number > step, "the command has more effects than that")
  }
}
