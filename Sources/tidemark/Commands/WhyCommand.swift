import Daemon
import FileWorkspace
import OfflineEngine

/// The command `tidemark why`.
struct WhyCommand: Command {
  static let description = CommandDescription(
    name: "why", parameters: "PATH",
    summary: "Answer for one file: what it is, where its row stands, and what it waits for.",
    discussion: """
      Needs no network, and says the same whether or not a watcher runs. It names columns and versions, never values.
      Exit code 0: in step, or no row's file; 3: something waits; 4: it needs you.
      """, positionalMax: 1)

  private let path: String

  init(_ arguments: Arguments) throws(UsageError) {
    guard let path = arguments.positional.first else { throw UsageError(message: "why needs a PATH") }
    self.path = path
  }

  func run(in context: CommandContext) async throws -> ExitStatus {
    let folder = try context.workspaceFolder()
    let report = try WhyReport.read(folder, about: try context.path(path, in: folder), clock: LiveClock())
    if context.terminal.isJSON {
      context.terminal.print(.object(report.json))
    } else {
      context.terminal.print(lines: Self.lines(report).map(Terminal.safe))
    }
    if report.answer.needsPerson { return .needsPerson }
    return report.answer.waits.isEmpty ? .success : .waiting
  }

  private static func lines(_ report: WhyReport) -> [String] {
    let answer = report.answer
    var lines = ["\(answer.path.isEmpty ? "." : answer.path): \(answer.what)"]
    func add(_ name: String, _ text: String?) {
      if let text { lines.append(name.padding(to: 11) + text) }
    }
    let due = answer.keyDueAt.map { ", to be written into the file about \($0.text)" } ?? ""
    add("key", answer.key.map { $0 + due } ?? (answer.isRowFile ? "none yet" : nil))
    add("row", answer.row)
    if answer.key != nil {
      add("version", "\(answer.baseVersion ?? "none") in the file, \(answer.serverVersion ?? "none") on the server")
    }
    add("problem", answer.problem?.description)
    if !answer.edited.isEmpty { add("edited", answer.edited.joined(separator: ", ")) }
    for entry in answer.entries {
      let sent = entry.sendCount > 0 && entry.list == MutationList.queued.rawValue ? ", sent but not answered" : ""
      add(
        entry.list,
        "\(entry.id): \(entry.operation) \(entry.columns.joined(separator: ", ")) since \(entry.since.text)\(sent)"
          + (entry.message.map { ": \($0)" } ?? ""))
    }
    for side in answer.sideFiles { add("beside it", side) }
    add("last", report.lastEvent.map(\.line))
    add("answer", report.lastAnswer.map(\.line))
    for wait in answer.waits { add("waits for", wait.reason + (wait.until.map { ", until \($0.text)" } ?? "")) }
    if answer.isRowFile, answer.waits.isEmpty, !answer.needsPerson { add("waits for", "nothing: it is in step") }
    return lines
  }
}
