import LosslessJSON
import SQLite

/// One entry of `postgres_changes`: which changes a channel wants to hear of.
struct RealtimeBinding {
  /// What the reply repeats: the entry as it came.
  let entry: JSONObject
  /// A number for the entry: equal entries have equal ones.
  let id: Int
  /// Why it hears of nothing; `nil` for an entry that is in order.
  let fault: String?

  private let kind: RowChange.Kind?
  private let table: String?
  private let filter: RealtimeFilter?
  /// The columns that were asked for; `nil` for all.
  let select: Set<String>?

  init(_ entry: JSONObject, schema: Schema, now: Timestamp) {
    self.entry = entry
    id = Self.hash(entry)
    // Any other word stands for all kinds.
    kind = entry["event"]?.stringValue.flatMap { RowChange.Kind(rawValue: $0.uppercased()) }
    let parameters = Self.parameters(entry)
    func refused(_ reason: String) -> String {
      "Unable to subscribe to changes with given parameters. \(reason) Given parameters: [\(parameters)]"
    }
    var fault: String?
    var filter: RealtimeFilter?
    var select: Set<String>?
    let schemaName = entry["schema"]?.stringValue
    let tableName = entry["table"]?.stringValue
    table = tableName == "*" ? nil : tableName
    if schemaName == nil && tableName == nil {
      fault = refused("Neither a schema nor a table is named.")
    } else if let schemaName, schemaName != "public", schemaName != "*" {
      fault = refused("Please check Realtime is enabled for the schema.")
    } else if let table {
      if let found = schema.table(named: table), found.isPublished {
        do throws(RealtimeFilter.Fault) {
          filter = try Self.filter(entry, of: found, now: now)
          select = try Self.select(entry, of: found, isExplicit: schemaName != nil && schemaName != "*")
        } catch {
          fault = refused(error.message + ".")
        }
      } else {
        fault = refused("Please check Realtime is enabled for the table.")
      }
    } else if let value = entry["filter"], value.isNull || value.stringValue != "" {
      fault = refused("A filter needs a table.")
    }
    self.fault = fault
    self.filter = filter
    self.select = select
  }

  /// The entry with its number, as the reply has it.
  var reply: JSONValue { .object(JSONObject([("id", .integer(Int64(id)))] + entry.members)) }

  /// Whether the entry is for a change.
  ///
  /// A filter sees the new row; of a delete it sees the key alone.
  func matches(_ change: RowChange) -> Bool {
    if let kind, kind != change.kind { return false }
    if let table, table != change.table.name { return false }
    guard let filter else { return true }
    if let new = change.new { return filter.matches(new.map(Optional.some)) }
    let old = change.old ?? []
    return filter.matches(
      zip(change.table.columns, old).map { change.table.primaryKey.contains($0.name) ? $1 : nil })
  }

  private static func filter(
    _ entry: JSONObject, of table: Table, now: Timestamp
  ) throws(RealtimeFilter.Fault) -> RealtimeFilter? {
    guard let value = entry["filter"] else { return nil }
    guard let text = value.stringValue else { throw RealtimeFilter.Fault(message: "The filter is not a text") }
    return text.allSatisfy { $0 == " " } ? nil : try RealtimeFilter(text, of: table, now: now)
  }

  private static func select(
    _ entry: JSONObject, of table: Table, isExplicit: Bool
  ) throws(RealtimeFilter.Fault) -> Set<String>? {
    guard let value = entry["select"] else { return nil }
    guard isExplicit, let names = value.arrayValue?.map(\.stringValue) else {
      throw RealtimeFilter.Fault(message: "A selection needs a schema, a table and a list of columns")
    }
    var found = Set(table.primaryKey)
    for name in names {
      guard let name, table.index(of: name) != nil else {
        throw RealtimeFilter.Fault(message: "invalid column for select \(name ?? "null")")
      }
      found.insert(name)
    }
    return found
  }

  private static func parameters(_ entry: JSONObject) -> String {
    entry.members.map { "\($0.name): \($0.name == "filter" ? "…" : ColumnType.plainText($0.value) ?? "null")" }
      .joined(separator: ", ")
  }

  /// A number below 2²⁷ (FNV-1a over the entry's text).
  private static func hash(_ entry: JSONObject) -> Int {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in JSONValue.object(entry).serializedBytes() { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    return Int(hash & 0x7FF_FFFF)
  }
}
