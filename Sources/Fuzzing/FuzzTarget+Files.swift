import FileWorkspace
import LosslessJSON

/// What people and their programs put into a workspace.
extension FuzzTarget {
  /// A text is read alike as a value and as a document; what was read is written so that it reads the same.
  static func json(_ bytes: [UInt8]) -> String? {
    let document = try? JSONDocument(parsing: bytes)
    do throws(JSONError) {
      let value = try JSONValue(parsing: bytes)
      guard let document else { return "a value that is no document" }
      if document.value != value { return "the document says another value" }
      for style in [JSONStyle.compact, .pretty] where (try? JSONValue(parsing: value.serialized(style))) != value {
        return "what was written reads as another value"
      }
      guard let object = value.objectValue, let name = object.names.first else { return nil }
      let edited = document.setting(name, to: .string("x"))
      let reread = try? JSONDocument(parsing: edited.bytes)
      return reread?.value[name] == .string("x") ? nil : "an edit does not read back"
    } catch {
      if document != nil { return "a document that is no value" }
      let lines = bytes.count { $0 == UInt8(ascii: "\n") } + bytes.count { $0 == UInt8(ascii: "\r") } + 1
      return error.position.line < 1 || error.position.line > lines || error.position.column < 1
        ? "the error lies outside of the text" : nil
    }
  }

  private static let sampleSettings = try? WorkspaceSettings(parsing: Array(settingsTexts[0].utf8))

  /// A row's file is read, or refused with a place in it; values laid into it are read back, and nothing else changes.
  static func rows(_ bytes: [UInt8]) -> String? {
    guard let collection = sampleSettings?.collections.first else { return "no settings" }
    let row: RowFile
    do throws(RowFileProblem) {
      row = try RowFile.read(bytes, collection)
    } catch {
      return error.position.line < 1 || error.position.column < 1 ? "the problem lies outside of the text" : nil
    }
    guard let document = row.document else { return nil }
    if RowFile.updated(document, to: row.values, collection) != bytes { return "its own values change it" }
    var others = row.values
    for name in others.names where name != "id" { others[name] = name == "done" ? true : "another" }
    let updated = RowFile.updated(document, to: others, collection)
    guard let reread = try? RowFile.read(updated, collection) else { return "what was laid in cannot be read" }
    if reread.values != others || reread.key != row.key { return "what was laid in reads as something else" }
    if let new = try? RowFile.read(RowFile.render(row.values, collection), collection), new.values == row.values {
      return nil
    }
    return "a new file of its values reads as something else"
  }

  /// A change that only one side made is taken; a clean merge of rows is one that can be read.
  static func merges(_ bytes: [UInt8]) -> String? {
    let texts = bytes.split(separator: 0xFF, maxSplits: 2, omittingEmptySubsequences: false).map(Array.init)
    guard texts.count == 3 else { return nil }
    let (base, mine, theirs) = (texts[0], texts[1], texts[2])
    guard RowMerge(base: base, mine: mine, theirs: base)?.bytes == mine,
      RowMerge(base: base, mine: base, theirs: theirs)?.bytes == theirs
    else { return "a change of one side is not taken" }
    guard let merge = RowMerge(base: base, mine: mine, theirs: theirs, collection: sampleSettings?.collections.first)
    else {
      return nil
    }
    if merge.isClean != merge.disputed.isEmpty, merge.isClean { return "clean, and yet disputed" }
    let areObjects = [base, mine, theirs].allSatisfy { (try? JSONValue(parsing: $0))?.objectValue != nil }
    let ids = [mine, theirs].map { (try? JSONValue(parsing: $0))?["id"] }
    if areObjects, ids[0] == ids[1], merge.isClean, (try? JSONValue(parsing: merge.bytes)) == nil {
      return "a clean merge that cannot be read"
    }
    let (one, other) = (String(decoding: base, as: UTF8.self), String(decoding: mine, as: UTF8.self))
    let pieces = WordDiff(from: one, to: other).pieces
    let kept = pieces.compactMap { if case .removed = $0 { nil } else { $0.text } }.joined()
    return kept.utf8.elementsEqual(other.utf8) ? nil : "the marked words are not those of the new text"
  }

  /// Whatever a row is called, its file lies in its folder and is known as a row's.
  static func names(_ bytes: [UInt8]) -> String? {
    let title = String(decoding: bytes, as: UTF8.self)
    let name = FileNames.fileName(title: title, id: title) { $0.utf8.count % 3 == 0 }
    if !FileNames.isSafe(name) || name.utf8.count > FileNames.bytesMax || name.contains("/") {
      return "the name '\(name)'"
    }
    if !FileNames.isRowFile(name) { return "a name that is no row's: '\(name)'" }
    _ = FileNames.title(fromFileName: title + ".json")
    if case .sideFile(_, let main) = FileNames.kind(of: title), !FileNames.isRowFile(main) {
      return "a side file of no row's"
    }
    return nil
  }

  /// Settings are taken, or refused with a place and a reason; never anything else.
  static func settings(_ bytes: [UInt8]) -> String? {
    do throws(SettingsError) {
      let settings = try WorkspaceSettings(parsing: bytes)
      if settings.collections.isEmpty { return "settings without a collection" }
      return settings.collections.contains { $0.folder.contains("..") || $0.folder.hasPrefix("/") }
        ? "a folder outside of the workspace" : nil
    } catch {
      return "\(error)".isEmpty ? "an error without words" : nil
    }
  }

  /// Whatever git's files say, they only tell whether it is at work and where HEAD stands.
  static func git(_ bytes: [UInt8]) -> String? {
    let files = InMemoryFileSystem()
    let names = ["HEAD", "packed-refs", "logs/HEAD", "refs/heads/main", "commondir", "reftable/tables.list"]
    do {
      for folder in [".git/logs", ".git/refs/heads", ".git/reftable"] { try files.person.createFolder(folder) }
      for (name, text) in zip(names, bytes.split(separator: 0xFF, omittingEmptySubsequences: false)) {
        try files.person.save(".git/\(name)", Array(text))
      }
    } catch {
      return "the files could not be laid out: \(error)"
    }
    guard let repository = GitRepository(inside: files) else { return "a repository that is none" }
    _ = repository.head()
    _ = repository.wasMovedByCommit()
    _ = GitRepository.find(above: "/") { $0 == "/" || $0.hasSuffix(".git") ? files : nil }
    return repository.work() == nil ? nil : "at work without a sign of it"
  }
}
