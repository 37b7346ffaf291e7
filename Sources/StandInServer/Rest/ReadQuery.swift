import SQLite

/// A plan on its way into SQL, for one caller and one moment.
///
/// Making it finds what PostgreSQL finds before it looks at a row: columns and operators that do not exist, texts that are
/// no value of their type.
final class ReadQuery {
  /// What all tables of a request share.
  struct Context {
    let caller: Caller
    let schema: Schema
    let now: Timestamp
  }

  let plan: ReadPlan
  let context: Context
  let projection: Projection
  let children: [ReadQuery]
  /// The names of what a row shows: its own columns, then what is embedded.
  let names: [String]
  /// The order of the names within a `jsonb` document, as places in `names`.
  let memberOrder: [Int]
  private let builder: SQLBuilder
  private let source: SQLText
  private let isTable: Bool
  /// Whether not the rows are wanted but how many there are.
  private let isCounting: Bool

  private static let countTable = Table(
    name: "count", columns: [Column(name: "count", type: .int8, notNull: true, defaultValue: nil, check: nil)],
    primaryKey: [], uniques: [], foreignKeys: [], owner: nil, version: nil, grants: [])
  private let filters: SQLText?
  private let order: SQLText?
  /// The columns by which the children are found, as places in the table.
  private let keyPlaces: [[Int]]
  /// What a row is read with: the projection's columns and the keys.
  private let columns: [Int]

  /// - Parameters:
  ///   - plan: What is read.
  ///   - context: For whom and when.
  ///   - source: What stands in the place of the table, such as a function's rows.
  init(_ plan: ReadPlan, _ context: Context, source: SQLText? = nil) throws {
    self.plan = plan
    self.context = context
    var builder = SQLBuilder(table: plan.table, now: context.now, alias: "t\(plan.depth)", shownName: plan.shownName)
    // PostgREST names its subqueries so, and PostgreSQL takes each name once.
    let names = plan.children.map { "\(plan.table.name)_\($0.name)_\($0.depth)" }
    if let twice = names.first(where: { name in names.count { $0 == name } > 1 }) {
      throw DatabaseFault("42712", "table name \"\(twice)\" specified more than once")
    }
    let children = try plan.children.map { try ReadQuery($0, context) }
    self.children = children
    for child in children { builder.related[child.plan.name] = try child.exists(limited: true) }
    builder.relatedExpression = { name, field in
      try children.first { $0.plan.name == name }.map { try $0.single(field) }
    }
    self.builder = builder
    self.source = source ?? SQLText(sql: builder.from)
    isTable = source == nil
    isCounting = plan.countsRows
    if let column = isCounting ? plan.order.first?.field.column : plan.columnBesideCount {
      throw DatabaseFault(
        "42803",
        "column \"\(plan.shownName).\(column)\" must appear in the GROUP BY clause or be used in an aggregate function")
    }
    if isCounting {
      projection = try Projection(plan.select, of: SQLBuilder(table: Self.countTable, now: context.now))
    } else {
      projection = try Projection(plan.select, of: builder)
    }
    filters = try builder.conditions(plan.filters)
    order = try builder.order(plan.order)
    var columns = projection.columns
    keyPlaces = children.map { child in
      (child.plan.relationship?.columns ?? []).compactMap { plan.table.index(of: $0.own) }
    }
    for place in keyPlaces.joined() where !columns.contains(place) { columns.append(place) }
    self.columns = columns
    self.names =
      projection.names
      + children.flatMap { child in
        child.plan.isSpread ? child.names : child.plan.isEmpty ? [] : [child.plan.name]
      }
    let last = Dictionary(self.names.enumerated().map { ($1, $0) }, uniquingKeysWith: { $1 })
    memberOrder = last.sorted { JSONBText.isBefore($0.key, $1.key) }.map(\.value)
  }

  // MARK: SQL

  /// Whether the caller may read all tables that are read, or PostgreSQL's error.
  func checkGrants() throws(DatabaseFault) {
    if isTable { try context.caller.checkGrant(plan.table) }
    for child in children {
      if let junction = child.plan.relationship?.junction { try context.caller.checkGrant(junction.table) }
      try child.checkGrants()
    }
  }

