import OfflineEngine

/// Which names of rows' files side files stand beside.
///
/// A row that is gone leaves its name to its side file: as long as that stands, no other row may take the name, or the
/// side files of two rows would have one path.
struct SideNames {
  private var paths: [String: String] = [:]
  private var keys: [String: String] = [:]

  init(_ sides: [SideFile], mainPath: (String) -> String) {
    for side in sides { reserve(mainPath(side.path), for: side.key.text) }
  }

  /// The path of a row's file, as its side file names it.
  func path(of keyText: String) -> String? { paths[keyText] }

  /// Whether another row's side file stands beside a name, folded as `FileNames` folds it.
  func isTaken(folded name: String, besides keyText: String) -> Bool { keys[name].map { $0 != keyText } ?? false }

  mutating func reserve(_ path: String, for keyText: String) {
    paths[keyText] = path
    keys[FileNames.folded(WorkspacePath.name(of: path))] = keyText
  }
}
