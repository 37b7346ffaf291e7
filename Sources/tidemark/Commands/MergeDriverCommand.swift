import Daemon
import FileWorkspace
import Glibc
import LosslessJSON

/// The command `tidemark merge-driver`.
struct MergeDriverCommand: Command {
  static let description = CommandDescription(
    name: "merge-driver", parameters: "BASE OURS THEIRS PATH | --install",
    summary: "Merge a row's file column by column for git, or have git do so.",
    discussion: """
      --install tells the repository of the workspace: a merge driver in its configuration, by running 'git config', and lines
      in .gitattributes for the collections' folders. Doing it again changes nothing. It must be done once in every clone; in
      one where it was not, git merges these files line by line as any other.
      Git runs the first form itself. The merged text takes the place of OURS. Columns that one side changed are taken from
      it, texts that both changed are merged line by line where that leaves no doubt, and everything else that both changed
      stands in the text in all versions, between git's markers; such a file is a problem for 'tidemark watch', and is not sent.
      Exit code 0: merged; 1: there is a conflict; 2: it could not be done, and OURS is as it was.
      """,
    options: [
      .flag("--install", "Set up git in the repository of the workspace."),
      .value("--marker-size", "N", "How many signs a conflict marker has (default: 7)."),
    ], positionalMax: 4)

  private let files: [String]
  private let markerSize: Int

  init(_ arguments: Arguments) throws(UsageError) {
    files = arguments.positional
    markerSize = try arguments.number("--marker-size", in: 1...1_000) ?? 7
    let isInstalling = arguments.has("--install")
    guard isInstalling ? files.isEmpty : files.count == 4 else {
      throw UsageError(message: "give BASE OURS THEIRS PATH, as git's %O %A %B %P, or '--install' alone")
    }
  }

  func run(in context: CommandContext) async throws -> ExitStatus {
    if files.isEmpty { return try install(context) }
    let (ours, path) = (files[1], files[3])
    var texts: [[UInt8]] = []
    for file in files.prefix(3) {
      guard let bytes = GivenFile.bytes(at: file) else { throw notMerged(path, "'\(file)' cannot be read") }
      guard bytes.count <= RowFile.bytesMax else { throw notMerged(path, "it has more than 8 MiB") }
      texts.append(bytes)
    }
    let merge = RowMerge(
      base: texts[0], mine: texts[1], theirs: texts[2],
      markers: ConflictMarkers(mine: "ours", base: "base", theirs: "theirs", size: markerSize),
      collection: Self.collection(of: path))
    guard let merge else { throw notMerged(path, "it is not UTF-8, and both sides changed it") }
    guard merge.bytes == texts[1] || Self.replace(ours, with: merge.bytes) else {
      throw notMerged(path, "'\(ours)' cannot be written: \(String(cString: strerror(errno)))")
    }
    if merge.isClean { return .success }
    let columns = merge.disputed.map { "'\($0)'" }.joined(separator: ", ")
    context.terminal.note(
      Terminal.safe("tidemark: \(path): both sides changed \(columns.isEmpty ? "the same lines" : columns)"))
    return .failure
  }

  private func notMerged(_ path: String, _ reason: String) -> CommandFailure {
    CommandFailure(message: Terminal.safe("'\(path)' was not merged: \(reason)"), status: .usage)
  }

  /// The collection of a row's file, by the settings of the workspace in which it lies; git runs a driver at the root of its
  /// working tree.
  private static func collection(of path: String) -> CollectionSettings? {
    let parts = path.split(separator: "/").map(String.init)
    guard parts.count >= 2 else { return nil }
    let settings = (parts.dropLast(2) + [WorkspaceSettings.fileName]).joined(separator: "/")
    return GivenFile.bytes(at: settings).flatMap { try? WorkspaceSettings(parsing: $0) }?
      .collection(folder: parts[parts.count - 2])
  }

  /// Puts a text in the place of a file as one step.
  private static func replace(_ path: String, with bytes: [UInt8]) -> Bool {
    var status = stat()
    guard stat(path, &status) == 0 else { return false }
    let temporary = "\(path).tidemark-\(getpid())"
    if NewFile.write(bytes, to: temporary, mode: status.st_mode & 0o777), rename(temporary, path) == 0 { return true }
    let reason = errno
    unlink(temporary)
    errno = reason
    return false
  }

  // MARK: Installing

  private func install(_ context: CommandContext) throws -> ExitStatus {
    let workspace = try context.workspaceFolder()
    let change = try MergeDriver(workspace, environment: context.environment).install()
    if context.terminal.isJSON {
      context.terminal.print(["installed": true, "attributesChanged": .bool(change.attributes)])
    } else {
      context.terminal.print(Self.sentence(change))
    }
    return .success
  }

  /// What an installation came to.
  static func sentence(_ change: MergeDriver.Change) -> String {
    "Git merges the files of rows column by column here."
      + (change.attributes ? " Commit .gitattributes, so that other clones can, too." : "")
  }
}
