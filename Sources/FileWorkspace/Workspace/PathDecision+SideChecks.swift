import LosslessJSON
import OfflineEngine

extension PathDecision {
  /// The side files that a file at a path may be: those beside it, and those of its row, which may have another name by
  /// now.
  func sidesSettled(by reading: PathReading, _ file: FileRow, _ entry: MirrorEntry?) throws -> [SideFile] {
    var found: [SideFile] = []
    for kind in SideFileKind.allCases {
      if let side = try sides.at(sidePath(kind, of: reading.path)) { found.append(side) }
    }
    // A file that shows a key which has no file yet is that row's, whatever its name.
    if let key = entry?.base.key ?? file.key {
      found += try sides.of(collection.folder, key).filter { side in !found.contains { $0.path == side.path } }
    }
    return try found.filter { side in
      guard side.isDurable else { return false }
      if let entry { return entry.base.key == side.key }
      return try mirror.entry(collection.folder, key: side.key) == nil
    }
  }

  /// A side file that was moved to the name which its row's file had once: it would be taken for a copy of the row.
  func misplacedSide(_ reading: PathReading, _ content: FileContent, _ entry: MirrorEntry?) throws -> Problem? {
    guard entry == nil else { return nil }
    for kind in SideFileKind.allCases {
      guard let side = try sides.at(sidePath(kind, of: reading.path)), side.isDurable,
        content.status.identity == side.identity, try workspace.files.status(side.path) == nil,
        let now = try mirror.entry(collection.folder, key: side.key)?.path, try workspace.files.status(now) != nil
      else { continue }
      return Problem(
        path: reading.path,
        message:
          "this is the side file of a row whose file is '\(now)' by now; move it over that one to keep yours, or "
          + "remove it", since: workspace.now)
    }
    return nil
  }

  /// What is wrong with the key in a side file or in one that was laid over its row's file; `nil` when it is right.
  static func keyProblem(_ key: RowKey?, of side: SideFile) -> String? {
    guard let key, key != side.key else { return nil }
    return "the key in this file is not that of the row whose conflict or refusal it holds; put back \(side.key.text), "
      + "and nothing is settled until then"
  }

  /// Takes note of what a side file says by now: a text that can be read as its row is what the person means, another one
  /// is a problem and settles nothing.
  mutating func check(_ side: SideFile) throws {
    guard side.isDurable, side.kind != .deleted, let content = readSide(side.path) else { return }
    guard content.hash != ContentHash(of: side.text) else {
      try clearProblem(side.path)
      return
    }
    var problem: Problem?
    do throws(RowFileProblem) {
      let row = try RowFile.read(content.bytes, collection.settings)
      problem = Self.keyProblem(row.key.map(RowKey.init), of: side)
        .map { Problem(path: side.path, message: $0, since: workspace.now) }
    } catch {
      problem = Problem(
        path: side.path, line: error.position.line, column: error.position.column, message: error.message,
        since: workspace.now)
    }
    var side = side
    // By its number a file is known again wherever it is moved, also one that cannot be read.
    side.identity = content.status.identity
    if problem == nil { side.text = content.bytes }
    try sides.save(side)
    if let problem { try note(problem) } else { try clearProblem(side.path) }
  }

  /// Whether a side file that is gone may be meant: not while a file cannot be taken as which it may lie there.
  func mayBeSettled(_ side: SideFile, _ problems: Set<PathKey>) throws -> Bool {
    let mains = [mainPath(of: side), try mirror.entry(collection.folder, key: side.key)?.path].compactMap(\.self)
    return problems.isDisjoint(with: mains.map(PathKey.init))
  }
}
