import LosslessJSON
import OfflineEngine

/// Where the files of rows lie, within one transaction.
struct RowPaths {
  let transaction: EngineTransaction
  let settings: WorkspaceSettings

  func collection(_ table: String) -> CollectionSettings? { settings.collections.first { $0.table == table } }

  /// Where a row's file lies, lay, or will lie again.
  func path(_ table: String, _ key: RowKey) throws -> String? {
    guard let collection = collection(table) else { return nil }
    let mirror = Mirror(transaction)
    if let entry = try mirror.entry(collection.folder, key: key) { return entry.path ?? entry.lastPath }
    if let former = try mirror.formerPath(collection.folder, key) { return former }
    guard let side = try SideFiles(transaction).of(collection.folder, key).first,
      case .sideFile(_, let main) = FileNames.kind(of: WorkspacePath.name(of: side.path))
    else { return nil }
    return WorkspacePath.joined(collection.folder, main)
  }

  /// Where a row's side file of the given kinds lies.
  func side(_ table: String, _ key: RowKey, _ kinds: Set<SideFileKind>) throws -> String? {
    guard let collection = collection(table) else { return nil }
    return try SideFiles(transaction).of(collection.folder, key).first { kinds.contains($0.kind) }?.path
  }
}

/// A queued write, as a person is shown it.
public struct PendingEntry: Sendable, Hashable {
  /// The write.
  public var mutation: PendingMutation
  /// The row's file.
  public var path: String?

  /// The queued writes in the order in which they will be sent.
  public static func all(_ transaction: EngineTransaction, _ settings: WorkspaceSettings) throws -> [PendingEntry] {
    let paths = RowPaths(transaction: transaction, settings: settings)
    return try transaction.pendingMutations().map { mutation in
      PendingEntry(mutation: mutation, path: try paths.path(mutation.write.table, mutation.write.key))
    }
  }

  /// The entry as `tidemark pending --json` prints it.
  public var json: JSONObject {
    [
      "id": .integer(mutation.id), "path": path.map(JSONValue.string) ?? .null,
      "table": .string(mutation.write.table), "key": .string(mutation.write.key.text),
      "operation": .string(mutation.write.operation.word), "values": .object(mutation.write.values),
      "createdAt": .string(mutation.createdAt.text), "sends": .integer(Int64(mutation.sendCount)),
    ]
  }
}

/// A refused write, as a person is shown it.
public struct RejectedEntry: Sendable, Hashable {
  /// The write and the server's words.
  public var mutation: RejectedMutation
  /// The row's file.
  public var path: String?
  /// The side file that holds the person's version.
  public var side: String?

  /// The refused writes, oldest first.
  public static func all(_ transaction: EngineTransaction, _ settings: WorkspaceSettings) throws -> [RejectedEntry] {
    let paths = RowPaths(transaction: transaction, settings: settings)
    return try transaction.rejectedMutations().map { mutation in
      let write = mutation.write
      return RejectedEntry(
        mutation: mutation, path: try paths.path(write.table, write.key),
        side: try paths.side(write.table, write.key, [.refused]))
    }
  }

  /// The entry as `tidemark rejected --json` prints it.
  public var json: JSONObject {
    [
      "id": .integer(mutation.id), "path": path.map(JSONValue.string) ?? .null,
      "side": side.map(JSONValue.string) ?? .null, "table": .string(mutation.write.table),
      "key": .string(mutation.write.key.text), "operation": .string(mutation.write.operation.word),
      "values": .object(mutation.write.values), "message": .string(mutation.message),
      "answer": mutation.serverError.map { .object($0.json) } ?? .null,
      "rejectedAt": .string(mutation.rejectedAt.text),
    ]
  }
}

/// A write that met another change, as a person is shown it.
public struct ConflictEntry: Sendable, Hashable {
  /// One column in its three versions; `nil` where a version has no value to show.
  public struct Column: Sendable, Hashable {
    /// The column's name.
    public var name: String
    /// What the person saw.
    public var base: JSONValue?
    /// What the person set; `nil` where they deleted the row.
    public var mine: JSONValue?
    /// What the server has; `nil` where the row is gone.
    public var theirs: JSONValue?
    /// Whether both sides changed it, to different values.
    public var isDisputed: Bool
  }

