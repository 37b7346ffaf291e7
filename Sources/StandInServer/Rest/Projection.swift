import LosslessJSON
import SQLite

/// What `select=` asks for of a table: which columns are read and how each row is written.
struct Projection {
  fileprivate struct Item {
    /// Where the column stands among those that are read.
    let place: Int
    let type: ColumnType
    let path: [JSONPathStep]
    let isText: Bool
    let cast: ColumnType?
    /// The column's own type.
    let source: ColumnType
    /// `"name":`, ready to be written.
    let prefix: [UInt8]
    let name: String
  }

  private let items: [Item]
  /// The columns to read, as places in the table.
  let columns: [Int]

  init(_ select: [SelectItem], of builder: SQLBuilder) throws(DatabaseFault) {
    let table = builder.table
    var items: [Item] = []
    var columns: [Int] = []
    func place(of index: Int) -> Int {
      if let known = columns.firstIndex(of: index) { return known }
      columns.append(index)
      return columns.count - 1
    }
    for entry in select {
      switch entry {
      case .everything:
        for (index, column) in table.columns.enumerated() {
          items.append(
            Item(
              place: place(of: index), type: column.type, path: [], isText: false, cast: nil, source: column.type,
              prefix: Self.prefix(column.name), name: column.name))
        }
      case .field(let field, let alias, let cast):
        let (_, type) = try builder.expression(field)
        guard let index = table.index(of: field.column) else { continue }
        let name = alias ?? field.path.last { $0.index == nil }?.name ?? field.column
        items.append(
          Item(
            place: place(of: index), type: field.path.isEmpty ? table.columns[index].type : type, path: field.path,
            isText: field.isText, cast: try cast.map { (name) throws(DatabaseFault) in try Self.castType(name) },
            source: table.columns[index].type,
            prefix: Self.prefix(name), name: name))
      case .relation, .aggregate: continue
      }
    }
    self.items = items
    self.columns = columns
  }

  /// The columns' names as the answer has them.
  var names: [String] { items.map(\.name) }

  /// What the row shows of its own columns, in order.
  ///
  /// - Parameters:
  ///   - row: Values of `columns`, in that order; there may be more behind them.
  ///   - now: The time of the request, for casts that read times.
  func cells(of row: [SQLiteValue], now: Timestamp) throws(DatabaseFault) -> [Cell] {
    var cells: [Cell] = []
    cells.reserveCapacity(items.count)
    for item in items {
      let (value, type) = try item.value(in: row, now: now)
      cells.append(.stored(value, type))
    }
    return cells
  }

  /// Writes the row's own columns as members of a JSON object, without braces.
  ///
  /// - Returns: Whether there were any.
  func appendMembers(
    _ row: [SQLiteValue], leavesOutNulls: Bool, to output: inout [UInt8], now: Timestamp
  ) throws(DatabaseFault) -> Bool {
    var isFirst = true
    for item in items {
      let (value, type) = try item.value(in: row, now: now)
      if leavesOutNulls, value == .null { continue }
      if !isFirst { output.append(UInt8(ascii: ",")) }
      isFirst = false
      output.append(contentsOf: item.prefix)
      if leavesOutNulls { type.appendJSONWithoutNulls(value, to: &output) } else { type.appendJSON(value, to: &output) }
    }
    return !isFirst
  }

  /// A member's name with its colon.
  static func prefix(_ name: String) -> [UInt8] {
    var prefix: [UInt8] = []
    JSONText.append(name, to: &prefix)
    prefix.append(UInt8(ascii: ":"))
    return prefix
  }

  /// Types that PostgreSQL has and the stand-in lacks.
  private static let otherTypes: Set<String> = [
    "timestamp", "time", "timetz", "interval", "bytea", "money", "inet", "cidr", "macaddr", "bit", "varbit", "xml",
    "point", "line", "lseg", "box", "path", "polygon", "circle", "tsquery", "oid", "regclass", "int8range",
    "numrange", "tsrange", "tstzrange", "daterange", "int4multirange", "jsonpath",
  ]

  private static func castType(_ name: String) throws(DatabaseFault) -> ColumnType {
    if let type = ColumnType(schemaName: name.lowercased()) { return type }
    if ["varchar", "bpchar", "char", "name", "citext"].contains(name.lowercased()) { return .text }
    if ["real", "float4", "float"].contains(name.lowercased()) { return .float8 }
    if otherTypes.contains(name.lowercased()) {
      throw DatabaseFault(
        "0A000", "The stand-in server has no type \(name).",
        hint: "Use a Supabase project or PostgREST itself for it.")
    }
    throw DatabaseFault("42704", "type \"\(name)\" does not exist")
  }
}

extension Projection.Item {
  /// The item's value in a row and the type it is written as.
  fileprivate func value(in row: [SQLiteValue], now: Timestamp) throws(DatabaseFault) -> (SQLiteValue, ColumnType) {
    var value = row[place]
    if !path.isEmpty {
      let document = source == .json || source == .jsonb ? value : source.jsonb(value)
      guard case .text(let text) = document else { return (.null, type) }
      value = JSONBText.follow(path, inText: text, asText: isText)
    }
    guard let cast, cast != type else { return (value, type) }
    return (try type.cast(value, to: cast, now: now), cast)
  }
}
