import Daemon
import OfflineEngine

/// The command `tidemark status`.
struct StatusCommand: Command {
  static let description = CommandDescription(
    name: "status", summary: "Show whether everything is in step, and what waits.",
    discussion: """
      Needs no network. Exit code 0: in step, as far as is known here; 3: changes wait, or the last sync did not reach its
      end; 4: something needs you.
      """)

  init(_ arguments: Arguments) throws(UsageError) {}

  func run(in context: CommandContext) async throws -> ExitStatus {
    let report = try Self.report(of: try context.workspaceFolder())
    if context.terminal.isJSON {
      context.terminal.print(.object(report.json))
    } else {
      context.terminal.print(lines: lines(report, context.terminal))
    }
    return exitStatus(report)
  }

  /// The status as a running watcher tells it, or as the state on the disk has it.
  static func report(of folder: WorkspaceFolder) throws -> StatusReport {
    switch try ControlClient.ask(ControlRequest("status"), folderPath: folder.statePath) {
    case .result(let json)?: StatusReport(wireJSON: json)
    case .error(let text)?: throw CommandFailure(message: text)
    case nil: try StatusReport.read(folder, clock: LiveClock())
    }
  }

  private func exitStatus(_ report: StatusReport) -> ExitStatus {
    if needs(report) > 0 || report.errorNeedsPerson { return .needsPerson }
    return report.pending > 0 || !report.waits.isEmpty || isCutOff(report) ? .waiting : .success
  }

  /// How much needs a person.
  private func needs(_ report: StatusReport) -> Int {
    report.rejected + report.conflicted + report.problems.count + report.held
  }

  /// Whether the last sync failed, other than by the person's own switch.
  private func isCutOff(_ report: StatusReport) -> Bool {
    report.lastError != nil && report.network != NetworkStatus.disabled.rawValue
  }

  /// Whether the server's changes arrive as they are made.
  static func live(_ report: StatusReport) -> String {
    switch report.live {
    case LiveState.live(since: WallTime(nanoseconds: 0)).word: "the server tells changes as they are made"
    case LiveState.connecting.word: "connecting; until then the server is asked"
    case LiveState.off.word: "off; the server is asked"
    default: "not now, the server is asked instead: \(report.liveReason ?? "no reason")"
    }
  }

  private func lines(_ report: StatusReport, _ terminal: Terminal) -> [String] {
    let watcher = report.isWatching ? "a watcher runs" : "no watcher runs"
    var lines = [terminal.bold(headline(report)), "server    \(report.server) (\(report.network)); \(watcher)"]
    if let time = report.lastSyncedAt { lines.append("in step   last at \(time)") }
    if report.isWatching { lines.append("live      \(Terminal.safe(Self.live(report)))") }
    for collection in report.collections {
      let (files, rows) = (count(collection.files, "file"), count(collection.rows, "row"))
      lines.append("folder    \(Terminal.safe(collection.folder))/: \(files), \(rows)")
    }
    lines += short(problems(report), of: "problems").map { "problem   \(Terminal.safe($0))" }
    lines += short(report.waits, of: "waits").map { "waiting   \(Terminal.safe($0))" }
    let edits = report.conflicted - report.conflictedDeletes
    if edits > 0 {
      lines.append("conflict  \(edits): see the *.mine.json files; delete one to keep theirs, or move it over its file")
    }
    if report.conflictedDeletes > 0 {
      lines.append(
        "conflict  \(report.conflictedDeletes): see the *.deleted.json files; delete one to keep its row, or "
          + "'tidemark resolve FILE --mine' to delete the row")
    }
    if report.rejected > 0 {
      lines.append(
        "refused   \(report.rejected): see the *.refused.json files; fix and rename one to try again, or delete it. For a "
          + "row that is new, save its own file again")
    }
    lines += report.holds.map { "held      \(Terminal.safe($0))" }
    if let error = report.lastError { lines.append("stopped   \(Terminal.safe(error))") }
    if let time = report.nextTryAt, !report.errorNeedsPerson {
      lines.append("next try  at \(time); 'tidemark sync' tries at once")
    }
    return lines
  }

  private func count(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }

  /// The problems, a line each; those that many files share are one.
  private func problems(_ report: StatusReport) -> [String] {
    let shared = Dictionary(grouping: report.problems, by: \.message)
    var told: Set<String> = []
    return report.problems.compactMap { problem in
      guard let group = shared[problem.message], group.count > 3 else { return problem.description }
      guard told.insert(problem.message).inserted else { return nil }
      return "\(problem.path) and \(group.count - 1) others: \(problem.message)"
    }
  }

  /// A list that fits on a screen.
  private func short(_ lines: [String], of noun: String) -> [String] {
    let most = 20
    return lines.count <= most ? lines : lines.prefix(most - 1) + ["… and \(lines.count - most + 1) more \(noun)"]
  }

  private func headline(_ report: StatusReport) -> String {
    let people = needs(report)
    if people > 0 {
      return "\(people) need\(people == 1 ? "s" : "") you\(report.pending > 0 ? ", \(report.pending) waiting" : "")"
    }
    if report.pending > 0 { return "\(report.pending) change\(report.pending == 1 ? "" : "s") waiting to be sent" }
    if !report.waits.isEmpty { return "something waits here" }
    if report.errorNeedsPerson { return "nothing waits here, but nothing is sent or fetched until you sign in again" }
    if isCutOff(report) { return "nothing waits here; what changed on the server is not known" }
    if report.network == NetworkStatus.disabled.rawValue { return "nothing waits here, and network access is off" }
    if report.isOutdated { return "nothing waits here; the server was not asked for a while" }
    return report.lastSyncedAt == nil ? "nothing waits, not synced yet" : "in step"
  }
}
