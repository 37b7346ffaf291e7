import LosslessJSON
import OfflineEngine
import SupabaseAPI

/// A table mirrored into a folder: its settings, and its files' values told apart from its rows'.
struct Collection: Sendable, Hashable {
  let settings: CollectionSettings

  var folder: String { settings.folder }
  var table: String { settings.table }

  /// What the engine has to know of the table.
  var description: TableDescription {
    TableDescription(
      name: settings.table, keyColumns: settings.key, versionColumn: settings.version, cursorColumn: settings.cursor,
      columns: settings.columns.map(\.name), conditions: settings.conditions.map(\.filter))
  }

  /// The columns of a row that its file shows, without the key.
  func fileValues(_ row: JSONObject) -> JSONObject {
    var values = JSONObject()
    for column in settings.columns where !settings.isKey(column.name) {
      if let value = row[column.name] { values[column.name] = value }
    }
    return values
  }

  /// The one key column for which this device makes values; `nil` where a person or the server must say the key.
  var makeableKey: String? {
    guard settings.keyMadeBy == .device, settings.key.count == 1, let column = settings.keyColumns.first,
      column.type == .uuid || column.type == .text
    else { return nil }
    return column.name
  }

  /// The key columns with the values of `key`.
  func keyValues(_ key: RowKey) -> JSONObject {
    JSONObject(zip(settings.key, key.values).map { (name: $0, value: $1) })
  }

  /// The key whose `text` is given.
  func key(text: String) -> RowKey? {
    guard settings.key.count == 1, let column = settings.column(settings.key[0]) else {
      return (try? JSONValue(parsing: text))?.arrayValue.map(RowKey.init)
    }
    if column.type == .integer || column.type == .number { return JSONNumber(text).map { RowKey([.number($0)]) } }
    return RowKey(text)
  }

  /// What names the row's file.
  func title(_ values: JSONObject) -> String {
    settings.name.flatMap { values[$0]?.stringValue } ?? ""
  }

  /// The values of those columns that a person may set.
  func settable(_ values: JSONObject) -> JSONObject {
    JSONObject(values.members.filter { !(settings.column($0.name)?.isReadOnly ?? false) })
  }

  /// The columns among `columns` that a person may not change.
  func readOnly(_ columns: JSONObject) -> [String] {
    columns.names.filter { settings.column($0)?.isReadOnly ?? false }
  }
}

extension RowCondition {
  /// The condition as PostgREST takes it: nothing but `is` matches null.
  var filter: Filter {
    switch (comparison, value) {
    case (.eq, .null): .is(column, .null)
    case (.neq, .null): .not(column, .identity(.null))
    case (.eq, _): .eq(column, value)
    case (.neq, _): .neq(column, value)
    case (.lt, _): .lt(column, value)
    case (.lte, _): .lte(column, value)
    case (.gt, _): .gt(column, value)
    case (.gte, _): .gte(column, value)
    case (.in, _): .in(column, value.arrayValue ?? [value])
    }
  }
}
