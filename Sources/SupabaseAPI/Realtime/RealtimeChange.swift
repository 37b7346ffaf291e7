import LosslessJSON

/// One change of a row, as Realtime tells it (protocol sheet realtime, section 5).
///
/// A hint with content: of the columns some may be missing, and what is missing is unknown, not null.
public struct RealtimeChange: Sendable, Hashable {
  /// What happened to the row.
  public struct Kind: RawRepresentable, Sendable, Hashable {
    /// The word on the wire.
    public var rawValue: String
    /// A kind by its word.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// The row is new.
    public static let insert = Kind(rawValue: "INSERT")
    /// The row has other values.
    public static let update = Kind(rawValue: "UPDATE")
    /// The row is gone.
    public static let delete = Kind(rawValue: "DELETE")
  }

  /// What happened.
  public var kind: Kind
  /// The table's schema.
  public var schema: String
  /// The table.
  public var table: String
  /// The row after the change; empty for a delete.
  public var record: JSONObject
  /// What is known of the row before it: the key, or more.
  public var oldRecord: JSONObject
  /// Whether the server says that values are missing for their size or for want of rights.
  public var isCut: Bool

  /// Makes a change.
  public init(
    kind: Kind, schema: String = "public", table: String, record: JSONObject = [:], oldRecord: JSONObject = [:],
    isCut: Bool = false
  ) {
    self.kind = kind
    self.schema = schema
    self.table = table
    self.record = record
    self.oldRecord = oldRecord
    self.isCut = isCut
  }

  /// Reads the payload of a `postgres_changes` message; `nil` where it names no table.
  init?(_ payload: JSONObject) {
    guard let data = payload["data"]?.objectValue, let kind = data["type"]?.stringValue,
      let table = data["table"]?.stringValue
    else { return nil }
    self.init(
      kind: Kind(rawValue: kind), schema: data["schema"]?.stringValue ?? "public", table: table,
      record: data["record"]?.objectValue ?? [:], oldRecord: data["old_record"]?.objectValue ?? [:],
      isCut: data["errors"]?.arrayValue?.isEmpty == false)
  }
}

extension RealtimeChange: CustomStringConvertible, CustomReflectable {
  /// The kind and the table, without the row.
  public var description: String { "\(kind.rawValue) in \(schema).\(table)" }
  /// Shows what the description shows.
  public var customMirror: Mirror { Mirror(self, children: ["change": description]) }
}
