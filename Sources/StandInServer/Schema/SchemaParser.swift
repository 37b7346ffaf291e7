import LosslessJSON

extension Schema {
  /// Reads a schema file.
  ///
  /// - Throws: `StandInError.schema` with line, column and what was expected.
  public init(parsing text: String) throws(StandInError) {
    let document: JSONDocument
    do {
      document = try JSONDocument(parsing: text)
    } catch {
      throw .schema(line: error.position.line, column: error.position.column, reason: error.message)
    }
    do {
      self = try SchemaParser.schema(document.value)
    } catch {
      let place = document.error(error.reason, at: error.path).position
      throw .schema(line: place.line, column: place.column, reason: error.reason)
    }
  }

  /// The schema of the template `tasks-and-photos`, which needs no file.
  public static let tasksAndPhotos: Schema = {
    do { return try Schema(parsing: DefaultSchema.text) } catch { preconditionFailure("\(error)") }
  }()
}

/// Turns the JSON of a schema file into tables, and names the place of the first mistake.
enum SchemaParser {
  struct Mistake: Error {
    let path: JSONPath
    let reason: String
  }

  static func schema(_ root: JSONValue) throws(Mistake) -> Schema {
    let top = try Members(root, at: [], known: ["$schema", "tables", "functions", "storage"])
    let tables = try top.object("tables")
    var found: [Table] = []
    for (name, value) in tables {
      found.append(try table(name, value, at: ["tables", .name(name)]))
    }
    for table in found { try checkReferences(of: table, in: found) }
    return Schema(tables: found, functions: try functions(top, tables: found), storage: try storage(top))
  }

  private static func table(_ name: String, _ value: JSONValue, at path: JSONPath) throws(Mistake) -> Table {
    guard !name.isEmpty, !name.unicodeScalars.contains("\0") else {
      throw Mistake(path: path, reason: "a table needs a name")
    }
    let members = try Members(
      value, at: path,
      known: ["columns", "primaryKey", "unique", "foreignKeys", "owner", "version", "grants", "realtime"])
    var columns: [Column] = []
    let columnsPath = path.appending("columns")
    for (index, value) in try members.array("columns").enumerated() {
      let column = try column(value, of: name, at: columnsPath.appending(index))
      guard !columns.contains(where: { $0.name == column.name }) else {
        throw Mistake(
          path: columnsPath.appending(index).appending("name"), reason: "the column '\(column.name)' is there twice")
      }
      columns.append(column)
    }
    guard !columns.isEmpty else { throw Mistake(path: columnsPath, reason: "a table needs at least one column") }
    let known = columns.map(\.name)
    let primaryKey = try members.names("primaryKey", of: known) ?? []
    let owner = try members.name("owner", of: known)
    if let owner, let column = columns.first(where: { $0.name == owner }), column.type != .uuid {
      throw Mistake(path: path.appending("owner"), reason: "the owner's column '\(owner)' must be a uuid")
    }
    return Table(
      name: name, columns: columns, primaryKey: primaryKey,
      uniques: try uniques(members, of: name, known: known, at: path),
      foreignKeys: try foreignKeys(members, of: name, known: known, at: path), owner: owner,
      version: try version(members, columns: columns, at: path), grants: try grants(members, at: path),
      isPublished: try members.flag("realtime") ?? true)
  }

  private static func column(
    _ value: JSONValue, of table: String, at path: JSONPath
  ) throws(Mistake) -> Column {
    let members = try Members(value, at: path, known: ["name", "type", "notNull", "default", "check"])
    let name = try members.string("name")
    guard !name.isEmpty, !name.unicodeScalars.contains("\0") else {
      throw Mistake(path: path.appending("name"), reason: "a column needs a name")
    }
    let (type, lengthMax) = try type(named: try members.string("type"), at: path.appending("type"))
    return Column(
      name: name, type: type, notNull: try members.flag("notNull") ?? false,
      defaultValue: try defaultValue(members, type: type, at: path.appending("default")),
      check: try check(members, table: table, column: name, at: path.appending("check")), lengthMax: lengthMax)
  }

  /// A type by its name; of `varchar(n)` the greatest length too.
  static func type(named name: String, at path: JSONPath) throws(Mistake) -> (type: ColumnType, lengthMax: Int?) {
    if let type = ColumnType(schemaName: name) { return (type, nil) }
    for prefix in ["varchar(", "character varying("] where name.hasPrefix(prefix) && name.hasSuffix(")") {
      if let length = Int(name.dropFirst(prefix.count).dropLast()), length > 0 { return (.text, length) }
    }
    throw Mistake(path: path, reason: "unknown type '\(name)'; the stand-in has \(ColumnType.schemaNames)")
  }

