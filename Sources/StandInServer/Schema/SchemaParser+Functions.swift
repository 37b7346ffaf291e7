import LosslessJSON

extension SchemaParser {
  /// The functions of a schema file.
  static func functions(_ top: Members, tables: [Table]) throws(Mistake) -> [StoredFunction] {
    var found: [StoredFunction] = []
    for (index, value) in try top.optionalArray("functions").enumerated() {
      found.append(try function(value, tables: tables, at: ["functions", .index(index)]))
    }
    return found
  }

  private static func function(
    _ value: JSONValue, tables: [Table], at path: JSONPath
  ) throws(Mistake) -> StoredFunction {
    let members = try Members(
      value, at: path, known: ["name", "arguments", "returns", "volatility", "security", "grants", "body"])
    let name = try members.string("name")
    guard !name.isEmpty, !name.unicodeScalars.contains("\0") else {
      throw Mistake(path: path.appending("name"), reason: "a function needs a name")
    }
    var arguments: [StoredFunction.Argument] = []
    for (index, value) in try members.optionalArray("arguments").enumerated() {
      arguments.append(try argument(value, at: path.appending("arguments").appending(index)))
    }
    guard Set(arguments.map(\.name)).count == arguments.count else {
      throw Mistake(path: path.appending("arguments"), reason: "two arguments have the same name")
    }
    guard arguments.count == 1 || !arguments.contains(where: { $0.name.isEmpty }) else {
      throw Mistake(path: path.appending("arguments"), reason: "only a single argument may go without a name")
    }
    let returns = try returns(members["returns"], tables: tables, at: path.appending("returns"))
    let known = arguments.map { $0.name.isEmpty ? "1" : $0.name } + ["now", "auth.uid"]
    return StoredFunction(
      name: name, arguments: arguments, returns: returns,
      volatility: try members.word("volatility", default: .volatile),
      body: try body(members["body"], returns: returns, tables: tables, known: known, at: path.appending("body")),
      isDefiner: try members.word("security", default: Security.invoker) == .definer,
      grants: try grants(members, at: path))
  }

  private enum Security: String, CaseIterable {
    case invoker
    case definer
  }

  private static func argument(
    _ value: JSONValue, at path: JSONPath
  ) throws(Mistake) -> StoredFunction.Argument {
    let members = try Members(value, at: path, known: ["name", "type", "default", "variadic"])
    let type = try type(named: try members.string("type"), at: path.appending("type")).type
    let isVariadic = try members.flag("variadic") ?? false
    guard !isVariadic || type.element != nil else {
      throw Mistake(path: path.appending("variadic"), reason: "a variadic argument needs an array type")
    }
    var defaultValue: StoredFunction.Argument.Default?
    if let value = members["default"] {
      do {
        let stored = value.isNull ? .null : try type.stored(value, now: Timestamp(microseconds: 0))
        defaultValue = type.postgresText(stored).map { .literal($0) } ?? .null
      } catch {
        throw Mistake(path: path.appending("default"), reason: error.message)
      }
    }
    return StoredFunction.Argument(
      name: try members.optionalString("name") ?? "", type: type, defaultValue: defaultValue, isVariadic: isVariadic)
  }

  // MARK: What it returns

  private static func returns(
    _ value: JSONValue?, tables: [Table], at path: JSONPath
  ) throws(Mistake) -> StoredFunction.Returns {
    guard let value else { return .void }
    if let name = value.stringValue {
      if name == "void" { return .void }
      if tables.contains(where: { $0.name == name }) { return .row(name) }
      return .scalar(try type(named: name, at: path).type)
    }
    let members = try Members(value, at: path, known: ["setOf", "table"])
    if let name = try members.optionalString("setOf") {
      if tables.contains(where: { $0.name == name }) { return .rows(name) }
      return .scalars(try type(named: name, at: path.appending("setOf")).type)
    }
    var columns: [Column] = []
    for (index, value) in try members.array("table").enumerated() {
      let place = path.appending("table").appending(index)
      let column = try Members(value, at: place, known: ["name", "type"])
      let type = try type(named: try column.string("type"), at: place.appending("type")).type
      columns.append(
        Column(name: try column.string("name"), type: type, notNull: false, defaultValue: nil, check: nil))
    }
    guard !columns.isEmpty, Set(columns.map(\.name)).count == columns.count else {
      throw Mistake(path: path.appending("table"), reason: "expected columns with different names")
    }
    return .table(columns)
  }

  // MARK: What it does

