import Daemon
import LosslessJSON

/// The command `tidemark sync`.
struct SyncCommand: Command {
  static let description = CommandDescription(
    name: "sync", summary: "Do one whole pass: scan the files, send what waits, fetch what changed, write it back.",
    discussion: "Where a watcher runs, it does the pass.")

  init(_ arguments: Arguments) throws(UsageError) {}

  func run(in context: CommandContext) async throws -> ExitStatus {
    try await Self.sync(in: context, request: ControlRequest("sync"))
  }

  /// A sync by the running watcher, or by this process.
  static func sync(in context: CommandContext, request: ControlRequest) async throws -> ExitStatus {
    report(SyncResult(wireJSON: try await context.ask(request)), context.terminal)
  }

  private static func report(_ result: SyncResult, _ terminal: Terminal) -> ExitStatus {
    if terminal.isJSON {
      terminal.print(.object(result.counts))
    } else {
      for line in result.lines { terminal.print(Terminal.safe(line)) }
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
    if parts.isEmpty { parts = [failure == nil ? "nothing to do, all in step" : "nothing done"] }
    return parts.joined(separator: ", ")
  }
}
