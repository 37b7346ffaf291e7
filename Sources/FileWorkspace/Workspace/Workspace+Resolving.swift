import LosslessJSON
import OfflineEngine

extension Workspace {
  /// Settles the conflicts of one row for one side, as the file operations do (DESIGN section 4).
  ///
  /// The path of a collection's folder stands for all its files while their adoption is held.
  public func resolve(_ target: WorkspaceTarget, keepsMine: Bool) throws -> WorkspaceChange {
    if let change = try resolveAdoption(target, keepsMine: keepsMine) { return change }
    let (first, collection) = try conflict(target)
    let key = first.mutation.write.key
    var change = WorkspaceChange(path: first.path ?? "", message: "")
    if let path = first.path { change.report.add(try look(at: [path])) }
    change.report.add(try writeRows())
    let open = try client.read { try $0.conflictedMutations(collection.table, key) }
    change.entries = open.map(\.id)
    change.message = "\(Self.sentence(change.entries)) settled: \(keepsMine ? "yours" : "the server's version") is kept"
    if keepsMine {
      try keepMine(open, key, first.path, collection, &change.report)
    } else {
      try keepUnwritten(of: open.map { ($0.write, $0.write.operation == .delete ? .deleted : .mine) })
      try client.transaction { transaction in
        for conflict in open { try transaction.dismissConflictedMutation(conflict.id) }
      }
    }
    change.report.add(try writeRows())
    return change
  }

  private func resolveAdoption(_ target: WorkspaceTarget, keepsMine: Bool) throws -> WorkspaceChange? {
    guard case .path(let path) = target, let collection = collections.first(where: { $0.folder == path }) else {
      return nil
    }
    var change = WorkspaceChange(path: path, message: "")
    guard let count = try chooseAdoption(keepsMine ? .mine : .theirs, collection, &change.report) else { return nil }
    change.message =
      "\(count) files settled: " + (keepsMine ? "yours are sent" : "the server's rows are kept, yours are in the trash")
    return change
  }

  func conflict(_ target: WorkspaceTarget) throws -> (ConflictEntry, Collection) {
    let entries = try client.read { try ConflictEntry.all($0, settings) }
    guard let first = entries.first(where: { target.means($0.mutation.id, [$0.path, $0.side]) }),
      let collection = collection(table: first.mutation.write.table)
    else { throw WorkspaceRequestError.noSuchConflict(target) }
    return (first, collection)
  }

  private func keepMine(
    _ open: [ConflictedMutation], _ key: RowKey, _ path: String?, _ collection: Collection,
    _ report: inout WorkspaceReport
  ) throws {
    let (deletes, edits) = open.partitioned { $0.write.operation == .delete }
    if !edits.isEmpty {
      let side = try client.read { try SideFiles($0).of(collection.folder, key).first { $0.kind == .mine } }
      guard let side, let path, side.isDurable else {
        throw WorkspaceRequestError.notWritten(
          path: side?.path ?? path ?? key.text,
          reason: "your version does not lie beside its file yet; move away what is in its place, and sync")
      }
      try layOver(side, path, collection, &report)
    }
    guard let latest = deletes.last else { return }
    if let path { try removeFile(path, of: key, collection, reason: "settled: your delete is kept") }
    try client.transaction { transaction in
      for older in deletes.dropLast() { try transaction.dismissConflictedMutation(older.id) }
      try transaction.resolveConflictedMutation(latest.id, .keepLocal)
    }
    report.queued += 1
  }
}
