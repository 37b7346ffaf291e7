import SQLite

/// A piece of SQL with the values for its question marks.
struct SQLText {
  var sql: String
  var bindings: [SQLiteValue] = []

  static func + (left: SQLText, right: SQLText) -> SQLText {
    SQLText(sql: left.sql + right.sql, bindings: left.bindings + right.bindings)
  }
}

/// Turns what a request asks of one table into SQL, and finds the mistakes that PostgreSQL finds when it plans a query:
/// columns that do not exist, operators that a type lacks, texts that are no value of their type.
struct SQLBuilder {
  let table: Table
  let now: Timestamp
  /// What the table is called in the statement.
  let alias: String
  /// What it is called in errors.
  let shownName: String
  /// The SQL of "has a related row" for the tables embedded in this one, by the name that a filter uses.
  var related: [String: SQLText] = [:]
  /// The SQL of a column of a table embedded in this one, with its type.
  var relatedExpression: (String, FieldReference) throws -> (SQLText, ColumnType)? = { _, _ in nil }

  init(table: Table, now: Timestamp, alias: String? = nil, shownName: String? = nil) {
    self.table = table
    self.now = now
    self.alias = alias ?? table.name
    self.shownName = shownName ?? table.name
  }

  /// The table as it stands behind FROM.
  var from: String { "\(table.sqlName) AS \(quoted(alias))" }

  /// A column of the table, told apart from those of other tables of the statement.
  func sqlName(_ column: Column) -> String { "\(quoted(alias)).\(column.sqlName)" }

  /// The column of a reference, or PostgreSQL's error.
  func column(_ name: String) throws(DatabaseFault) -> Column {
    guard let index = table.index(of: name) else {
      throw DatabaseFault("42703", "column \(shownName).\(name) does not exist")
    }
    return table.columns[index]
  }

  /// An expression for a field with the type of its values.
  func expression(_ field: FieldReference) throws(DatabaseFault) -> (SQLText, ColumnType) {
    let column = try column(field.column)
    let name = sqlName(column)
    guard !field.path.isEmpty else { return (SQLText(sql: name), column.type) }
    // PostgREST follows a path into any type by way of its JSON form.
    let isJSON = column.type == .jsonb || column.type == .json
    let document =
      isJSON ? SQLText(sql: name) : SQLText(sql: "tm_to_jsonb(?, \(name))", bindings: [.text(column.type.name)])
    var bindings: [SQLiteValue] = [.integer(field.isText ? 1 : 0)]
    for step in field.path {
      bindings.append(step.index.map { .integer(Int64($0)) } ?? .text(step.name))
    }
    let marks = String(repeating: ", ?", count: bindings.count)
    return (
      SQLText(sql: "tm_json(\(document.sql)\(marks))", bindings: document.bindings + bindings),
      field.isText ? .text : isJSON ? column.type : .jsonb
    )
  }

  /// All conditions together, or `nil` when there are none.
  func conditions(_ nodes: [FilterNode]) throws(DatabaseFault) -> SQLText? {
    var parts: [SQLText] = []
    for node in nodes { parts.append(try condition(node)) }
    return Self.joined(parts, by: " AND ")
  }

  /// The terms behind ORDER BY, or `nil` when there are none.
  func order(_ terms: [OrderTerm]) throws -> SQLText? {
    var parts: [SQLText] = []
    for term in terms {
      let (expression, type) =
        try term.relation.flatMap { try relatedExpression($0, term.field) } ?? expression(term.field)
      guard type != .json else {
        throw DatabaseFault(
          "42883", "could not identify an ordering operator for type json",
          hint: "Use an explicit ordering operator or modify the query.")
      }
      let column = table.index(of: term.field.column).map { table.columns[$0] }
      // Where no NULL can be, saying where NULLs go would only keep SQLite from using an index.
      let isNullable = term.relation != nil || !term.field.path.isEmpty || !(column?.notNull ?? false)
      let nulls = isNullable ? (term.nullsFirst ? " NULLS FIRST" : " NULLS LAST") : ""
      parts.append(
        SQLText(
          sql: type.comparable(expression.sql) + (term.isDescending ? " DESC" : "") + nulls,
          bindings: expression.bindings))
    }
    return Self.joined(parts, by: ", ")
  }

