import Daemon
import LosslessJSON

/// The command `tidemark sync`.
struct SyncCommand: Command {
  static let description = CommandDescription(
    name: "sync", summary: "Do one whole pass: scan the files, send what waits, fetch what changed, write it back.",
    discussion: "Where a watcher runs, it does the pass.",
    options: [
      .flag("--dry-run", "Show what would be sent and written, and change nothing on the disk or the server.")
    ])

  private let isDryRun: Bool

  init(_ arguments: Arguments) throws(UsageError) { isDryRun = arguments.has("--dry-run") }

  func run(in context: CommandContext) async throws -> ExitStatus {
    if isDryRun {
      let world = World(context.environment)
      let run = try await DryRun.play(try context.workspaceFolder(), environment: world.environment)
      return Self.report(run, context.terminal)
    }
    return try await Self.sync(in: context, request: ControlRequest("sync"))
  }

  /// A sync by the running watcher, or by this process.
  static func sync(in context: CommandContext, request: ControlRequest) async throws -> ExitStatus {
    report(SyncResult(wireJSON: try await context.ask(request)), context.terminal)
  }

  private static func report(_ run: DryRun, _ terminal: Terminal) -> ExitStatus {
    if terminal.isJSON {
      terminal.print(.object(run.json))
    } else {
      terminal.print(lines: run.events.map { Terminal.safe(EventLine.text($0)) })
      for write in run.sends {
        let meets = write.meetsChange ? "; the row has changed on the server: it merges, or becomes a conflict" : ""
        let columns = write.columns.isEmpty ? "" : "  \(write.columns.joined(separator: ", "))"
        terminal.print(
          Terminal.safe("send".padding(to: 9) + "\(write.operation.lowercased()) \(write.path)\(columns)\(meets)"))
      }
      terminal.print(run.isQuiet ? "a sync would change nothing" : "a dry run: nothing was changed")
    }
    if let failure = run.failure {
      terminal.note("tidemark: what changed on the server is not known: \(Terminal.safe("\(failure)"))")
    }
    var statuses: [ExitStatus] = []
    if let failure = run.failure { statuses.append(failure.mayPass ? .waiting : .failure) }
    if run.needsPerson { statuses.append(.needsPerson) }
    if !run.isQuiet { statuses.append(.waiting) }
    return .worst(of: statuses)
  }

  /// Prints what a sync came to.
  static func report(_ result: SyncResult, _ terminal: Terminal) -> ExitStatus {
    if terminal.isJSON {
      terminal.print(.object(result.counts))
    } else {
      terminal.print(lines: result.lines.map(Terminal.safe))
      terminal.print(result.headline)
    }
    if let failure = result.failure { terminal.note("tidemark: \(Terminal.safe(failure.message))") }
    return result.exitStatus
  }
}

extension SyncResult {
  /// The exit code of a sync.
  var exitStatus: ExitStatus {
    var statuses: [ExitStatus] = []
    if let failure { statuses.append(failure.mayPass ? .waiting : .failure) }
    if needsPerson { statuses.append(.needsPerson) }
    if count("remaining") > 0 { statuses.append(.waiting) }
    return .worst(of: statuses)
  }

  /// One line that says it all.
  var headline: String {
    var parts: [String] = []
    func add(_ name: String, _ text: (Int) -> String) {
      let number = count(name)
      if number > 0 { parts.append(text(number)) }
    }
    add("synced") { "sent \($0)" }
    add("alreadyOnServer") { "\($0) of them already there" }
    add("filesWritten") { "wrote \($0) file\($0 == 1 ? "" : "s")" }
    add("filesRemoved") { "removed \($0) file\($0 == 1 ? "" : "s")" }
    add("conflictsResolved") { "merged \($0)" }
    add("conflicted") { "\($0) conflict\($0 == 1 ? "" : "s")" }
    add("rejected") { "\($0) refused" }
    add("remaining") { "\($0) still waiting" }
    add("problems") { "\($0) problem\($0 == 1 ? "" : "s")" }
    add("held") { "\($0) held" }
    if parts.isEmpty {
      guard failure == nil else { return "nothing done" }
      return needsPerson
        ? "nothing to do; something waits for you: see 'tidemark status'" : "nothing to do, all in step"
    }
    return parts.joined(separator: ", ")
  }
}