  /// How many rows there are without limit and offset.
  func count(in database: Database) throws -> Int {
    let condition = try condition(limited: false)
    let row = try database.first(
      "SELECT count(*) FROM \(source.sql) WHERE \(condition.sql)", source.bindings + condition.bindings)
    if case .integer(let count)? = row?[0] { return Int(count) }
    return 0
  }

  /// The places of rows that were written, in the order that was asked for.
  func sorted(_ rowIDs: [Int64], in database: Database) throws -> [Int64] {
    guard let order else { return rowIDs }
    let list = "[" + rowIDs.map(String.init).joined(separator: ",") + "]"
    let rows = try database.rows(
      "SELECT \(quoted(builder.alias)).rowid FROM \(builder.from) "
        + "WHERE \(quoted(builder.alias)).rowid IN (SELECT value FROM json_each(?)) ORDER BY \(order.sql)",
      [.text(list)] + order.bindings)
    return rows.compactMap { if case .integer(let rowID) = $0[0] { rowID } else { nil } }
  }

  /// The rows of the request's own table.
  func rows(limit: Int?, offset: Int, in database: Database) throws -> [Row] {
    try read(from: source, where: try condition(limited: true), limit: limit, offset: offset, in: database)
  }

  /// The rows that belong to one row of the table around.
  func rows(of parent: [SQLiteValue], in database: Database) throws -> [Row] {
    guard let relationship = plan.relationship else { return [] }
    guard !parent.contains(.null) else { return isCounting ? [Row(values: [0])] : [] }
    var condition = try joinedToValues(relationship, parent)
    condition = condition + SQLText(sql: " AND ") + (try self.condition(limited: true))
    return try read(
      from: from(relationship), where: condition, limit: plan.window.limit, offset: plan.window.offset, in: database)
  }

  private func read(
    from source: SQLText, where condition: SQLText, limit: Int?, offset: Int, in database: Database
  ) throws -> [Row] {
    // A select list without any column still has its rows.
    let list =
      isCounting
      ? "count(*)"
      : columns.isEmpty ? "1" : columns.map { builder.sqlName(plan.table.columns[$0]) }.joined(separator: ", ")
    var sql = "SELECT \(list) FROM \(source.sql) WHERE \(condition.sql)"
    var bindings = source.bindings + condition.bindings
    if let order {
      sql += " ORDER BY \(order.sql)"
      bindings += order.bindings
    }
    sql += " LIMIT ? OFFSET ?"
    bindings += [.integer(Int64(limit ?? -1)), .integer(Int64(offset))]
    var rows: [Row] = []
    try database.forEach(sql, bindings) { row in
      var values = [SQLiteValue]()
      values.reserveCapacity(columns.count)
      for place in columns.indices { values.append(row[place]) }
      rows.append(Row(values: values))
    }
    return rows
  }

  /// The policy, the filters, and the related rows that must be there.
  private func condition(limited: Bool) throws -> SQLText {
    var parts: [SQLText] = []
    // Only a table's rows are guarded: a function sees to what it returns by itself.
    if isTable, let policy = try context.caller.policy(of: plan.table, alias: builder.alias) { parts.append(policy) }
    if let filters { parts.append(SQLText(sql: "(") + filters + SQLText(sql: ")")) }
    for child in children where child.plan.isInner { parts.append(try child.exists(limited: limited)) }
    return SQLBuilder.joined(parts, by: " AND ") ?? SQLText(sql: "1")
  }

  /// "There is a related row", within a statement on the table around.
  private func exists(limited: Bool) throws -> SQLText {
    guard let relationship = plan.relationship else { return SQLText(sql: "1") }
    var inner =
      SQLText(sql: "EXISTS (SELECT 1 FROM ") + from(relationship) + SQLText(sql: " WHERE ")
    inner = inner + (try joinedToParent(relationship)) + SQLText(sql: " AND ") + (try condition(limited: limited))
    if limited, plan.window.limit == 0 || plan.window.offset > 0 {
      inner =
        inner
        + SQLText(
          sql: " LIMIT ? OFFSET ?",
          bindings: [.integer(Int64(plan.window.limit ?? -1)), .integer(Int64(plan.window.offset))])
    }
    return inner + SQLText(sql: ")")
  }