  private static func defaultValue(
    _ members: Members, type: ColumnType, at path: JSONPath
  ) throws(Mistake) -> DefaultValue? {
    guard let value = members["default"], !value.isNull else { return nil }
    if value.objectValue != nil, type != .jsonb, type != .json {
      let function = try Members(value, at: path, known: ["function"]).string("function")
      switch (function, type) {
      case ("now", .timestamptz), ("now", .date): return .now
      case ("gen_random_uuid", .uuid): return .randomUUID
      case ("auth.uid", .uuid): return .callerID
      case ("now", _), ("gen_random_uuid", _), ("auth.uid", _):
        throw Mistake(path: path, reason: "the function '\(function)' gives no \(type.name)")
      default:
        throw Mistake(
          path: path, reason: "unknown function '\(function)'; the stand-in has now, gen_random_uuid and auth.uid")
      }
    }
    do {
      // Read once here, so that a default that is no value of its column is found now and not at the first insert.
      let stored = try type.stored(value, now: Timestamp(microseconds: 0))
      return type.postgresText(stored).map(DefaultValue.literal)
    } catch {
      throw Mistake(path: path, reason: error.message)
    }
  }

  private static func check(
    _ members: Members, table: String, column: String, at path: JSONPath
  ) throws(Mistake) -> Check? {
    guard let value = members["check"] else { return nil }
    let check = try Members(
      value, at: path, known: ["name", "notBlank", "maxLength", "trimmed", "minimum", "maximum", "oneOf"])
    var oneOf: [String]?
    if check["oneOf"] != nil {
      oneOf = []
      for (index, text) in try check.array("oneOf").enumerated() {
        guard let text = text.stringValue else {
          throw Mistake(path: path.appending("oneOf").appending(index), reason: "expected a string")
        }
        oneOf?.append(text)
      }
    }
    return Check(
      name: try check.optionalString("name") ?? "\(table)_\(column)_check",
      notBlank: try check.flag("notBlank") ?? false, maxLength: try check.integer("maxLength").map { Int($0) },
      trimmed: try check.flag("trimmed") ?? false, minimum: try check.integer("minimum"),
      maximum: try check.integer("maximum"), oneOf: oneOf)
  }

  private static func uniques(
    _ members: Members, of table: String, known: [String], at path: JSONPath
  ) throws(Mistake) -> [UniqueKey] {
    var found: [UniqueKey] = []
    for (index, value) in try members.optionalArray("unique").enumerated() {
      let place = path.appending("unique").appending(index)
      let columns = try columnNames(value, of: known, at: place)
      found.append(UniqueKey(name: "\(table)_\(columns.joined(separator: "_"))_key", columns: columns))
    }
    return found
  }

  private static func foreignKeys(
    _ members: Members, of table: String, known: [String], at path: JSONPath
  ) throws(Mistake) -> [ForeignKey] {
    var found: [ForeignKey] = []
    for (index, value) in try members.optionalArray("foreignKeys").enumerated() {
      let place = path.appending("foreignKeys").appending(index)
      let key = try Members(value, at: place, known: ["columns", "references", "onDelete"])
      let target = try Members(
        .object(try key.object("references")), at: place.appending("references"), known: ["table", "columns"])
      let columns = try key.names("columns", of: known) ?? []
      let word = try key.optionalString("onDelete") ?? "restrict"
      guard let onDelete = ForeignKey.OnDelete(rawValue: word) else {
        throw Mistake(
          path: place.appending("onDelete"), reason: "unknown '\(word)'; it is one of restrict, cascade, setNull")
      }
      var referenced: [String] = []
      for (index, name) in try target.array("columns").enumerated() {
        guard let name = name.stringValue else {
          throw Mistake(
            path: place.appending("references").appending("columns").appending(index), reason: "expected a string")
        }
        referenced.append(name)
      }
      found.append(
        ForeignKey(
          name: "\(table)_\(columns.joined(separator: "_"))_fkey", columns: columns,
          table: try target.string("table"), referenced: referenced, onDelete: onDelete))
    }
    return found
  }

  private static func version(
    _ members: Members, columns: [Column], at path: JSONPath
  ) throws(Mistake) -> Version? {
    guard let value = members["version"] else { return nil }
    let place = path.appending("version")
    let version = try Members(value, at: place, known: ["column", "kind"])
    guard let name = try version.name("column", of: columns.map(\.name)),
      let column = columns.first(where: { $0.name == name })
    else { throw Mistake(path: place, reason: "'column' is missing") }
    let word = try version.string("kind")
    switch (Version.Kind(rawValue: word), column.type) {
    case (.now?, .timestamptz): return Version(column: name, kind: .now)
    case (.integer?, .int4), (.integer?, .int8): return Version(column: name, kind: .integer)
    case (.now?, _): throw Mistake(path: place, reason: "a version by time needs a timestamptz column")
    case (.integer?, _): throw Mistake(path: place, reason: "a counted version needs an int4 or int8 column")
    case (nil, _):
      throw Mistake(path: place.appending("kind"), reason: "unknown '\(word)'; it is one of now, integer")
    }
  }

