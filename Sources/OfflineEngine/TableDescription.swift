import LosslessJSON
import SupabaseAPI

/// What the engine knows about one table of the server.
public struct TableDescription: Sendable, Hashable {
  /// The table's name in the project's default schema.
  public var name: String
  /// The columns of the primary key, in order.
  public var keyColumns: [String]
  /// The column that the server moves on every change; `nil` makes the last write win (spec 5, "Opting in").
  public var versionColumn: String?
  /// A column of server time by which a pull pages; `nil` makes every pull a sweep.
  public var cursorColumn: String?
  /// The columns that a pull reads.
  ///
  /// Key, version and cursor are read whether or not they are named here.
  public var columns: [String]
  /// Conditions that rows must meet to be pulled; a row that meets them no more counts as gone.
  public var conditions: [Filter]

  /// A description with the usual key `id`.
  public init(
    name: String, keyColumns: [String] = ["id"], versionColumn: String? = nil, cursorColumn: String? = nil,
    columns: [String], conditions: [Filter] = []
  ) {
    self.name = name
    self.keyColumns = keyColumns
    self.versionColumn = versionColumn
    self.cursorColumn = cursorColumn
    self.columns = columns
    self.conditions = conditions
  }

  /// Whether a caller keeps the table's rows, one by one, and follows their changes.
  public var isMirrored: Bool { !columns.isEmpty }

  /// The columns of a whole read, without repeats: key, version, cursor, then the rest.
  public var readColumns: [String] {
    distinct(keyColumns + [versionColumn, cursorColumn].compactMap(\.self) + columns)
  }

  /// The columns that say which row it is and at which version.
  var identityColumns: [String] { distinct(keyColumns + [versionColumn].compactMap(\.self)) }

  /// The row's version as text, exactly as the server sent it.
  public func version(of row: JSONObject) -> String? {
    versionColumn.flatMap { row[$0] }.flatMap(\.plainText)
  }

  /// The values of a row without its key: found by that, a row has it, however the server writes it.
  func besidesKey(_ row: JSONObject) -> JSONObject {
    var values = row
    for column in keyColumns { values[column] = nil }
    return values
  }

  /// The row's key, or `nil` when a key column is missing or null.
  public func key(of row: JSONObject) -> RowKey? {
    var values: [JSONValue] = []
    for column in keyColumns {
      guard let value = row[column], !value.isNull else { return nil }
      values.append(value)
    }
    return RowKey(values)
  }
}

/// The values of a row's key columns, in the table's order.
public struct RowKey: Sendable, Hashable, CustomStringConvertible {
  /// The values as the server writes them.
  public let values: [JSONValue]

  /// A key of one or more values.
  public init(_ values: [JSONValue]) { self.values = values }

  /// A key of one text column, such as a UUID.
  public init(_ text: String) { values = [.string(text)] }

  /// The key as one text, equal for equal keys: the value itself, or a JSON array of several.
  public var text: String {
    if values.count == 1, let text = values[0].plainText { return text }
    return JSONValue.array(values).serialized()
  }

  /// The key as one text by which a developer's row is found again, however the server writes what it was sent: a UUID
  /// in lower case, a number as its text.
  var identity: String {
    let texts = values.map { $0.plainText.map(\.asUUIDIsWritten) }
    guard !texts.isEmpty, !texts.contains(nil) else { return text }
    if texts.count == 1, let text = texts[0] { return text }
    return JSONValue.array(texts.map { .string($0 ?? "") }).serialized()
  }

  /// The key as one text.
  public var description: String { text }
}

extension JSONValue {
  /// The text of a string or a number as PostgREST takes it in a filter; `nil` for anything else.
  public var plainText: String? {
    switch self {
    case .string(let text): text
    case .number(let number): number.text
    default: nil
    }
  }
}

extension String {
  /// The text, in lower case when it is a UUID: as PostgreSQL writes one.
  var asUUIDIsWritten: String {
    guard utf8.count == 36 else { return self }
    var hasCapital = false
    for (index, byte) in utf8.enumerated() {
      switch (index, byte) {
      case (8, UInt8(ascii: "-")), (13, UInt8(ascii: "-")), (18, UInt8(ascii: "-")), (23, UInt8(ascii: "-")): continue
      case (8, _), (13, _), (18, _), (23, _): return self
      case (_, UInt8(ascii: "0")...UInt8(ascii: "9")), (_, UInt8(ascii: "a")...UInt8(ascii: "f")): continue
      case (_, UInt8(ascii: "A")...UInt8(ascii: "F")): hasCapital = true
      default: return self
      }
    }
    return hasCapital ? lowercased() : self
  }
}

/// The elements without later repeats.
func distinct(_ names: [String]) -> [String] {
  var seen: Set<String> = []
  return names.filter { seen.insert($0).inserted }
}
