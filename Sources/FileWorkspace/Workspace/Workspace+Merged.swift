import LosslessJSON
import OfflineEngine

/// A whole row's file with which a conflict is to be settled.
public struct MergedText: Sendable, Hashable {
  /// The text.
  public var text: String
  /// What messages call it, such as its path.
  public var name: String
  /// The entries of the conflict that whoever made it has seen; nil takes those that there are.
  public var entries: [Int64]?

  /// Makes a merged text.
  public init(_ text: String, name: String, entries: [Int64]? = nil) {
    self.text = text
    self.name = name
    self.entries = entries
  }

  /// Reads it as a file of the row that it is to settle.
  ///
  /// - Throws: `WorkspaceRequestError.badInput` with name, line and column.
  func row(of key: RowKey, _ collection: Collection) throws -> RowFile {
    let row: RowFile
    do throws(RowFileProblem) {
      row = try RowFile.read(Array(text.utf8), collection.settings)
    } catch {
      throw WorkspaceRequestError.badInput(error.description(in: name))
    }
    guard let document = row.document else {
      throw WorkspaceRequestError.badInput("\(name):1:1: the text is empty; expected the whole file of the row")
    }
    if let other = row.key.map(RowKey.init), other != key, let column = collection.settings.key.first {
      throw problem(document, column, "this is the key of another row; expected '\(key.text)', or no key")
    }
    return row
  }

  /// Checks that what only the server sets is as the server has it.
  func checkReadOnly(_ row: RowFile, _ collection: Collection, from values: JSONObject) throws {
    guard let document = row.document, let column = row.readOnlyChanges(from: values, collection.settings).first else {
      return
    }
    throw problem(document, column, "'\(column)' is the server's to set; put back the value it had")
  }

  /// Checks that it holds all that a new row needs.
  func checkNew(_ row: RowFile, _ values: JSONObject, _ collection: Collection) throws {
    do throws(RowFileProblem) {
      try row.checkNew(values, collection.settings)
    } catch {
      throw WorkspaceRequestError.badInput(error.description(in: name))
    }
  }

  private func problem(_ document: JSONDocument, _ column: String, _ message: String) -> WorkspaceRequestError {
    .badInput(RowFileProblem(document.error(message, at: JSONPath([.name(column)]))).description(in: name))
  }
}

extension Workspace {
  /// Settles the conflicts of one row with a merged text.
  ///
  /// The columns in which it differs from the row that the conflict saw are sent, guarded by that row's version. A row that
  /// is gone is made again under its key. The side file goes to the trash, and the row's file becomes the merged text.
  public func resolve(_ target: WorkspaceTarget, with merged: MergedText) throws -> WorkspaceChange {
    let (first, collection) = try conflict(target)
    let key = first.mutation.write.key
    let row = try merged.row(of: key, collection)
    var change = WorkspaceChange(path: first.path ?? "", message: "")
    if let path = first.path { change.report.add(try look(at: [path])) }
    change.report.add(try writeRows())
    let open = try client.read { try $0.conflictedMutations(collection.table, key) }
    change.entries = open.map(\.id)
    guard let newest = open.last, merged.entries ?? change.entries == change.entries else {
      throw WorkspaceRequestError.movedOn(path: first.path ?? key.text)
    }
    try keepUnwritten(of: open.map { ($0.write, $0.write.operation == .delete ? .deleted : .mine) })
    let isSent = try client.transaction { transaction in
      let settling = Settling(transaction: transaction, collection: collection, merged: merged, row: row, key: key)
      for older in open.dropLast() { try transaction.dismissConflictedMutation(older.id) }
      return try settling.settle(newest)
    }
    if isSent { change.report.queued += 1 }
    change.report.add(try writeRows())
    if let path = first.path, let document = row.document { try? layDown(document, at: path, key, collection, &change) }
    change.message =
      "\(Self.sentence(change.entries)) settled: "
      + (isSent ? "the merged text is kept" : "it equals the server's version")
    return change
  }

  /// Gives the row's file the merged text's form, too, once it says the same: layout, order, and members that are the
  /// person's own.
  private func layDown(
    _ document: JSONDocument, at path: String, _ key: RowKey, _ collection: Collection, _ change: inout WorkspaceChange
  ) throws {
    guard let current = try content(path) else { return }
    let row = try rowFile(current.bytes, at: path, collection)
    let whole = collection.keyValues(key).overlaid(with: row.values)
    let bytes = RowFile.updated(document, to: whole, collection.settings, adding: .all)
    guard bytes != current.bytes else { return }
    try put(bytes, at: path, over: .content(current.hash))
    try keep([TrashItem(origin: path, bytes: current.bytes, reason: "replaced: the merged text is kept")])
    try take(path, &change.report)
  }
}

/// The settling of one conflict with a merged text, within one transaction.
private struct Settling {
  let transaction: EngineTransaction
  let collection: Collection
  let merged: MergedText
  let row: RowFile
  let key: RowKey

  /// - Returns: Whether anything is sent.
  func settle(_ conflict: ConflictedMutation) throws -> Bool {
    if let server = conflict.server { return try settle(conflict, over: server) }
    guard let current = try transaction.row(collection.table, key).values else {
      let base = conflict.write.base?.values ?? [:]
      let values = collection.fileValues(base.overlaid(with: conflict.write.values)).overlaid(with: row.values)
      try merged.checkNew(row, values, collection)
      try transaction.dismissConflictedMutation(conflict.id)
      try transaction.enqueue(
        .insert(
          into: collection.table, key: key,
          values: collection.keyValues(key).overlaid(with: collection.settable(values))))
      return true
    }
    // The row is there again, with a version that the conflict did not see: the server's values decide.
    try merged.checkReadOnly(row, collection, from: collection.fileValues(current))
    let columns = collection.settable(edit(row.values, from: collection.fileValues(current)))
    try transaction.dismissConflictedMutation(conflict.id)
    guard !columns.isEmpty else { return false }
    let seen = JSONObject((conflict.write.base?.values ?? [:]).members.filter { columns[$0.name] != nil })
    try transaction.enqueue(
      .update(collection.table, key: key, values: columns, base: WriteBase(values: seen, version: nil)))
    return true
  }

  private func settle(_ conflict: ConflictedMutation, over server: JSONObject) throws -> Bool {
    let theirs = collection.fileValues(server)
    try merged.checkReadOnly(row, collection, from: theirs)
    var columns = edit(row.values, from: theirs)
    // An edit of the file that still waits goes first; where the merged text says otherwise, it has the last word.
    let state = try transaction.row(collection.table, key)
    for column in Set(state.pending.flatMap(\.write.values.names)) {
      if let value = row.values[column], let waiting = state.values?[column], value != waiting {
        columns[column] = value
      }
    }
    columns = collection.settable(columns)
    if columns.isEmpty {
      try transaction.dismissConflictedMutation(conflict.id)
    } else if conflict.write.operation == .delete {
      try transaction.dismissConflictedMutation(conflict.id)
      let seen = JSONObject(server.members.filter { columns[$0.name] != nil })
      try transaction.enqueue(
        .update(
          collection.table, key: key, values: columns,
          base: WriteBase(values: seen, version: conflict.serverVersion)))
    } else {
      try transaction.resolveConflictedMutation(conflict.id, .apply(columns))
    }
    return !columns.isEmpty
  }
}
