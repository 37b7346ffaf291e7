import Daemon
import FileWorkspace
import LosslessJSON
import OfflineEngine

/// The command `tidemark photos get PATH…`.
struct PhotosGetCommand: Command {
  static let description = CommandDescription(
    name: "photos get", parameters: "PATH…", summary: "Fetch photos that are on the server only.",
    discussion: """
      PATH is where the photo would lie, or a folder for all of its photos. The command ends when they are there; a photo
      that was fetched stays here.
      """, options: [.flag("--all", "Fetch every photo.")], positionalMax: 10_000)

  private let words: [String]

  init(_ arguments: Arguments) throws(UsageError) {
    words = arguments.positional
    guard words.isEmpty == arguments.has("--all") else {
      throw UsageError(
        message: words.isEmpty ? "the photo's path is missing, or '--all'" : "'--all' and a path exclude each other")
    }
  }

  func run(in context: CommandContext) async throws -> ExitStatus {
    let desk = try PhotoDesk(context)
    let paths = try words.map { try context.path($0, in: desk.workspace) }
    let isMeant = { (photo: ListedPhoto) in
      paths.isEmpty
        || paths.contains { photo.path == $0 || WorkspacePath.folder(of: photo.path) == $0 }
    }
    let before = try desk.photos().filter(isMeant)
    _ = try await context.ask(ControlRequest("photos-get", ["paths": .array(paths.map(JSONValue.string))]))
    try await fetch(desk, context, isMeant)
    let missing = Set(before.filter { $0.state == .server || $0.state == .expected || $0.state == .failed }.map(\.path))
    let after = try desk.photos().filter { isMeant($0) && missing.contains($0.path) }
    let left = after.filter { $0.state != .same && $0.state != .waiting }
    if context.terminal.isJSON {
      context.terminal.print(["photos": .array(after.map { .object($0.json) })])
    } else {
      context.terminal.print(lines: PhotoLines.lines(after))
    }
    return left.isEmpty ? .success : left.contains { $0.state == .failed } ? .needsPerson : .waiting
  }

  /// Waits for a running watcher to fetch them, or fetches them in this process.
  private func fetch(
    _ desk: PhotoDesk, _ context: CommandContext, _ isMeant: (ListedPhoto) -> Bool
  ) async throws {
    guard try desk.status().isWatching else {
      _ = try await context.ask(ControlRequest("sync"))
      return
    }
    // A photo whose try has failed waits for the next one, and none comes without a network: that is told, not waited for.
    while try desk.photos().contains(where: {
      isMeant($0) && ($0.state == .downloading || $0.state == .expected && $0.reason == nil)
    }) {
      let status = try desk.status()
      if !status.isWatching || status.lastError != nil || status.network == NetworkStatus.disabled.rawValue { return }
      try await LiveClock().sleep(for: .milliseconds(200))
    }
  }
}
