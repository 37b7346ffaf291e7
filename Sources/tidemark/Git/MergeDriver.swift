import Daemon
import FileWorkspace

/// The merge driver in a workspace's git repository.
struct MergeDriver {
  let workspace: WorkspaceFolder
  private let program: GitProgram

  init(_ workspace: WorkspaceFolder, environment: [String: String]) {
    self.workspace = workspace
    program = GitProgram(workspace, environment: environment)
  }

  /// Whether the workspace lies in a working tree of git.
  var isInRepository: Bool { (try? git(["rev-parse", "--is-inside-work-tree"]))?.output.hasPrefix("true") ?? false }

  /// Whether there is nothing to be done: git's configuration names this program, and .gitattributes all folders.
  var isInstalled: Bool {
    guard let files = try? LiveFileSystem(root: workspace.path), let settings = try? workspace.settings(),
      let text = try? attributes(files), GitAttributes.adding(settings.collections.map(\.folder), to: text) == nil
    else { return false }
    guard let line = try? git(["config", "--get", "merge.\(GitAttributes.driver).driver"]) else { return false }
    return line.status == 0 && line.output.hasPrefix(Self.quoted(ProgramFile.path) + " ")
  }

  /// What was changed by an installation.
  struct Change: Equatable {
    /// Whether .gitattributes got lines.
    var attributes: Bool
  }

  /// Tells git how to merge, and which files; doing it again changes nothing.
  ///
  /// - Throws: `CommandFailure`; nothing has been changed where git cannot be configured.
  func install() throws(CommandFailure) -> Change {
    guard isInRepository else {
      throw CommandFailure(
        message:
          "'\(Terminal.safe(workspace.path))' is in no git repository, or git is not installed; nothing was changed. "
          + "After 'git init', 'tidemark merge-driver --install' does it")
    }
    let folders: [String]
    let files: LiveFileSystem
    let text: String?
    do {
      folders = try workspace.settings().collections.map(\.folder)
      files = try LiveFileSystem(root: workspace.path)
      text = try attributes(files)
    } catch let failure as CommandFailure {
      throw failure
    } catch {
      throw CommandFailure(message: Terminal.safe("\(error)"))
    }
    try configure("name", "rows of Tidemark, merged column by column")
    try configure("driver", "\(Self.quoted(ProgramFile.path)) merge-driver --marker-size %L -- %O %A %B %P")
    guard let added = GitAttributes.adding(folders, to: text) else { return Change(attributes: false) }
    do throws(FileSystemError) {
      try files.replace(
        GitAttributes.fileName, with: Array(added.utf8), temporaryFolder: StateFolder.temporary)
    } catch {
      throw CommandFailure(message: "'\(GitAttributes.fileName)' was not written: \(Terminal.safe("\(error)"))")
    }
    return Change(attributes: true)
  }

  private func attributes(_ files: LiveFileSystem) throws -> String? {
    guard let status = try files.status(GitAttributes.fileName) else { return nil }
    guard status.kind == .file else {
      throw CommandFailure(
        message:
          "'\(GitAttributes.fileName)' is \(status.kind.phrase), not a regular file, and is left alone; nothing was "
          + "changed")
    }
    let bytes = try files.read(GitAttributes.fileName, bytesMax: RowFile.bytesMax).bytes
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw CommandFailure(message: "'\(GitAttributes.fileName)' is not UTF-8 and is left alone; nothing was changed")
    }
    return text
  }

  private func configure(_ name: String, _ value: String) throws(CommandFailure) {
    let done = try git(["config", "--local", "merge.\(GitAttributes.driver).\(name)", value])
    guard done.status == 0 else {
      throw CommandFailure(message: "git could not change the repository's configuration (exit code \(done.status))")
    }
  }

  private func git(_ words: [String]) throws(CommandFailure) -> ChildProgram.Finished {
    try program.run(words)
  }

  /// A path as one word of git's driver line, which a shell reads after git has replaced what follows a percent sign.
  private static func quoted(_ path: String) -> String {
    "'" + path.reduce(into: "") { $0 += $1 == "'" ? "'\\''" : $1 == "%" ? "%%" : String($1) } + "'"
  }
}
