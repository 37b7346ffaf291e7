import Daemon
import FileWorkspace
import Glibc
import LosslessJSON

/// The command `tidemark resolve PATH --mine|--theirs|--merged FILE|--edit`.
struct ResolveCommand: Command {
  static let description = CommandDescription(
    name: "resolve", parameters: "PATH|ID --mine|--theirs|--merged FILE|--edit", summary: "Settle a conflict.",
    discussion: """
      PATH is the file or its side file, ID the number in 'tidemark conflicts'. --mine sends the columns that you changed,
      as the side file says them now; --theirs keeps the server's row; --merged takes the row's whole file from FILE.
      --edit opens a draft of that file, in which what is yours to decide stands in all versions between markers:
      leave one version of each and save. It runs what TIDEMARK_MERGETOOL says, a shell's command with the files in $BASE,
      $MINE, $THEIRS and $MERGED; or "mergeTool" of ~/.config/tidemark/settings.json, an array of words with the same names;
      or VISUAL, EDITOR or vi. An exit code other than 0, a draft without a change, and one that cannot be read settle nothing.
      What is sent is sent only while the server's row is as the conflict saw it. The text that loses its place is in the
      trash.
      """,
    options: [
      .flag("--mine", "Keep your version."), .flag("--theirs", "Keep the server's version."),
      .value("--merged", "FILE", "Keep what FILE says; '-' is standard input."),
      .flag("--edit", "Merge both in an editor or a merge tool."),
    ], positionalMax: 1)

  private enum Choice {
    case mine
    case theirs
    case merged(String)
    case edit
  }

  private let word: String
  private let choice: Choice

  init(_ arguments: Arguments) throws(UsageError) {
    word = try arguments.word("the file's path")
    var choices: [Choice] = []
    if arguments.has("--mine") { choices.append(.mine) }
    if arguments.has("--theirs") { choices.append(.theirs) }
    if let file = arguments.value("--merged") { choices.append(.merged(file)) }
    if arguments.has("--edit") { choices.append(.edit) }
    guard choices.count == 1, let choice = choices.first else {
      throw UsageError(message: "give one of '--mine', '--theirs', '--merged FILE' and '--edit'")
    }
    self.choice = choice
  }

  func run(in context: CommandContext) async throws -> ExitStatus {
    let target = try context.entryTarget(word)
    switch choice {
    case .mine, .theirs:
      var arguments = target.json
      if case .mine = choice { arguments["mine"] = true } else { arguments["mine"] = false }
      return try await context.change(.resolve, arguments)
    case .merged(let path):
      guard let bytes = GivenFile.bytes(at: path) else {
        throw CommandFailure(
          message: "'\(Terminal.safe(path))' cannot be read: \(String(cString: strerror(errno))); nothing was settled")
      }
      return try await settle(target, bytes, named: path == "-" ? "standard input" : path, nil, context)
    case .edit: return try await edit(target, context)
    }
  }

  private func settle(
    _ target: WorkspaceTarget, _ bytes: [UInt8], named name: String, _ entries: [Int64]?, _ context: CommandContext
  ) async throws -> ExitStatus {
    guard let text = String(validating: bytes, as: UTF8.self) else {
      // Reading it as JSON finds the place.
      do throws(JSONError) { _ = try JSONDocument(parsing: bytes) } catch {
        throw CommandFailure(message: Terminal.safe(RowFileProblem(error).description(in: name)))
      }
      throw CommandFailure(message: "\(Terminal.safe(name)): this is not UTF-8")
    }
    let merged = MergedText(text, name: name, entries: entries)
    return try await context.change(.resolveMerged, target.json.overlaid(with: merged.json))
  }

  // MARK: In an editor

  private func edit(_ target: WorkspaceTarget, _ context: CommandContext) async throws -> ExitStatus {
    let tool = try MergeTool.chosen(
      context.environment, isTerminal: isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1)
    let draft: ConflictDraft
    do {
      draft = try context.read { transaction, settings, files in
        try ConflictDraft.read(target, transaction, settings, files)
      }
    } catch let error as WorkspaceRequestError {
      throw CommandFailure(message: Terminal.safe("\(error)"))
    }
    let session = try MergeSession(draft, in: try context.workspaceFolder())
    let status: Int32
    do throws(CommandFailure) {
      status = try tool.run(session.files, environment: context.environment)
    } catch {
      session.remove()
      throw CommandFailure(message: "\(error.message); nothing was settled")
    }
    let path = Terminal.safe(session.mergedPath)
    let program = context.folder.map { "tidemark -C \(Terminal.safe($0))" } ?? "tidemark"
    let again = "'\(program) resolve \(Terminal.safe(word)) --merged \(path)'"
    guard status == 0 else {
      let isUnchanged = session.isUnchanged
      if isUnchanged { session.remove() }
      throw CommandFailure(
        message: "the program ended with exit code \(status); nothing was settled"
          + (isUnchanged ? "" : ". Your text is kept: \(again) takes it"))
    }
    guard let merged = session.merged else {
      throw CommandFailure(message: "'\(path)' is gone or cannot be read; nothing was settled")
    }
    if session.isUnchanged {
      if !draft.isComplete {
        session.remove()
        throw CommandFailure(message: "nothing was changed in the draft, so nothing was settled")
      }
      throw CommandFailure(
        message:
          "nothing was changed in the draft, so nothing was settled. It leaves nothing to decide: \(again) takes it "
          + "as it is")
    }
    do {
      let done = try await settle(target, merged, named: session.mergedPath, draft.entries, context)
      session.remove()
      return done
    } catch let failure as CommandFailure {
      throw CommandFailure(
        message: "\(failure.message)\nNothing was settled. Your text is kept: mend it, and \(again) takes it",
        status: failure.status)
    }
  }
}