  static func grants(_ members: Members, at path: JSONPath) throws(Mistake) -> Set<Role> {
    members["grants"] == nil ? Set(Role.allCases) : try roles("grants", of: members, at: path)
  }

  static func roles(_ name: String, of members: Members, at path: JSONPath) throws(Mistake) -> Set<Role> {
    var found: Set<Role> = []
    for (index, value) in try members.array(name).enumerated() {
      guard let role = value.stringValue.flatMap(Role.init(rawValue:)) else {
        throw Mistake(
          path: path.appending(name).appending(index),
          reason: "expected one of \"anon\", \"authenticated\", \"service_role\"")
      }
      found.insert(role)
    }
    return found
  }

  /// Foreign keys are looked at when all tables are known: a table may refer to a later one.
  private static func checkReferences(of table: Table, in tables: [Table]) throws(Mistake) {
    for (index, key) in table.foreignKeys.enumerated() {
      let place: JSONPath = [
        "tables", .name(table.name), "foreignKeys", .index(index), "references",
      ]
      guard let target = tables.first(where: { $0.name == key.table }) else {
        throw Mistake(path: place.appending("table"), reason: "there is no table '\(key.table)'")
      }
      guard key.columns.count == key.referenced.count,
        target.keys.contains(where: { Set($0.columns) == Set(key.referenced) })
      else {
        throw Mistake(
          path: place.appending("columns"),
          reason: "the columns must be the primary key or a unique key of '\(key.table)', as many as refer to it")
      }
    }
  }

  static func columnNames(
    _ value: JSONValue, of known: [String], at path: JSONPath
  ) throws(Mistake) -> [String] {
    guard let elements = value.arrayValue, !elements.isEmpty else {
      throw Mistake(path: path, reason: "expected an array of column names")
    }
    var names: [String] = []
    for (index, element) in elements.enumerated() {
      guard let name = element.stringValue, known.contains(name) else {
        throw Mistake(path: path.appending(index), reason: "expected the name of a column of this table")
      }
      names.append(name)
    }
    return names
  }

  /// The members of an object of the file, read with their types.
  struct Members {
    private let object: JSONObject
    private let path: JSONPath

    init(_ value: JSONValue, at path: JSONPath, known: [String]) throws(Mistake) {
      guard let object = value.objectValue else {
        throw Mistake(path: path, reason: "expected an object, found \(value.kindName)")
      }
      for name in object.names where !known.contains(name) {
        throw Mistake(
          path: path.appending(name), reason: "unknown member '\(name)'; known are \(known.joined(separator: ", "))")
      }
      self.object = object
      self.path = path
    }

    subscript(name: String) -> JSONValue? { object[name] }

    func string(_ name: String) throws(Mistake) -> String {
      guard let text = try optionalString(name) else { throw Mistake(path: path, reason: "'\(name)' is missing") }
      return text
    }

    func optionalString(_ name: String) throws(Mistake) -> String? {
      guard let value = object[name] else { return nil }
      guard let text = value.stringValue else { throw wrong(name, value, "a string") }
      return text
    }

    func flag(_ name: String) throws(Mistake) -> Bool? {
      guard let value = object[name] else { return nil }
      guard let flag = value.boolValue else { throw wrong(name, value, "true or false") }
      return flag
    }

    func integer(_ name: String) throws(Mistake) -> Int64? {
      guard let value = object[name] else { return nil }
      guard let number = value.numberValue?.int64 else { throw wrong(name, value, "an integer") }
      return number
    }

    func object(_ name: String) throws(Mistake) -> JSONObject {
      guard let value = object[name] else { throw Mistake(path: path, reason: "'\(name)' is missing") }
      guard let found = value.objectValue else { throw wrong(name, value, "an object") }
      return found
    }

    func array(_ name: String) throws(Mistake) -> [JSONValue] {
      guard let value = object[name] else { throw Mistake(path: path, reason: "'\(name)' is missing") }
      guard let found = value.arrayValue else { throw wrong(name, value, "an array") }
      return found
    }

    func optionalArray(_ name: String) throws(Mistake) -> [JSONValue] {
      object[name] == nil ? [] : try array(name)
    }

    /// The name of one of the table's columns.
    func name(_ name: String, of known: [String]) throws(Mistake) -> String? {
      guard let text = try optionalString(name) else { return nil }
      guard known.contains(text) else {
        throw Mistake(path: path.appending(name), reason: "there is no column '\(text)'")
      }
      return text
    }

    /// Names of some of the table's columns.
    func names(_ name: String, of known: [String]) throws(Mistake) -> [String]? {
      guard let value = object[name] else { return nil }
      return try SchemaParser.columnNames(value, of: known, at: path.appending(name))
    }

    private func wrong(_ name: String, _ value: JSONValue, _ expected: String) -> Mistake {
      wrong(name, "expected \(expected), found \(value.kindName)")
    }

    func wrong(_ name: String, _ reason: String) -> Mistake { Mistake(path: path.appending(name), reason: reason) }
  }
}