  static func joined(_ parts: [SQLText], by separator: String) -> SQLText? {
    guard !parts.isEmpty else { return nil }
    return SQLText(sql: parts.map(\.sql).joined(separator: separator), bindings: parts.flatMap(\.bindings))
  }

  // MARK: Conditions

  private func condition(_ node: FilterNode) throws(DatabaseFault) -> SQLText {
    switch node {
    case .group(let isNegated, let isOr, let nodes):
      var parts: [SQLText] = []
      for node in nodes { parts.append(try condition(node)) }
      let inner = Self.joined(parts, by: isOr ? " OR " : " AND ") ?? SQLText(sql: "1")
      return SQLText(sql: "\(isNegated ? "NOT " : "")(\(inner.sql))", bindings: inner.bindings)
    case .condition(let field, let isNegated, let comparison):
      if field.path.isEmpty, case .isValue(let value) = comparison, let exists = related[field.column] {
        if value == .null { return isNegated ? exists : SQLText(sql: "NOT ", bindings: []) + exists }
        if value == .notNull { return isNegated ? SQLText(sql: "NOT ", bindings: []) + exists : exists }
      }
      let (expression, type) = try expression(field)
      let inner = try self.comparison(comparison, of: expression, type)
      return isNegated ? SQLText(sql: "NOT (\(inner.sql))", bindings: inner.bindings) : inner
    }
  }

  private func comparison(
    _ comparison: Comparison, of field: SQLText, _ type: ColumnType
  ) throws(DatabaseFault) -> SQLText {
    switch comparison {
    case .compare(let name, let quantifier, let text):
      return try compare(name, quantifier, text, field, type)
    case .notEqual(let text):
      return try infix("<>", text, field, type, named: "<>")
    case .isDistinct(let text):
      return try infix("IS NOT", text, field, type, named: "=")
    case .list(let texts):
      guard type != .json else { throw .noOperator("=", left: type.name) }
      var bindings = field.bindings
      for text in texts { bindings.append(type.comparable(try type.stored(text, now: now))) }
      let marks = texts.map { _ in "?" }.joined(separator: ", ")
      return SQLText(sql: "\(type.comparable(field.sql)) IN (\(marks))", bindings: bindings)
    case .isValue(let value):
      return try isValue(value, field, type)
    case .containment(let name, let text):
      return try containment(name, text, field, type)
    case .unsupported(let what):
      throw DatabaseFault(
        "0A000", "The stand-in server does not do \(what).", hint: "Use a Supabase project or PostgREST itself for it.")
    }
  }

  private func infix(
    _ sqlOperator: String, _ text: String, _ field: SQLText, _ type: ColumnType, named name: String
  ) throws(DatabaseFault) -> SQLText {
    guard type != .json else { throw .noOperator(name, left: type.name) }
    let value = type.comparable(try type.stored(text, now: now))
    return SQLText(sql: "\(type.comparable(field.sql)) \(sqlOperator) ?", bindings: field.bindings + [value])
  }

  private func compare(
    _ name: Comparison.Operator, _ quantifier: Comparison.Quantifier?, _ text: String, _ field: SQLText,
    _ type: ColumnType
  ) throws(DatabaseFault) -> SQLText {
    guard let quantifier else { return try single(name, text, field, type) }
    guard let elements = ArrayText.parse(text) else {
      throw DatabaseFault(
        "22P02", "malformed array literal: \"\(text)\"",
        details: "Array value must start with \"{\" or dimension information.")
    }
    var parts: [SQLText] = []
    for element in elements {
      if let element {
        parts.append(try single(name, element, field, type))
      } else {
        parts.append(SQLText(sql: "NULL"))
      }
    }
    let joined = Self.joined(parts, by: quantifier == .any ? " OR " : " AND ")
    return joined.map { SQLText(sql: "(\($0.sql))", bindings: $0.bindings) }
      ?? SQLText(sql: quantifier == .any ? "0" : "1")
  }