  /// The write and the server's row.
  public var mutation: ConflictedMutation
  /// The row's file.
  public var path: String?
  /// The side file that holds the person's version.
  public var side: String?
  /// What `tidemark resolve --mine` would send, where the person has edited the side file since.
  var edited: SideEdit?

  /// The columns that a side file changes, and what they were before.
  struct SideEdit: Sendable, Hashable {
    var columns: JSONObject
    var base: JSONObject
  }

  /// The parked writes, oldest first.
  ///
  /// - Parameter files: Where the side files lie, to show them as they are now; nil shows the writes as they were made.
  public static func all(
    _ transaction: EngineTransaction, _ settings: WorkspaceSettings, _ files: (any FileSystem)? = nil
  ) throws -> [ConflictEntry] {
    let paths = RowPaths(transaction: transaction, settings: settings)
    var entries = try transaction.conflictedMutations().map { mutation in
      let write = mutation.write
      return ConflictEntry(
        mutation: mutation, path: try paths.path(write.table, write.key),
        side: try paths.side(write.table, write.key, write.operation == .delete ? [.deleted] : [.mine]))
    }
    guard let files else { return entries }
    for index in entries.indices {
      let entry = entries[index]
      // Of several the newest is sent, with all that the side file says.
      guard let side = entry.side, entries.last(where: { $0.side == side })?.mutation.id == entry.mutation.id else {
        continue
      }
      entries[index].edited = try edit(in: side, entry.mutation.write, paths, files)
    }
    return entries
  }

  /// The columns in which a side file differs from what it was made from, unless they are those of its write.
  private static func edit(
    in side: String, _ write: Write, _ paths: RowPaths, _ files: any FileSystem
  ) throws -> SideEdit? {
    guard write.operation != .delete, let collection = paths.collection(write.table),
      let record = try SideFiles(paths.transaction).at(side),
      let bytes = try? files.read(side, bytesMax: RowFile.bytesMax).bytes,
      let row = try? RowFile.read(bytes, collection)
    else { return nil }
    let columns = FileWorkspace.edit(row.values, from: record.base)
    return columns == write.values ? nil : SideEdit(columns: columns, base: record.base)
  }

  /// What each side says: of an update the columns that it sets, of a delete those that changed meanwhile.
  public var columns: [Column] { Self.columns(of: mutation, edited: edited) }

  static func columns(of mutation: ConflictedMutation, edited: SideEdit? = nil) -> [Column] {
    let (write, server) = (mutation.write, mutation.server)
    let base = (edited?.base ?? [:]).overlaid(with: write.base?.values ?? [:])
    let mine = edited?.columns ?? write.values
    let names =
      write.operation == .delete
      ? base.names.filter { name in server.map { $0[name] != base[name] } ?? true } : mine.names
    return names.map { name in
      Column(
        name: name, base: base[name], mine: write.operation == .delete ? nil : mine[name],
        theirs: server?[name],
        isDisputed: write.operation == .delete || server == nil
          || mine[name] != server?[name]
            && (write.values[name] == nil ? server?[name] != base[name] : mutation.conflictingColumns.contains(name))
      )
    }
  }

  /// The entry as `tidemark conflicts --json` prints it; a version without a value has no member.
  public var json: JSONObject {
    let columns = columns.map { column -> JSONValue in
      var json: JSONObject = ["column": .string(column.name), "disputed": .bool(column.isDisputed)]
      json["base"] = column.base
      json["mine"] = column.mine
      json["theirs"] = column.theirs
      return .object(json)
    }
    return [
      "id": .integer(mutation.id), "path": path.map(JSONValue.string) ?? .null,
      "side": side.map(JSONValue.string) ?? .null, "table": .string(mutation.write.table),
      "key": .string(mutation.write.key.text), "operation": .string(mutation.write.operation.word),
      "gone": .bool(mutation.server == nil), "message": .string(mutation.message),
      "conflictedAt": .string(mutation.conflictedAt.text), "columns": .array(columns),
    ]
  }
}

extension MutationOperation {
  /// The operation as people and scripts read it: `insert`, `upsert`, `update` or `delete`.
  public var word: String {
    switch self {
    case .insert: "insert"
    case .upsert: "upsert"
    case .update: "update"
    case .delete: "delete"
    }
  }
}
