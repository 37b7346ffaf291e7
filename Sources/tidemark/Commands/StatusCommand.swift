import Daemon
import OfflineEngine

/// The command `tidemark status`.
struct StatusCommand: Command {
  static let description = CommandDescription(
    name: "status", summary: "Show whether everything is in step, and what waits.",
    discussion: "Needs no network. Exit code 0: in step; 3: changes wait; 4: something needs you.")

  init(_ arguments: Arguments) throws(UsageError) {}

  func run(in context: CommandContext) async throws -> ExitStatus {
    let folder = try context.workspaceFolder()
    let report: StatusReport
    switch try ControlClient.ask(ControlRequest("status"), folderPath: folder.statePath) {
    case .result(let json)?: report = StatusReport(wireJSON: json)
    case .error(let text)?: throw CommandFailure(message: text)
    case nil: report = try StatusReport.read(folder, clock: LiveClock())
    }
    if context.terminal.isJSON {
      context.terminal.print(.object(report.json))
    } else {
      for line in lines(report, context.terminal) { context.terminal.print(line) }
    }
    return exitStatus(report)
  }

  private func exitStatus(_ report: StatusReport) -> ExitStatus {
    if report.rejected + report.conflicted + report.problems.count + report.held > 0 { return .needsPerson }
    return report.pending > 0 ? .waiting : .success
  }

  private func lines(_ report: StatusReport, _ terminal: Terminal) -> [String] {
    let watcher = report.isWatching ? "a watcher runs" : "no watcher runs"
    var lines = [terminal.bold(headline(report)), "server    \(report.server) (\(report.network)); \(watcher)"]
    if let time = report.lastSyncedAt { lines.append("in step   last at \(time)") }
    for collection in report.collections {
      lines.append("folder    \(Terminal.safe(collection.folder))/: \(collection.files) files, \(collection.rows) rows")
    }
    for problem in report.problems { lines.append("problem   \(Terminal.safe(problem.description))") }
    for wait in report.waits { lines.append("waiting   \(Terminal.safe(wait))") }
    if report.conflicted > 0 {
      lines.append(
        "conflict  \(report.conflicted): see the *.mine.json files; delete one to keep theirs, or move it over its file"
      )
    }
    if report.rejected > 0 {
      lines.append(
        "refused   \(report.rejected): see the *.refused.json files; fix and rename one to try again, or delete it")
    }
    if report.held > 0 {
      lines.append("held      \(report.held): gone in large numbers; 'tidemark confirm' if that is meant")
    }
    if let error = report.lastError { lines.append("stopped   \(Terminal.safe(error))") }
    return lines
  }

  private func headline(_ report: StatusReport) -> String {
    let people = report.rejected + report.conflicted + report.problems.count + report.held
    if people > 0 {
      return "\(people) need\(people == 1 ? "s" : "") you\(report.pending > 0 ? ", \(report.pending) waiting" : "")"
    }
    if report.pending > 0 { return "\(report.pending) change\(report.pending == 1 ? "" : "s") waiting to be sent" }
    return report.lastSyncedAt == nil ? "nothing waits, not synced yet" : "in step"
  }
}