  private static func body(
    _ value: JSONValue?, returns: StoredFunction.Returns, tables: [Table], known: [String], at path: JSONPath
  ) throws(Mistake) -> StoredFunction.Body {
    guard let value else {
      guard returns == .void else {
        throw Mistake(path: path, reason: "a function that returns something needs a 'body'")
      }
      return .nothing
    }
    let members = try Members(
      value, at: path,
      known: ["query", "insert", "values", "update", "set", "where", "delete", "raise"])
    func expression(_ members: Members, _ name: String, at path: JSONPath) throws(Mistake) -> StoredFunction.Expression?
    {
      guard let sql = try members.optionalString(name) else { return nil }
      return try self.expression(sql, known: known, at: path.appending(name))
    }
    let found: StoredFunction.Body
    if let query = try expression(members, "query", at: path) {
      found = .query(query)
    } else if let name = try members.optionalString("insert") {
      let table = try table(name, tables, at: path.appending("insert"))
      found = .insert(table: name, values: try assignments(members, "values", table, known, at: path))
    } else if let name = try members.optionalString("update") {
      let table = try table(name, tables, at: path.appending("update"))
      found = .update(
        table: name, set: try assignments(members, "set", table, known, at: path),
        condition: try expression(members, "where", at: path))
    } else if let name = try members.optionalString("delete") {
      _ = try table(name, tables, at: path.appending("delete"))
      found = .delete(table: name, condition: try expression(members, "where", at: path))
    } else {
      let place = path.appending("raise")
      let raise = try Members(
        .object(try members.object("raise")), at: place, known: ["code", "message", "detail", "hint"])
      guard let code = try expression(raise, "code", at: place),
        let message = try expression(raise, "message", at: place)
      else { throw Mistake(path: place, reason: "'code' and 'message' are needed, as SQL expressions") }
      return .raise(
        code: code, message: message, detail: try expression(raise, "detail", at: place),
        hint: try expression(raise, "hint", at: place))
    }
    try check(returns, of: found, at: path)
    return found
  }

  /// A write returns its rows, how many they were, or nothing.
  private static func check(
    _ returns: StoredFunction.Returns, of body: StoredFunction.Body, at path: JSONPath
  ) throws(Mistake) {
    let written: String
    switch body {
    case .insert(let table, _), .update(let table, _, _), .delete(let table, _): written = table
    case .nothing, .query, .raise: return
    }
    switch returns {
    case .void, .scalar(.int2), .scalar(.int4), .scalar(.int8): return
    case .row(let table) where table == written, .rows(let table) where table == written: return
    default:
      throw Mistake(
        path: path, reason: "a write returns void, the number of rows as an integer, or rows of '\(written)'")
    }
  }

  private static func table(_ name: String, _ tables: [Table], at path: JSONPath) throws(Mistake) -> Table {
    guard let table = tables.first(where: { $0.name == name }) else {
      throw Mistake(path: path, reason: "there is no table '\(name)'")
    }
    return table
  }

  private static func assignments(
    _ members: Members, _ name: String, _ table: Table, _ known: [String], at path: JSONPath
  ) throws(Mistake) -> [StoredFunction.Assignment] {
    var found: [StoredFunction.Assignment] = []
    for (column, value) in try members.object(name) {
      let place = path.appending(name).appending(column)
      guard table.index(of: column) != nil else { throw Mistake(path: place, reason: "there is no column '\(column)'") }
      guard let sql = value.stringValue else {
        throw Mistake(path: place, reason: "expected an SQL expression as a string")
      }
      found.append(
        StoredFunction.Assignment(column: column, value: try expression(sql, known: known, at: place)))
    }
    guard !found.isEmpty else { throw Mistake(path: path.appending(name), reason: "expected at least one column") }
    return found
  }

  private static func expression(
    _ sql: String, known: [String], at path: JSONPath
  ) throws(Mistake) -> StoredFunction.Expression {
    let expression = StoredFunction.Expression(sql: sql)
    for name in expression.argumentNames where !known.contains(name) {
      throw Mistake(path: path, reason: "there is no argument ':\(name)'; known are \(known.joined(separator: ", "))")
    }
    return expression
  }
}

extension SchemaParser.Members {
  /// A word of a list, or what stands for none.
  fileprivate func word<Word: RawRepresentable & CaseIterable>(
    _ name: String, default missing: Word
  ) throws(SchemaParser.Mistake) -> Word where Word.RawValue == String {
    guard let text = try optionalString(name) else { return missing }
    guard let word = Word(rawValue: text) else {
      throw wrong(name, "unknown '\(text)'; it is one of \(Word.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    return word
  }
}
