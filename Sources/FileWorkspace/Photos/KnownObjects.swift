import OfflineEngine

/// The objects of a bucket that a workspace knows of.
public struct KnownObjects: Sendable {
  /// The bucket.
  public let bucket: String
  /// The tables whose rows name its objects.
  public private(set) var tables: [String] = []
  /// Where the photos' files lie, or would lie, by the keys of the objects that their rows name.
  public private(set) var paths: [String: String] = [:]
  /// The keys of objects that are on their way to a row, or out of the bucket.
  public private(set) var passing: Set<String> = []

  /// The column of those tables which names an object.
  public static let column = PhotoTable.objectColumn

  /// The buckets of the photos in the settings, which several collections may share.
  public static func buckets(_ settings: WorkspaceSettings) -> [String] {
    Set(tables(settings).map(\.settings.bucket)).sorted()
  }

  /// What is known of the photos in a bucket.
  public init(_ bucket: String, _ settings: WorkspaceSettings, _ transaction: EngineTransaction) throws {
    self.bucket = bucket
    for table in Self.tables(settings) where table.settings.bucket == bucket { try add(table, transaction) }
  }

  private static func tables(_ settings: WorkspaceSettings) -> [PhotoTable] {
    settings.collections.compactMap { PhotoTable(Collection(settings: $0)) }
  }

  private mutating func add(_ table: PhotoTable, _ transaction: EngineTransaction) throws {
    tables.append(table.name)
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
