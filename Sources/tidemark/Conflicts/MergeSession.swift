import Daemon
import FileWorkspace
import Glibc

/// A conflict being merged: its versions as files in a private folder of the workspace, for as long as a person works on it.
struct MergeSession {
  /// The files by the names that a merge tool knows them by.
  let files: [String: String]
  private let folder: String
  private let draft: [UInt8]

  /// The file that the person makes into the merged one.
  var mergedPath: String { files["MERGED"] ?? folder }

  /// Lays down the files of a conflict.
  init(_ draft: ConflictDraft, in workspace: WorkspaceFolder) throws(CommandFailure) {
    let drafts = "\(workspace.path)/\(StateFolder.drafts)"
    if mkdir(drafts, 0o700) != 0, errno != EEXIST { throw Self.failure(drafts) }
    let number = String(UInt32.random(in: .min ... .max), radix: 16)
    folder = "\(drafts)/\(draft.entries.last ?? 0)-\(number)"
    guard mkdir(folder, 0o700) == 0 else { throw Self.failure(folder) }
    var files: [String: String] = [:]
    for (name, bytes) in [
      ("base", draft.base), ("mine", draft.mine), ("theirs", draft.theirs), ("merged", draft.merged),
    ] {
      let path = "\(folder)/\(name).json"
      files[name.uppercased()] = path
      guard NewFile.write(bytes, to: path, mode: 0o600) else { throw Self.failure(path) }
    }
    self.files = files
    self.draft = draft.merged
  }

  /// The merged file as the person left it; `nil` where it is gone or cannot be read.
  var merged: [UInt8]? { GivenFile.bytes(at: mergedPath) }

  /// Whether the person changed nothing.
  var isUnchanged: Bool { merged == draft }

  /// Removes the files.
  func remove() {
    for path in files.values { unlink(path) }
    if rmdir(folder) == 0 { return }
    // An editor's backup or swap file.
    guard let stream = opendir(folder) else { return }
    while let entry = readdir(stream) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name != ".", name != ".." { unlink("\(folder)/\(name)") }
    }
    closedir(stream)
    rmdir(folder)
  }

  private static func failure(_ path: String) -> CommandFailure {
    CommandFailure(
      message: "'\(Terminal.safe(path))' cannot be made: \(String(cString: strerror(errno))); nothing was settled")
  }
}
