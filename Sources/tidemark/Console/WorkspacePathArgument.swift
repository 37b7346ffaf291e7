import Daemon
import FileWorkspace

extension CommandContext {
  /// A path that a person gave, relative to the workspace; empty for the workspace itself.
  ///
  /// It is taken from the current folder, as a shell completes it, and from the workspace's folder where it lies outside
  /// or `-C` picked the workspace. Links in its folder are followed, the last name is not: it may be a link itself.
  func path(_ given: String, in folder: WorkspaceFolder) throws -> String {
    let trimmed = given.count > 1 && given.hasSuffix("/") ? String(given.dropLast()) : given
    let candidates = trimmed.hasPrefix("/") ? [trimmed] : [trimmed, "\(folder.path)/\(trimmed)"]
    for candidate in self.folder == nil ? candidates : candidates.reversed() {
      if let found = Self.path(candidate, inside: folder.path) { return found }
    }
    throw CommandFailure(message: "'\(Terminal.safe(given))' is not in the workspace '\(Terminal.safe(folder.path))'")
  }

  private static func path(_ path: String, inside root: String) -> String? {
    var parts = path.split(separator: "/").map(String.init)
    var name: String?
    if let last = parts.last, last != ".", last != ".." { name = parts.removeLast() }
    let start = path.hasPrefix("/") ? "/" : "./"
    let parent = WorkspaceFolder.absolute(start + parts.joined(separator: "/"))
    let whole = name.map { parent == "/" ? "/\($0)" : "\(parent)/\($0)" } ?? parent
    if whole == root { return "" }
    guard whole.hasPrefix(root == "/" ? "/" : root + "/") else { return nil }
    return String(whole.dropFirst(root == "/" ? 1 : root.count + 1))
  }
}
