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
              place: place(of: index), type: column.type, path: [], isText: false, cast: nil,
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
            prefix: Self.prefix(name), name: name))
      }
    }
    self.items = items
    self.columns = columns
  }

  /// The rows as one answer's body.
  ///
  /// - Parameters:
  ///   - rows: Values of `columns`, in that order.
  ///   - media: The form.
  ///   - now: The time of the request, for casts that read times.
  func body(_ rows: [[SQLiteValue]], _ media: MediaType, now: Timestamp) throws(DatabaseFault) -> [UInt8] {
    var output: [UInt8] = []
    output.reserveCapacity(rows.count * items.count * 32)
    switch media {
    case .csv:
      try appendCSV(rows, to: &output, now: now)
    case .object, .objectWithoutNulls:
      if let row = rows.first { try append(row, media, to: &output, now: now) }
    case .array, .arrayWithoutNulls:
      output.append(UInt8(ascii: "["))
      for (index, row) in rows.enumerated() {
        if index > 0 { output.append(contentsOf: (media == .array ? ", \n " : ",").utf8) }
        try append(row, media, to: &output, now: now)
      }
      output.append(UInt8(ascii: "]"))
    }
    return output
  }

  private func append(
    _ row: [SQLiteValue], _ media: MediaType, to output: inout [UInt8], now: Timestamp
  ) throws(DatabaseFault) {
    output.append(UInt8(ascii: "{"))
    var isFirst = true
    for item in items {
      let (value, type) = try item.value(in: row, now: now)
      if media.leavesOutNulls, value == .null { continue }
      if !isFirst { output.append(UInt8(ascii: ",")) }
      isFirst = false
      output.append(contentsOf: item.prefix)
      type.appendJSON(value, to: &output)
    }
    output.append(UInt8(ascii: "}"))
  }

  private func appendCSV(_ rows: [[SQLiteValue]], to output: inout [UInt8], now: Timestamp) throws(DatabaseFault) {
    output.append(contentsOf: items.map(\.name).joined(separator: ",").utf8)
    for row in rows {
      output.append(UInt8(ascii: "\n"))
      for (index, item) in items.enumerated() {
        if index > 0 { output.append(UInt8(ascii: ",")) }
        let (value, type) = try item.value(in: row, now: now)
        if let text = type.postgresText(value) { output.append(contentsOf: Self.csvField(text).utf8) }
      }
    }
  }

  /// A field in the quotes that PostgreSQL's row text puts around it.
  private static func csvField(_ text: String) -> String {
    let isPlain =
      !text.isEmpty && !text.unicodeScalars.contains { "(),\"\\ \t\n\r\u{B}\u{C}".unicodeScalars.contains($0) }
    guard !isPlain else { return text }
    var quoted = "\""
    for scalar in text.unicodeScalars {
      if scalar == "\"" || scalar == "\\" { quoted.unicodeScalars.append(scalar) }
      quoted.unicodeScalars.append(scalar)
    }
    return quoted + "\""
  }

  private static func prefix(_ name: String) -> [UInt8] {
    var prefix: [UInt8] = []
    JSONText.append(name, to: &prefix)
    prefix.append(UInt8(ascii: ":"))
    return prefix
  }

  private static func castType(_ name: String) throws(DatabaseFault) -> ColumnType {
    if let type = ColumnType(schemaName: name.lowercased()) { return type }
    if ["varchar", "bpchar", "char", "name", "citext"].contains(name.lowercased()) { return .text }
    if ["real", "float4", "float"].contains(name.lowercased()) { return .float8 }
    throw DatabaseFault("42704", "type \"\(name)\" does not exist")
  }
}

extension Projection.Item {
  /// The item's value in a row and the type it is written as.
  fileprivate func value(in row: [SQLiteValue], now: Timestamp) throws(DatabaseFault) -> (SQLiteValue, ColumnType) {
    var value = row[place]
    if !path.isEmpty {
      guard case .text(let text) = value else { return (.null, type) }
      value = JSONBText.follow(path, inText: text, asText: isText)
    }
    guard let cast, cast != type else { return (value, type) }
    return (try type.cast(value, to: cast, now: now), cast)
  }
}

extension ColumnType {
  /// Casts as PostgreSQL does: by the text of the value, but for numbers that are rounded.
  func cast(_ value: SQLiteValue, to other: ColumnType, now: Timestamp) throws(DatabaseFault) -> SQLiteValue {
    switch (self, other, value) {
    case (_, _, .null): return .null
    case (.boolean, .text, .integer(let number)): return .text(number == 0 ? "false" : "true")
    case (.int2, .numeric, .integer(let number)), (.int4, .numeric, .integer(let number)),
      (.int8, .numeric, .integer(let number)):
      return .text(String(number))
    case (.int2, .float8, .integer(let number)), (.int4, .float8, .integer(let number)),
      (.int8, .float8, .integer(let number)):
      return .real(Double(number))
    case (.float8, .int2, .real(let number)), (.float8, .int4, .real(let number)), (.float8, .int8, .real(let number)):
      let rounded = number.rounded(.toNearestOrEven)
      guard rounded.magnitude < 9e18 else { throw DatabaseFault("22003", "\(other.name) out of range") }
      return try other.stored(String(Int64(rounded)), now: now)
    case (_, .jsonb, _), (_, .json, _):
      var text: [UInt8] = []
      appendJSON(value, to: &text)
      return .text(String(decoding: text, as: UTF8.self))
    default:
      guard let text = postgresText(value) else { return .null }
      return try other.stored(text, now: now)
    }
  }
}