  /// A column of the one related row, within a statement on the table around.
  private func single(_ field: FieldReference) throws -> (SQLText, ColumnType) {
    let (expression, type) = try builder.expression(field)
    guard let relationship = plan.relationship else { return (expression, type) }
    let selected =
      SQLText(sql: "(SELECT ") + expression + SQLText(sql: " FROM ") + from(relationship)
      + SQLText(sql: " WHERE ") + (try joinedToParent(relationship)) + SQLText(sql: " AND ")
      + (try condition(limited: true)) + SQLText(sql: " LIMIT 1)")
    return (selected, type)
  }

  private var parentAlias: String { "t\(plan.depth - 1)" }
  private var junctionAlias: String { "j\(plan.depth)" }

  /// The table, with the one between where there is one.
  private func from(_ relationship: Relationship) -> SQLText {
    guard let junction = relationship.junction else { return source }
    let pairs = zip(junction.other.columns, junction.other.referenced).map { between, own in
      "\(comparable(between, of: junction.table, junctionAlias)) = \(comparable(own, of: plan.table, builder.alias))"
    }
    return source
      + SQLText(
        sql: " JOIN \(junction.table.sqlName) AS \(quoted(junctionAlias)) ON \(pairs.joined(separator: " AND "))")
  }

  /// The related columns, on the side of this table or of the table between.
  private func joining(_ relationship: Relationship) -> [(expression: String, own: String)] {
    relationship.columns.map { own, other in
      guard let junction = relationship.junction else {
        return (comparable(other, of: plan.table, builder.alias), own)
      }
      return (comparable(other, of: junction.table, junctionAlias), own)
    }
  }

  private func joinedToParent(_ relationship: Relationship) throws -> SQLText {
    try joined(relationship) { own in comparable(own, of: relationship.table, parentAlias) }
  }

  private func joinedToValues(_ relationship: Relationship, _ values: [SQLiteValue]) throws -> SQLText {
    let types = relationship.columns.map { own, _ in
      relationship.table.index(of: own).map { relationship.table.columns[$0].type } ?? .text
    }
    var joined = try joined(relationship) { _ in "?" }
    joined.bindings = zip(types, values).map { $0.comparable($1) } + joined.bindings
    return joined
  }

  private func joined(_ relationship: Relationship, _ value: (String) -> String) throws -> SQLText {
    let pairs = joining(relationship).map { expression, own in "\(expression) = \(value(own))" }
    var joined = SQLText(sql: pairs.joined(separator: " AND "))
    // The rows of the table between have their policy too.
    if let junction = relationship.junction,
      let policy = try context.caller.policy(of: junction.table, alias: junctionAlias)
    {
      joined = joined + SQLText(sql: " AND ") + policy
    }
    return joined
  }

  private func comparable(_ column: String, of table: Table, _ alias: String) -> String {
    let name = "\(quoted(alias)).\(quoted(column))"
    return table.index(of: column).map { table.columns[$0].type.comparable(name) } ?? name
  }

  // MARK: Rows

  /// A row as it was read.
  struct Row {
    /// The values of the columns that are read.
    let values: [SQLiteValue]
  }

  /// The rows that a write holds in its hands.
  func rows(of stored: [StoredRow]) -> [Row] {
    guard !isCounting else { return [Row(values: [.integer(Int64(stored.count))])] }
    return stored.map { row in Row(values: columns.map { row.values[$0] }) }
  }

  /// The values by which a child's rows are found.
  func key(of child: Int, in row: Row) -> [SQLiteValue] {
    keyPlaces[child].map { place in columns.firstIndex(of: place).map { row.values[$0] } ?? .null }
  }
}
