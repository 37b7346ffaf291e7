import LosslessJSON
import SQLite

/// One place of a row that is shown.
enum Cell {
  /// A value of a column.
  case stored(SQLiteValue, ColumnType)
  /// The text of a `jsonb` document: what is embedded.
  case jsonb([UInt8])

  var isNull: Bool {
    switch self {
    case .stored(let value, _): value == .null
    case .jsonb(let text): text.elementsEqual("null".utf8)
    }
  }
}

/// Writes rows, with what is embedded in them, in the form that was asked for.
struct RowOutput {
  let query: ReadQuery
  let database: Database
  let media: MediaType

  private var now: Timestamp { query.context.now }

  /// The rows as one answer's body.
  func body(_ rows: [ReadQuery.Row]) throws -> [UInt8] {
    var output: [UInt8] = []
    output.reserveCapacity(rows.count * query.names.count * 32)
    switch media {
    case .csv: try appendCSV(rows, to: &output)
    case .object, .objectWithoutNulls:
      if let row = rows.first { try append(row, to: &output) }
    case .array, .arrayWithoutNulls:
      output.append(UInt8(ascii: "["))
      for (index, row) in rows.enumerated() {
        if index > 0 { output.append(contentsOf: (media == .array ? ", \n " : ",").utf8) }
        try append(row, to: &output)
      }
      output.append(UInt8(ascii: "]"))
    }
    return output
  }

  /// The first row as an object.
  func object(_ rows: [ReadQuery.Row]) throws -> [UInt8] {
    var output: [UInt8] = []
    if let row = rows.first { try append(row, to: &output) } else { output.append(contentsOf: "null".utf8) }
    return output
  }

  /// The first values of the rows, without names: the first one, or all as an array.
  func values(_ rows: [ReadQuery.Row], asArray: Bool) throws -> [UInt8] {
    var output: [UInt8] = asArray ? [UInt8(ascii: "[")] : []
    for (index, row) in (asArray ? rows[...] : rows.prefix(1)).enumerated() {
      if index > 0 { output.append(contentsOf: ", ".utf8) }
      if let cell = try cells(of: row, of: query).first { append(cell, to: &output) }
    }
    if asArray { output.append(UInt8(ascii: "]")) }
    return output.isEmpty ? Array("null".utf8) : output
  }

  /// Whether a row that a write returns has the related rows that must be there.
  func isShown(_ row: ReadQuery.Row) throws -> Bool {
    for (index, child) in query.children.enumerated() where child.plan.isInner {
      if try child.rows(of: query.key(of: index, in: row), in: database).isEmpty { return false }
    }
    return true
  }

  // MARK: JSON

  private func append(_ row: ReadQuery.Row, to output: inout [UInt8]) throws {
    output.append(UInt8(ascii: "{"))
    var hasMembers = try query.projection.appendMembers(
      row.values, leavesOutNulls: media.leavesOutNulls, to: &output, now: now)
    if !query.children.isEmpty {
      for (name, cell) in zip(query.names.dropFirst(query.projection.names.count), try embedded(in: row, of: query)) {
        if media.leavesOutNulls, cell.isNull { continue }
        if hasMembers { output.append(UInt8(ascii: ",")) }
        hasMembers = true
        output.append(contentsOf: Projection.prefix(name))
        append(cell, to: &output)
      }
    }
    output.append(UInt8(ascii: "}"))
  }

  private func append(_ cell: Cell, to output: inout [UInt8]) {
    switch cell {
    case .stored(let value, let type) where media.leavesOutNulls: type.appendJSONWithoutNulls(value, to: &output)
    case .stored(let value, let type): type.appendJSON(value, to: &output)
    case .jsonb(let text):
      if media.leavesOutNulls, let document = try? JSONValue(parsing: text) {
        output.append(contentsOf: JSONBText.withoutNulls(document).serializedBytes())
      } else {
        output.append(contentsOf: text)
      }
    }
  }

  // MARK: What is embedded

  /// The cells of a row's embedded tables.
  private func embedded(in row: ReadQuery.Row, of query: ReadQuery) throws -> [Cell] {
    var cells: [Cell] = []
    for (index, child) in query.children.enumerated() {
      if !child.plan.isSpread, child.plan.isEmpty { continue }
      let rows = try child.rows(of: query.key(of: index, in: row), in: database)
      let isToOne = child.plan.relationship?.isToOne ?? false
      switch (child.plan.isSpread, isToOne) {
      case (true, true):
        if let row = rows.first {
          cells += try self.cells(of: row, of: child)
        } else {
          cells += child.names.map { _ in .stored(.null, .text) }
        }
      case (true, false):
        let table = try rows.map { try self.cells(of: $0, of: child) }
        cells += child.names.indices.map { column in .jsonb(Self.array(table.map { $0[column] })) }
      case (false, true):
        cells.append(.jsonb(try rows.first.map { try object($0, of: child) } ?? Array("null".utf8)))
      case (false, false):
        cells.append(.jsonb(Self.array(try rows.map { .jsonb(try object($0, of: child)) })))
      }
    }
    return cells
  }

  private func cells(of row: ReadQuery.Row, of query: ReadQuery) throws -> [Cell] {
    try query.projection.cells(of: row.values, now: now) + embedded(in: row, of: query)
  }

  /// A row as `jsonb`, whose members have an order of their own and of two names keep the last.
  private func object(_ row: ReadQuery.Row, of query: ReadQuery) throws -> [UInt8] {
    let cells = try cells(of: row, of: query)
    var output: [UInt8] = [UInt8(ascii: "{")]
    for place in query.memberOrder {
      if output.count > 1 { output.append(contentsOf: ", ".utf8) }
      JSONText.append(query.names[place], to: &output)
      output.append(contentsOf: ": ".utf8)
      Self.append(cells[place], to: &output)
    }
    output.append(UInt8(ascii: "}"))
    return output
  }

  private static func array(_ cells: [Cell]) -> [UInt8] {
    var output: [UInt8] = [UInt8(ascii: "[")]
    for (index, cell) in cells.enumerated() {
      if index > 0 { output.append(contentsOf: ", ".utf8) }
      append(cell, to: &output)
    }
    output.append(UInt8(ascii: "]"))
    return output
  }

  private static func append(_ cell: Cell, to output: inout [UInt8]) {
    switch cell {
    case .stored(let value, let type): type.appendJSONB(value, to: &output)
    case .jsonb(let text): output.append(contentsOf: text)
    }
  }

  // MARK: CSV

  private func appendCSV(_ rows: [ReadQuery.Row], to output: inout [UInt8]) throws {
    output.append(contentsOf: query.names.joined(separator: ",").utf8)
    for row in rows {
      output.append(UInt8(ascii: "\n"))
      for (index, cell) in try cells(of: row, of: query).enumerated() {
        if index > 0 { output.append(UInt8(ascii: ",")) }
        guard !cell.isNull else { continue }
        let text: String? =
          switch cell {
          case .stored(let value, let type): type.postgresText(value)
          case .jsonb(let text): String(decoding: text, as: UTF8.self)
          }
        if let text { output.append(contentsOf: Self.csvField(text).utf8) }
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
}
