import Daemon
import FileWorkspace
import Glibc

/// The program in which a person brings the versions of a conflict together.
///
/// Only the person's own environment and settings name it, never tidemark.json: that comes with a clone, and a clone must not
/// choose what runs.
enum MergeTool: Equatable {
  /// A shell's command; the files are in its variables `BASE`, `MINE`, `THEIRS` and `MERGED`.
  case command(String)
  /// A program and its words from the person's settings.
  case program(UserSettings)
  /// An editor, as a shell's command; it is given the merged file.
  case editor(String)

  /// The tool that the environment and the person's settings name: a merge tool before an editor, vi where nothing does.
  static func chosen(_ environment: [String: String], isTerminal: Bool) throws(CommandFailure) -> MergeTool {
    let variable = { (name: String) in environment[name].flatMap { $0.isEmpty ? nil : $0 } }
    if let command = variable("TIDEMARK_MERGETOOL") { return .command(command) }
    let folder = variable("XDG_CONFIG_HOME") ?? variable("HOME").map { "\($0)/.config" }
    if let path = folder.map({ "\($0)/\(UserSettings.path)" }), access(path, F_OK) == 0 {
      guard let bytes = GivenFile.bytes(at: path) else {
        throw CommandFailure(message: "'\(Terminal.safe(path))' cannot be read; nothing was settled")
      }
      do throws(SettingsError) {
        let settings = try UserSettings(parsing: bytes)
        if settings.mergeTool != nil { return .program(settings) }
      } catch {
        throw CommandFailure(message: Terminal.safe(error.description(in: path)))
      }
    }
    if let editor = variable("VISUAL") ?? variable("EDITOR") { return .editor(editor) }
    guard isTerminal else {
      throw CommandFailure(
        message: "there is no terminal for an editor; set EDITOR or TIDEMARK_MERGETOOL, or give '--merged FILE'")
    }
    return .editor("vi")
  }

  /// Runs it on the files of a session.
  ///
  /// - Returns: Its exit code.
  func run(_ files: [String: String], environment: [String: String]) throws(CommandFailure) -> Int32 {
    let words: [String]
    var environment = environment
    switch self {
    case .command(let command):
      environment.merge(files) { $1 }
      words = ["/bin/sh", "-c", command]
    case .program(let settings): words = settings.mergeToolWords(files) ?? []
    case .editor(let editor): words = ["/bin/sh", "-c", "\(editor) \"$@\"", editor, files["MERGED"] ?? ""]
    }
    return try ChildProgram.run(words, environment: environment).status
  }
}