  private func single(
    _ name: Comparison.Operator, _ text: String, _ field: SQLText, _ type: ColumnType
  ) throws(DatabaseFault) -> SQLText {
    switch name {
    case .eq: return try infix("=", text, field, type, named: "=")
    case .gt: return try infix(">", text, field, type, named: ">")
    case .gte: return try infix(">=", text, field, type, named: ">=")
    case .lt: return try infix("<", text, field, type, named: "<")
    case .lte: return try infix("<=", text, field, type, named: "<=")
    case .like, .ilike:
      guard type == .text else { throw .noOperator(name == .like ? "~~" : "~~*", left: type.name) }
      let pattern = String(text.map { $0 == "*" ? "%" : $0 })
      guard !LikePattern(pattern, ignoringCase: false).endsWithEscape else {
        throw DatabaseFault("22025", "LIKE pattern must not end with escape character")
      }
      return SQLText(
        sql: "tm_like(\(field.sql), ?, ?)", bindings: field.bindings + [.text(pattern), name == .ilike ? 1 : 0])
    case .match, .imatch:
      guard type == .text else { throw .noOperator(name == .match ? "~" : "~*", left: type.name) }
      guard RegularExpression.isValid(text) else {
        throw DatabaseFault("2201B", "invalid regular expression: the pattern cannot be read")
      }
      return SQLText(
        sql: "tm_match(\(field.sql), ?, ?)", bindings: field.bindings + [.text(text), name == .imatch ? 1 : 0])
    }
  }

  private func isValue(
    _ value: Comparison.IsValue, _ field: SQLText, _ type: ColumnType
  ) throws(DatabaseFault) -> SQLText {
    let test: String
    switch value {
    case .null: return SQLText(sql: "\(field.sql) IS NULL", bindings: field.bindings)
    case .notNull: return SQLText(sql: "\(field.sql) IS NOT NULL", bindings: field.bindings)
    case .isTrue: test = "IS 1"
    case .isFalse: test = "IS 0"
    case .unknown: test = "IS NULL"
    }
    guard type == .boolean else {
      throw DatabaseFault(
        "42804",
        "argument of IS \(value.rawValue.uppercased()) must be type boolean, not type \(type.name)")
    }
    return SQLText(sql: "\(field.sql) \(test)", bindings: field.bindings)
  }

  private func containment(
    _ name: String, _ text: String, _ field: SQLText, _ type: ColumnType
  ) throws(DatabaseFault) -> SQLText {
    let symbols = ["cs": "@>", "cd": "<@", "ov": "&&", "sl": "<<", "sr": ">>", "nxr": "&<", "nxl": "&>", "adj": "-|-"]
    let symbol = symbols[name] ?? name
    switch (type, name) {
    case (.textArray, "cs"), (.int4Array, "cs"), (.textArray, "cd"), (.int4Array, "cd"), (.textArray, "ov"),
      (.int4Array, "ov"), (.jsonb, "cs"), (.jsonb, "cd"), (.int4Range, _):
      break
    default:
      // PostgreSQL reads the value by the type first, where any operator of that name takes the type.
      _ = try type.stored(text, now: now)
      throw .noOperator(symbol, left: type.name)
    }
    let value = SQLText(sql: "?", bindings: [try type.stored(text, now: now)])
    switch (type, name) {
    case (.int4Range, _):
      return SQLText(sql: "tm_range(?, ", bindings: [.text(name)]) + field + SQLText(sql: ", ") + value
        + SQLText(sql: ")")
    case (.jsonb, "cs"): return call("tm_contains", field, value)
    case (.jsonb, _): return call("tm_contains", value, field)
    case (_, "cs"): return call("tm_array_contains", field, value)
    case (_, "cd"): return call("tm_array_contains", value, field)
    default: return call("tm_array_overlaps", field, value)
    }
  }

  private func call(_ function: String, _ left: SQLText, _ right: SQLText) -> SQLText {
    SQLText(sql: "\(function)(\(left.sql), \(right.sql))", bindings: left.bindings + right.bindings)
  }
}
