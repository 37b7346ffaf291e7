import LosslessJSON
import OfflineEngine

extension CollectionSettings {
  /// The column that says whether a row is done: the Boolean `done`, or the only Boolean that a person edits.
  public var doneColumn: String? {
    let candidates = editableColumns.filter { $0.type == .boolean }
    if candidates.contains(where: { $0.name == "done" }) { return "done" }
    return candidates.count == 1 ? candidates[0].name : nil
  }
}

extension Workspace {
  /// Makes the file of a new row under a name that its title gives.
  ///
  /// - Parameter folder: The collection; the first whose files are named by a title when `nil`.
  public func add(title: String, to folder: String? = nil) throws -> WorkspaceChange {
    let collection = try collectionForTitles(folder)
    guard let column = collection.settings.name, title.contains(where: { !$0.isWhitespace }) else {
      throw WorkspaceRequestError.badInput("the title is empty; give it some words")
    }
    guard collection.makeableKey != nil else {
      throw WorkspaceRequestError.noCollection(
        "no keys are made here for '\(collection.folder)'; make a file there that says its key")
    }
    let path = try freePath(title: title, id: environment.makeID(), collection)
    let values = firstValues(column, title, collection, id: path.id)
    try put(RowFile.render(values, collection.settings), at: path.path, over: .absent)
    var change = WorkspaceChange(path: path.path, message: "added \(path.path)")
    try take(path.path, &change.report)
    return change
  }

  private func firstValues(_ column: String, _ title: String, _ collection: Collection, id: String) -> JSONObject {
    var values: JSONObject = [column: .string(title)]
    if let key = collection.makeableKey { values[key] = .string(id) }
    return values
  }

  private func collectionForTitles(_ folder: String?) throws -> Collection {
    if let folder {
      guard let found = collections.first(where: { $0.folder == folder }) else {
        let known = collections.map(\.folder).joined(separator: ", ")
        throw WorkspaceRequestError.noCollection("there is no collection '\(folder)'; tidemark.json has: \(known)")
      }
      guard found.settings.name != nil else {
        throw WorkspaceRequestError.noCollection("the rows of '\(folder)' have no title; make a file there instead")
      }
      return found
    }
    guard let first = collections.first(where: { $0.settings.name != nil }) else {
      throw WorkspaceRequestError.noCollection("no collection has a column that names its files; make a file instead")
    }
    return first
  }

  /// A name that no file has.
  func freePath(title: String, id: String, _ collection: Collection) throws -> (path: String, id: String) {
    let onDisk = try files.list(collection.folder).entries.map(\.name)
    try client.read { try loadNames(collection, $0) }
    var taken = takenNames[collection.folder] ?? TakenNames()
    for name in onDisk { taken.insert(name) }
    let name = FileNames.fileName(title: title, id: id) { taken.contains(folded: $0) }
    return (WorkspacePath.joined(collection.folder, name), id)
  }

  /// Sets the column that says whether a row is done, in the row's file.
  public func setDone(_ target: WorkspaceTarget, to isDone: Bool) throws -> WorkspaceChange {
    let path = try path(of: target)
    guard let collection = collection(of: path), let content = try content(path) else {
      throw WorkspaceRequestError.noSuchRow(target.text)
    }
    guard let column = collection.settings.doneColumn else {
      throw WorkspaceRequestError.noCollection("the rows of '\(collection.folder)' have no column that says 'done'")
    }
    let row = try rowFile(content.bytes, at: path, collection)
    let word = isDone ? "done" : "open"
    guard row.values[column] != .bool(isDone) else {
      return WorkspaceChange(path: path, message: "\(path) was \(word) already")
    }
    let values: JSONObject = [column: .bool(isDone)]
    let bytes: [UInt8]
    if let document = row.document {
      bytes = RowFile.updated(document, to: values, collection.settings, adding: .all)
    } else {
      let title = RowFile.valuesOfEmptyFile(named: WorkspacePath.name(of: path), collection.settings)
      bytes = RowFile.render(title.overlaid(with: values), collection.settings)
    }
    try put(bytes, at: path, over: .content(content.hash))
    var change = WorkspaceChange(path: path, message: "\(path) is \(word)")
    try take(path, &change.report)
    return change
  }

  /// The path of the row's file that is meant.
  private func path(of target: WorkspaceTarget) throws -> String {
    switch target {
    case .path(let path):
      let main = mainPath(of: path)
      guard FileNames.isRowFile(WorkspacePath.name(of: main)) else { throw WorkspaceRequestError.noSuchRow(path) }
      return main
    case .entry(let id): throw WorkspaceRequestError.noSuchRow(String(id))
    case .key(let text):
      // Fewer letters of a key may begin many.
      let paths = try client.read { transaction in
        try collections.flatMap { try Mirror(transaction).files($0.folder, keysBeginningWith: text) }
      }.filter { $0.keyText == text || text.utf8.count >= 4 }
      if let exact = paths.first(where: { $0.keyText == text })?.path { return exact }
      guard paths.count <= 1 else { throw WorkspaceRequestError.ambiguous(text, count: paths.count) }
      guard let path = paths.first?.path else { throw WorkspaceRequestError.noSuchRow(text) }
      return path
    }
  }
}
