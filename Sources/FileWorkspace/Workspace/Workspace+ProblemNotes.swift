import LosslessJSON
import OfflineEngine

/// The text of `x.problem.txt`, which says beside a file why it cannot be read.
enum ProblemNote {
  /// How long a file must have stayed wrong: a save in several steps is no problem yet.
  static let delay = Duration.seconds(2)
  /// By its last line a note is known as ours; another file of that name is a person's and stays.
  private static let lastLine = "This note goes away by itself when the file is right again."

  /// - Parameter excerpt: The line with a mark below the place; empty when the problem is with the whole file.
  static func text(_ problem: Problem, excerpt: String) -> [UInt8] {
    let quoted = excerpt.isEmpty ? "" : "\n" + excerpt.split(separator: "\n").map { "    \($0)\n" }.joined()
    return Array("\(problem.description)\n\(quoted)\n\(lastLine)\n".utf8)
  }

  static func isOurs(_ bytes: [UInt8]) -> Bool {
    bytes.suffix(lastLine.utf8.count + 1).elementsEqual("\(lastLine)\n".utf8)
  }
}

extension Workspace {
  /// Remembers the notes that a complete listing shows.
  func findProblemNotes(_ names: [String], _ collection: Collection) {
    for name in names where name.utf8.last == UInt8(ascii: "t") || name.utf8.last == UInt8(ascii: "T") {
      guard case .problemNote(let main) = FileNames.kind(of: name) else { continue }
      let path = PathKey(WorkspacePath.joined(collection.folder, main))
      if problemNotes[path] == nil { problemNotes[path] = "" }
    }
  }

  /// Tells the problems of rows' files that have lasted, writes their notes, and removes those of files that are right again.
  ///
  /// - Parameter isAtOnce: Whether a problem counts however new it is: at the end of a run that has no later.
  public func writeProblemNotes(isAtOnce: Bool = false) throws -> WorkspaceReport {
    var report = WorkspaceReport()
    guard gitWork == nil else { return report }
    let problems = try notableProblems()
    let lasting = problems.filter { isAtOnce || now - $0.since >= ProblemNote.delay }
    try tell(lasting, &report)
    for problem in lasting {
      guard problemNotes[PathKey(problem.path)] != problem.description else { continue }
      // Also where it cannot be written: the problem itself is told elsewhere, and trying for ever helps nobody.
      problemNotes[PathKey(problem.path)] = problem.description
      writeNote(problem, &report)
    }
    let open = Set(problems.map { PathKey($0.path) })
    for path in problemNotes.keys.filter({ !open.contains($0) }).sorted() {
      problemNotes[path] = nil
      removeNote(of: path.text, &report)
    }
    return report
  }

  /// Tells every problem of a row's file, also one that may be over in a moment: somebody asks now.
  public func tellProblems() throws -> WorkspaceReport {
    var report = WorkspaceReport()
    try tell(notableProblems(), &report)
    return report
  }

  private func tell(_ problems: [Problem], _ report: inout WorkspaceReport) throws {
    guard !problems.isEmpty else { return }
    let untold = try client.read { try Problems($0).untold() }
    let news = problems.filter { untold.contains($0.path) }
    guard !news.isEmpty else { return }
    try client.transaction { transaction in
      for problem in news { try Problems(transaction).noteTold(problem.path) }
    }
    for problem in news { report.note(problem) }
  }

  /// When a problem is to be told, or a note written or removed next, if ever.
  func nextProblemNote() throws -> WallTime? {
    guard gitWork == nil else { return nil }
    let problems = try notableProblems()
    guard !problems.isEmpty || !problemNotes.isEmpty else { return nil }
    let untold = try client.read { try Problems($0).untold() }
    let due = problems.filter { problemNotes[PathKey($0.path)] != $0.description || untold.contains($0.path) }
      .map { $0.since + ProblemNote.delay }
    let open = Set(problems.map { PathKey($0.path) })
    let isOver = problemNotes.keys.contains { !open.contains($0) }
    return (due + (isOver ? [now] : [])).min()
  }

  /// The problems of rows' files that lie there.
  private func notableProblems() throws -> [Problem] {
    try client.read { try Problems($0).all() }.filter { problem in
      guard collection(of: problem.path) != nil, FileNames.isRowFile(WorkspacePath.name(of: problem.path)) else {
        return false
      }
      return (try? files.status(problem.path)) != nil
    }
  }

  private func notePath(_ path: String) -> String {
    WorkspacePath.joined(WorkspacePath.folder(of: path), FileNames.problemNote(of: WorkspacePath.name(of: path)))
  }

  private func writeNote(_ problem: Problem, _ report: inout WorkspaceReport) {
    let path = notePath(problem.path)
    let text = ProblemNote.text(problem, excerpt: excerpt(of: problem))
    let expected: ExpectedFile
    switch try? files.look(path, bytesMax: RowFile.bytesMax) {
    case .absent?: expected = .absent
    case .file(let content)?:
      guard ProblemNote.isOurs(content.bytes), content.bytes != text else { return }
      expected = .content(content.hash)
    case .other?, nil: return
    }
    let item = WriteBackItem(path: path, expected: expected, change: .write(text))
    if case .written? = writeBack.apply([item]).first { report.note(.note, path, "says what is wrong") }
  }

  private func removeNote(of main: String, _ report: inout WorkspaceReport) {
    let path = notePath(main)
    guard let content = try? files.read(path, bytesMax: RowFile.bytesMax), ProblemNote.isOurs(content.bytes),
      (try? files.unlink(path)) != nil
    else { return }
    report.note(.note, path, "removed")
  }

  /// The line of the file with a mark below the place, as it is now.
  private func excerpt(of problem: Problem) -> String {
    guard problem.line != nil, let collection = collection(of: problem.path),
      let bytes = (try? files.read(problem.path, bytesMax: RowFile.bytesMax))?.bytes
    else { return "" }
    do throws(RowFileProblem) {
      let row = try RowFile.read(bytes, collection.settings)
      try row.checkNew(row.values, collection.settings)
      return ""
    } catch {
      return error.position.line == problem.line && error.position.column == problem.column ? error.excerpt : ""
    }
  }
}
