import Daemon
import FileWorkspace

/// Commits what changed in the collections' folders, where the settings ask for it.
///
/// Nothing but the rows' files and their photos, and of these only what the person has not begun to commit by themselves. Of
/// other files, and of what is staged, git's index stays as it was.
struct Autocommit: Sendable {
  private let workspace: WorkspaceFolder
  private let settings: WorkspaceSettings
  private let environment: [String: String]

  /// What would be committed of one file.
  struct Change: Hashable {
    /// As in the subject of the commit.
    enum Kind: String, CaseIterable {
      case added
      case changed
      case removed
    }

    var kind: Kind
    /// Relative to the workspace.
    var path: String
    var isUntracked: Bool
  }

  init(_ workspace: WorkspaceFolder, _ settings: WorkspaceSettings, environment: [String: String]) {
    (self.workspace, self.settings, self.environment) = (workspace, settings, environment)
  }

  /// Commits, if there is anything to be committed.
  ///
  /// - Returns: What was done, or why not, as a line of the log; `nil` where nothing is to be said.
  func run() -> String? {
    do {
      let git = GitProgram(workspace, environment: environment)
      // Without a branch, as during a bisect or on an old commit, a commit would be lost.
      guard try git.run(["symbolic-ref", "-q", "HEAD"]).status == 0 else { return nil }
      let prefix = try git.run(["rev-parse", "--show-prefix"]).output.filter { $0 != "\n" }
      let folders = settings.collections.flatMap { [$0.folder] + ($0.photos.map { [$0.folder] } ?? []) }
      let status = try git.run(
        ["--no-optional-locks", "status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--"]
          + folders)
      guard status.status == 0 else { return nil }
      let changes = Self.changes(status.output, prefix: prefix, settings)
      guard !changes.isEmpty else { return nil }
      return try commit(changes, git)
    } catch {
      return "nothing was committed: \(error.message)"
    }
  }

  private func commit(_ changes: [Change], _ git: GitProgram) throws(CommandFailure) -> String? {
    let list: (all: String, new: String?)
    let files: LiveFileSystem
    do throws(FileSystemError) {
      files = try LiveFileSystem(root: workspace.path)
      let new = changes.filter(\.isUntracked)
      list = (try write(changes, files), new.isEmpty ? nil : try write(new, files))
    } catch {
      throw CommandFailure(message: "\(error)")
    }
    defer { for path in [list.all, list.new].compactMap({ $0 }) { try? files.unlink(path) } }
    let names = { (path: String) in ["--pathspec-from-file=\(path)", "--pathspec-file-nul"] }
    // Noted, not staged: a commit that fails leaves nothing of it behind that would look like the person's doing.
    if let new = list.new { guard try git.run(["add", "-N"] + names(new)).status == 0 else { return nil } }
    let done = try git.run(["commit", "-q", "--only", "-m", Self.message(changes)] + names(list.all))
    guard done.status == 0 else {
      return
        "git did not commit \(changes.count) files (exit code \(done.status)): is a hook against it, or who commits "
        + "not configured? It is tried again after the next change"
    }
    return "committed \(Self.subject(changes))"
  }

  private func write(_ changes: [Change], _ files: LiveFileSystem) throws(FileSystemError) -> String {
    let bytes = changes.reduce(into: [UInt8]()) { $0 += Array($1.path.utf8) + [0] }
    return try files.makeTemporary(bytes, in: StateFolder.temporary, prefix: "commit", like: nil).path
  }

  // MARK: Pure parts

  /// What git's status says of files that are the workspace's, where nothing of them is staged.
  static func changes(_ status: String, prefix: String, _ settings: WorkspaceSettings) -> [Change] {
    status.split(separator: "\0").compactMap { entry in
      let codes = Array(entry.utf8.prefix(2))
      guard codes.count == 2, entry.utf8.count > 3, entry.hasPrefix(codes[0] == 0x3F ? "?? " : " ") else { return nil }
      let full = String(entry.dropFirst(3))
      guard full.hasPrefix(prefix) else { return nil }
      let path = String(full.dropFirst(prefix.count))
      guard isOwn(path, settings) else { return nil }
      switch codes[1] {
      case UInt8(ascii: "?"): return Change(kind: .added, path: path, isUntracked: true)
      case UInt8(ascii: "A"): return Change(kind: .added, path: path, isUntracked: false)
      case UInt8(ascii: "M"): return Change(kind: .changed, path: path, isUntracked: false)
      case UInt8(ascii: "D"): return Change(kind: .removed, path: path, isUntracked: false)
      default: return nil
      }
    }.sorted { $0.path < $1.path }
  }

  /// Whether a file is a row's, or a photo.
  private static func isOwn(_ path: String, _ settings: WorkspaceSettings) -> Bool {
    let name = WorkspacePath.name(of: path)
    if settings.collections.contains(where: { $0.folder == WorkspacePath.folder(of: path) }) {
      return FileNames.isRowFile(name)
    }
    return settings.collections.contains { collection in
      collection.photos.map { path.hasPrefix($0.folder + "/") } ?? false
    } && !FileNames.isIgnored(name)
  }

  /// `tasks/milk.json changed`, or how many of each kind.
  static func subject(_ changes: [Change]) -> String {
    if changes.count == 1, let one = changes.first { return "\(one.path) \(one.kind.rawValue)" }
    let counts = Change.Kind.allCases.compactMap { kind -> String? in
      let count = changes.count { $0.kind == kind }
      return count == 0 ? nil : "\(count) \(kind.rawValue)"
    }
    return counts.joined(separator: ", ")
  }

  /// The commit's message: a subject, and the files where there are several.
  static func message(_ changes: [Change]) -> String {
    let most = 100
    let subject = "Tidemark: \(Self.subject(changes))"
    guard changes.count > 1 else { return subject }
    let lines = changes.prefix(most).map { "\($0.kind.rawValue) \($0.path)" }
    let rest = changes.count > most ? ["… and \(changes.count - most) more"] : []
    return ([subject, ""] + lines + rest).joined(separator: "\n")
  }
}
