import OfflineEngine

/// The objects of a bucket that a workspace knows of.
public struct KnownObjects: Sendable {
  /// The bucket.
  public let bucket: String
  /// The table of the photos' rows.
  public let table: String
  /// The column of that table which names an object.
  public let column: String
  /// Where the photos' files lie, or would lie, by the keys of the objects that their rows name.
  public private(set) var paths: [String: String] = [:]
  /// The keys of objects that are on their way to a row, or out of the bucket.
  public private(set) var passing: Set<String> = []

  /// What is known of the photos of each collection that has some.
  public static func all(_ transaction: EngineTransaction, _ settings: WorkspaceSettings) throws -> [KnownObjects] {
    try settings.collections.compactMap { collection in
      try PhotoTable(Collection(settings: collection)).map { try KnownObjects($0, transaction) }
    }
  }

  private init(_ table: PhotoTable, _ transaction: EngineTransaction) throws {
    bucket = table.settings.bucket
    self.table = table.name
    column = PhotoTable.objectColumn
    for record in try PhotoRecords(transaction).all(table.collection.folder) {
      let row = try PhotoRowState(table, record.id, transaction).row
      if let key = row?.object ?? (record.row == nil ? nil : record.object?.key) {
        paths[key] = record.path ?? record.lastPath
      }
      passing.formUnion([record.object?.key, record.sent?.key, record.uploadKey].compactMap(\.self))
    }
    passing.formUnion(try PhotoLeftovers(transaction).all(table.collection.folder).map(\.object))
  }
}
