import LosslessJSON
import OfflineEngine

/// A conflict as files for a merge tool: the three versions of the row, and what is left to decide.
public struct ConflictDraft: Sendable {
  /// The conflict's entries, by which it is known whether it has moved on.
  public var entries: [Int64]
  /// The row's file.
  public var path: String?
  /// The file as the person saw it.
  public var base: [UInt8]
  /// The person's file; empty where they deleted the row.
  public var mine: [UInt8]
  /// The file as the conflict saw the server's row; empty where the row was gone.
  public var theirs: [UInt8]
  /// All three brought together, with markers where a person must decide.
  public var merged: [UInt8]
  /// Whether there are markers in `merged`.
  public var hasMarkers: Bool
  /// Whether `merged` has what both sides changed, and leaves nothing to decide.
  public var isComplete: Bool

  /// Reads the conflict that is meant.
  ///
  /// - Throws: `WorkspaceRequestError.noSuchEntry` where none is.
  public static func read(
    _ target: WorkspaceTarget, _ transaction: EngineTransaction, _ settings: WorkspaceSettings, _ files: any FileSystem
  ) throws -> ConflictDraft {
    let all = try ConflictEntry.all(transaction, settings)
    guard let first = all.first(where: { target.means($0.mutation.id, [$0.path, $0.side]) }),
      let settings = settings.collections.first(where: { $0.table == first.mutation.write.table })
    else { throw WorkspaceRequestError.noSuchConflict(target) }
    let collection = Collection(settings: settings)
    let key = first.mutation.write.key
    let open = try transaction.conflictedMutations(collection.table, key)
    guard let newest = open.last else { throw WorkspaceRequestError.noSuchConflict(target) }
    let isDelete = newest.write.operation == .delete
    let side = try SideFiles(transaction).of(collection.folder, key).first { $0.kind == (isDelete ? .deleted : .mine) }
    let file = { (path: String?) -> RowFile? in
      guard let path, let bytes = try? files.read(path, bytesMax: RowFile.bytesMax).bytes else { return nil }
      return try? RowFile.read(bytes, settings)
    }
    let main = file(first.path)
    let text = { (values: JSONObject) -> [UInt8] in
      let whole = collection.keyValues(key).overlaid(with: values)
      // In the form of the row's own file, so that only what differs in meaning differs in text.
      return main?.document.map { RowFile.updated($0, to: whole, settings, adding: .all) }
        ?? RowFile.render(whole, settings)
    }
    let seen = side?.base ?? newest.write.base?.values ?? [:]
    let server = newest.server.map(collection.fileValues)
    let mineValues = seen.overlaid(with: open.reduce(JSONObject()) { $0.overlaid(with: $1.write.values) })
    let mine = file(side?.path)?.document?.bytes ?? side?.text ?? text(collection.fileValues(mineValues))
    let theirs = server.map(text) ?? []
    let base = Self.base(
      text(collection.fileValues((server ?? [:]).overlaid(with: seen))),
      (try? RowFile.read(mine, settings))?.notes ?? [:])
    var draft = ConflictDraft(
      entries: open.map(\.id), path: first.path, base: base, mine: isDelete ? [] : mine, theirs: theirs,
      merged: isDelete ? theirs : mine, hasMarkers: false, isComplete: false)
    if !isDelete, server != nil, let merge = RowMerge(base: base, mine: mine, theirs: theirs, collection: settings) {
      draft.merged = merge.bytes
      draft.hasMarkers = !merge.isClean
      draft.isComplete = merge.isClean
    }
    return draft
  }

  /// The base with those of the person's own members that both versions have: nothing tells which of the others is older.
  private static func base(_ text: [UInt8], _ notes: JSONObject) -> [UInt8] {
    guard var document = try? JSONDocument(parsing: text) else { return text }
    for (name, value) in document.value.objectValue ?? [:] where name.hasPrefix("$") && notes[name] != value {
      document = document.removing(name)
    }
    return document.bytes
  }
}
