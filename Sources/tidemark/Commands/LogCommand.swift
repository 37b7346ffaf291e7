import Daemon
import LosslessJSON

/// The command `tidemark log`.
struct LogCommand: Command {
  static let description = CommandDescription(
    name: "log", parameters: "[PATH]",
    summary: "Show what happened, oldest first: of everything, or of one file or folder.",
    discussion: """
      'watch', 'sync' and the other commands keep it in .tidemark/log, an entry a line, up to 2 MiB; then the older half
      goes. It names files, columns and reasons, and holds no values, tokens or keys.
      """,
    options: [.value("--last", "N", "Show the last N entries (default: 100; 0 shows all).")], positionalMax: 1)

  private let path: String?
  private let last: Int

  init(_ arguments: Arguments) throws(UsageError) {
    path = arguments.positional.first
    last = try arguments.number("--last", in: 0...1_000_000) ?? 100
  }

  func run(in context: CommandContext) async throws -> ExitStatus {
    let folder = try context.workspaceFolder()
    var entries = EventLog(folder).entries()
    if let path {
      let asked = try context.path(path, in: folder)
      if !asked.isEmpty { entries = entries.filter { $0.isAbout(asked) } }
    }
    if last > 0 { entries = Array(entries.suffix(last)) }
    if context.terminal.isJSON {
      context.terminal.print(.array(entries.map(\.json)))
    } else {
      context.terminal.print(lines: entries.map(\.line))
      if entries.isEmpty { context.terminal.note(path == nil ? "nothing has happened yet" : "nothing is known of it") }
    }
    return .success
  }
}

extension LogEntry {
  /// The entry as a line for a person.
  var line: String {
    let word = event.padding(to: 9)
    return Terminal.safe(at + "  " + word + [path, detail].filter { !$0.isEmpty }.joined(separator: "  "))
  }
}

extension String {
  /// The text with spaces behind it, at least one, up to a width in characters.
  func padding(to width: Int) -> String { self + String(repeating: " ", count: max(1, width - count)) }
}
