/// Something that git is in the middle of.
public struct GitWork: Sendable, Hashable, CustomStringConvertible {
  /// What it is, as in "a rebase is in progress".
  public var description: String
  /// Since when, by the time stamp of the file that says so.
  public var since: FileTime
  /// Whether it is one that changes files; a lock of the index alone is also what every `git status` takes.
  public var changesFiles: Bool

  /// Makes a description of git's work.
  public init(description: String, since: FileTime, changesFiles: Bool = true) {
    self.description = description
    self.since = since
    self.changesFiles = changesFiles
  }
}

/// Whether git is at work in a workspace.
public enum GitState {
  /// What git is doing in the repository whose `.git` folder lies in the workspace's own; nil for nothing, or no git.
  ///
  /// For worktrees, submodules and workspaces below their repository's root, find the `GitRepository` instead.
  public static func work(in files: any FileSystem) -> String? {
    GitRepository(inside: files)?.work()?.description
  }
}

/// A git repository's state files, read without running git.
public struct GitRepository: Sendable {
  /// A folder of some file system.
  private struct Place: Sendable {
    var files: any FileSystem
    var folder: String

    func status(_ name: String) -> FileStatus? { try? files.status(WorkspacePath.joined(folder, name)) }

    func text(_ name: String) -> String? {
      let path = WorkspacePath.joined(folder, name)
      guard let bytes = try? files.read(path, bytesMax: 64 << 20).bytes else { return nil }
      return String(decoding: bytes, as: UTF8.self)
    }
  }

  /// The working tree's own git folder.
  private var own: Place
  /// The folder that it shares with other working trees: references and packs.
  private var common: Place

  /// Takes the repository whose `.git` folder lies directly in a workspace; nil when there is none.
  public init?(inside files: any FileSystem) {
    own = Place(files: files, folder: ".git")
    guard (try? files.status(".git"))?.kind == .folder else { return nil }
    common = own
  }

  /// Finds the repository that a workspace belongs to, in its folder or above.
  ///
  /// Follows `.git` files (worktrees, submodules) and their `commondir`.
  ///
  /// - Parameters:
  ///   - workspace: The workspace's absolute path.
  ///   - open: Opens a folder by its absolute path; nil when there is none.
  /// - Returns: The repository; nil when there is none, or its folder cannot be read.
  public static func find(
    above workspace: String, open: (_ absolutePath: String) -> (any FileSystem)?
  ) -> GitRepository? {
    var folder = workspace
    while true {
      if let files = open(folder), let entry = try? files.status(".git") {
        if entry.kind != .file { return repository(at: absolute(".git", in: folder), open: open) }
        let text = Place(files: files, folder: "").text(".git") ?? ""
        guard let target = value(of: "gitdir:", in: text) else { return nil }
        return repository(at: absolute(target, in: folder), open: open)
      }
      if folder == "/" || folder.isEmpty { return nil }
      let parent = WorkspacePath.folder(of: folder)
      folder = parent.isEmpty ? "/" : parent
    }
  }

  private init(own: Place, common: Place) {
    self.own = own
    self.common = common
  }

  private static func repository(at path: String, open: (String) -> (any FileSystem)?) -> GitRepository? {
    guard let files = open(path) else { return nil }
    let own = Place(files: files, folder: "")
    guard let text = own.text("commondir"), let shared = value(of: "", in: text),
      let commonFiles = open(absolute(shared, in: path))
    else { return GitRepository(own: own, common: own) }
    return GitRepository(own: own, common: Place(files: commonFiles, folder: ""))
  }

  // MARK: What is going on

  private static let signs: [(name: String, words: String)] = [
    ("rebase-merge", "a rebase is in progress"), ("rebase-apply", "a rebase or am is in progress"),
    ("MERGE_HEAD", "a merge is in progress"), ("CHERRY_PICK_HEAD", "a cherry-pick is in progress"),
    ("REVERT_HEAD", "a revert is in progress"), ("sequencer", "a cherry-pick or revert is in progress"),
    // What a bisection checks out is looked at, and not meant.
    ("BISECT_LOG", "a bisection is in progress"), (indexLock, "git is writing its index"),
  ]
  private static let indexLock = "index.lock"

  /// What git is in the middle of; nil for nothing.
  ///
  /// A lock that a killed git left behind counts too: its age shows that something is wrong.
  public func work() -> GitWork? {
    for sign in Self.signs {
      guard let status = own.status(sign.name) else { continue }
      return GitWork(description: sign.words, since: status.modified, changesFiles: sign.name != Self.indexLock)
    }
    return nil
  }

  /// Where HEAD stands: its text and, as far as the plain files tell, the commit; another value means that HEAD moved.
  public func head() -> String? {
    guard let text = own.text("HEAD").flatMap({ Self.value(of: "", in: $0) }) else { return nil }
    guard let name = Self.value(of: "ref:", in: text) else { return text }
    return "\(text) \(commit(of: name) ?? "unborn")"
  }

  /// How long git's record of HEAD's moves is; nil where git keeps none.
  ///
  /// It grows with each commit, checkout, merge and pull, and with a `reset --hard` or stash that leaves HEAD where it was.
  public func recordLength() -> Int64? { own.status("logs/HEAD")?.size }

  /// Whether the last thing that moved HEAD was a commit, which leaves the files as they are.
  public func wasMovedByCommit() -> Bool {
    guard let line = own.text("logs/HEAD")?.split(separator: "\n").last, let tab = line.firstIndex(of: "\t") else {
      return false
    }
    return line[line.index(after: tab)...].hasPrefix("commit")
  }

  private func commit(of reference: String) -> String? {
    if let loose = common.text(reference).flatMap({ Self.value(of: "", in: $0) }) { return loose }
    // The newer table format does not name commits in plain text, but its list of tables changes with them.
    if let tables = common.text("reftable/tables.list") { return ContentHash(of: Array(tables.utf8)).description }
    guard let packed = common.text("packed-refs") else { return nil }
    for line in packed.split(separator: "\n") where line.hasSuffix(" \(reference)") {
      return line.split(separator: " ").first.map(String.init)
    }
    return nil
  }

  // MARK: Texts and paths

  /// The first line of a text behind a word, without the spaces around it.
  private static func value(of word: String, in text: String) -> String? {
    guard text.hasPrefix(word), let line = text.dropFirst(word.count).split(separator: "\n").first else { return nil }
    let value = line.drop { $0 == " " || $0 == "\t" }
    let end = value.lastIndex { $0 != " " && $0 != "\t" && $0 != "\r" }
    return end.map { String(value[...$0]) }
  }

  /// A path as git wrote it, made absolute; `..` is left to the kernel, which alone knows where links lead.
  private static func absolute(_ path: String, in folder: String) -> String {
    path.hasPrefix("/") ? path : "\(folder)/\(path)"
  }
}
