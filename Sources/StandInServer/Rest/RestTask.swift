import SQLite

/// One request for one table, read and ready to run.
struct RestTask: Sendable {
  let service: RestService
  let request: StandInRequest
  let query: RestQuery
  let range: RowRange
  let payload: RestPayload
  let preferences: Preferences
  let media: MediaType
  let table: Table
  let caller: Caller
  let now: Timestamp
  let profile: String?

  private var builder: SQLBuilder { SQLBuilder(table: table, now: now) }

  /// Runs it in a transaction of its own.
  func run(in database: Database) throws -> StandInAnswer {
    switch request.method {
    case "GET", "HEAD":
      return try read(database)
    default:
      return try database.transaction {
        let answer = try write(database)
        guard preferences.rollsBack == true, service.allowsRollback else { return answer }
        throw RolledBack(answer: answer)
      }
    }
  }

  // MARK: Reading

  private func read(_ database: Database) throws -> StandInAnswer {
    let projection = try Projection(query.select, of: builder)
    let filters = try builder.conditions(query.filters)
    let order = try builder.order(query.order)
    try checkGrant()
    let condition = try visible(and: filters)
    var total: Int?
    if preferences.count != nil {
      let row = try database.first(
        "SELECT count(*) FROM \(table.sqlName) WHERE \(condition.sql)", condition.bindings)
      if case .integer(let count)? = row?[0] { total = Int(count) }
    }
    let rows = try selected(projection, condition, order, in: database)
    if let total, range.offset > total {
      var error = RestError(
        416, "PGRST103", "Requested range not satisfiable",
        details: "An offset of \(range.offset) was requested, but there are only \(total) rows.",
        fields: [("Content-Range", "*/\(total)")] + appliedField)
      error.namesCode = false
      throw error
    }
    if media.isSingular, rows.count != 1 { throw Self.notSingular(rows.count) }
    let isPart = total.map { rows.count < $0 } ?? false
    return StandInAnswer(
      status: isPart ? 206 : 200,
      fields: [
        ("Content-Type", media.contentType),
        ("Content-Range", Self.contentRange(from: range.offset, count: rows.count, total: total)),
      ] + profileField + appliedField,
      body: request.method == "HEAD" ? [] : try projection.body(rows, media, now: now))
  }

  private func selected(
    _ projection: Projection, _ condition: SQLText, _ order: SQLText?, in database: Database
  ) throws -> [[SQLiteValue]] {
    // A select list without any column still has its rows.
    let columns =
      projection.columns.isEmpty ? "1" : projection.columns.map { table.columns[$0].sqlName }.joined(separator: ", ")
    var sql = "SELECT \(columns) FROM \(table.sqlName) WHERE \(condition.sql)"
    var bindings = condition.bindings
    if let order {
      sql += " ORDER BY \(order.sql)"
      bindings += order.bindings
    }
    sql += " LIMIT ? OFFSET ?"
    bindings += [.integer(Int64(range.limit ?? -1)), .integer(Int64(range.offset))]
    var rows: [[SQLiteValue]] = []
    try database.forEach(sql, bindings) { row in
      rows.append(projection.columns.indices.map { row[$0] })
    }
    return rows
  }

  // MARK: Writing

  private func write(_ database: Database) throws -> StandInAnswer {
    let writer = RowWriter(
      database: database, schema: service.schema, table: table, caller: caller, now: now,
      randomBytes: service.effects.randomBytes)
    switch request.method {
    case "POST": return try insert(writer)
    case "PATCH": return try update(writer)
    case "DELETE": return try delete(writer)
    default: return try put(writer)
    }
  }

  private func insert(_ writer: RowWriter) throws -> StandInAnswer {
    try checkColumns(payload.columns)
    let conflict = try onConflict()
    let projection = try returnedProjection()
    try checkGrant()
    let inserted = try writer.insert(payload, missingTakesDefault: preferences.missing == .useDefault, conflict)
    try checkSingular(inserted.rows.count)
    // An upsert that only updated is no creation.
    let isUpdateOnly = preferences.resolution == .mergeDuplicates && inserted.newCount == 0
    var fields: [(name: String, value: String)] = [
      ("Content-Range", "*/\(preferences.count == nil ? "*" : String(inserted.rows.count))")
    ]
    if preferences.returned == .headersOnly, let location = location(of: inserted.rows) {
      fields.append(("Location", location))
    }
    let status = isUpdateOnly ? 200 : 201
    guard let projection else { return StandInAnswer(status: status, fields: fields + appliedField) }
    let rows = try ordered(inserted.rows, in: writer.database)
    return try representation(rows, projection, status: status, fields: fields)
  }

  private func update(_ writer: RowWriter) throws -> StandInAnswer {
    try checkColumns(payload.columns)
    let changesNothing = payload.columns.isEmpty || payload.rows.isEmpty
    let found = try matching(in: writer.database, isUpdate: true, refusesUnfiltered: !changesNothing)
    let projection = try returnedProjection()
    try checkGrant()
    let rows = changesNothing ? [] : try found()
    let updated = try writer.update(
      rows, with: payload, missingTakesDefault: preferences.missing == .useDefault)
    try checkAffected(updated.count)
    try checkSingular(updated.count)
    let total = preferences.count == nil ? nil : Optional(updated.count)
    let fields = [(name: "Content-Range", value: Self.contentRange(from: 0, count: updated.count, total: total))]
    guard let projection else { return StandInAnswer(status: 204, fields: fields + appliedField) }
    return try representation(try ordered(updated, in: writer.database), projection, status: 200, fields: fields)
  }

  private func delete(_ writer: RowWriter) throws -> StandInAnswer {
    let found = try matching(in: writer.database, isUpdate: false, refusesUnfiltered: true)
    let projection = try returnedProjection()
    try checkGrant()
    let rows = try found()
    let sorted = projection == nil ? rows : try ordered(rows, in: writer.database)
    try writer.delete(rows)
    try checkAffected(rows.count)
    try checkSingular(rows.count)
    let fields = [(name: "Content-Range", value: "*/\(preferences.count == nil ? "*" : String(rows.count))")]
    guard let projection else { return StandInAnswer(status: 204, fields: fields + appliedField) }
    return try representation(sorted, projection, status: 200, fields: fields)
  }

  /// PUT: one whole row under the key that the URL names.
  private func put(_ writer: RowWriter) throws -> StandInAnswer {
    if range.isGiven {
      throw RestError(400, "PGRST114", "limit/offset querystring parameters are not allowed for PUT")
    }
    try checkColumns(payload.columns)
    var named: [String: String] = [:]
    for node in query.filters {
      guard case .condition(let field, false, .compare(.eq, nil, let text)) = node, field.path.isEmpty else { continue }
      named[field.column] = text
    }
    guard named.count == query.filters.count, Set(named.keys) == Set(table.primaryKey), let key = table.keys.first,
      !table.primaryKey.isEmpty
    else {
      throw RestError(
        405, "PGRST105", "Filters must include all and only primary key columns with 'eq' operators")
    }
    for name in table.primaryKey {
      let column = try builder.column(name)
      let wanted = try column.type.stored(named[name] ?? "", now: now)
      guard payload.rows.count == 1, let value = payload.rows[0][name],
        try column.type.stored(value, now: now) == wanted
      else {
        throw RestError(400, "PGRST115", "Payload values do not match URL in primary key column(s)")
      }
    }
    let projection = try returnedProjection()
    try checkGrant()
    let written = try writer.insert(payload, missingTakesDefault: false, .merge(key))
    guard let projection else {
      return StandInAnswer(status: 204, fields: appliedField)
    }
    return try representation(written.rows, projection, status: written.newCount > 0 ? 201 : 200, fields: [])
  }

  // MARK: Pieces

  /// Checks what the filters name at once, and gives back how to find the rows.
  private func matching(
    in database: Database, isUpdate: Bool, refusesUnfiltered: Bool
  ) throws -> () throws -> [StoredRow] {
    let filters = try builder.conditions(query.filters)
    _ = try builder.order(query.order)
    if filters == nil, refusesUnfiltered, service.requiresWhere {
      throw DatabaseFault("21000", "\(isUpdate ? "UPDATE" : "DELETE") requires a WHERE clause")
    }
    return {
      let condition = try visible(and: filters)
      let columns = table.columns.map(\.sqlName).joined(separator: ", ")
      let rows = try database.rows(
        "SELECT rowid, \(columns) FROM \(table.sqlName) WHERE \(condition.sql)", condition.bindings)
      return rows.map { row in
        guard case .integer(let rowID) = row[0] else { return StoredRow(rowID: 0, values: []) }
        return StoredRow(rowID: rowID, values: table.columns.indices.map { row[$0 + 1] })
      }
    }
  }

  /// The rows in the order that was asked for, else as they are.
  private func ordered(_ rows: [StoredRow], in database: Database) throws -> [StoredRow] {
    guard rows.count > 1, let order = try builder.order(query.order) else { return rows }
    let ids = "[" + rows.map { String($0.rowID) }.joined(separator: ",") + "]"
    let sorted = try database.rows(
      "SELECT rowid FROM \(table.sqlName) WHERE rowid IN (SELECT value FROM json_each(?)) ORDER BY \(order.sql)",
      [.text(ids)] + order.bindings)
    let places = Dictionary(rows.map { ($0.rowID, $0) }, uniquingKeysWith: { $1 })
    return sorted.compactMap { row in
      if case .integer(let rowID) = row[0] { places[rowID] } else { nil }
    }
  }

  private func representation(
    _ rows: [StoredRow], _ projection: Projection, status: Int, fields: [(name: String, value: String)]
  ) throws -> StandInAnswer {
    let values = rows.map { row in projection.columns.map { row.values[$0] } }
    return StandInAnswer(
      status: status, fields: [("Content-Type", media.contentType)] + fields + profileField + appliedField,
      body: try projection.body(values, media, now: now))
  }

  /// What `select=` names, when rows are asked for.
  private func returnedProjection() throws -> Projection? {
    preferences.returned == .representation ? try Projection(query.select, of: builder) : nil
  }

  /// The rows that the caller's policy shows, and of them those that fit.
  private func visible(and filters: SQLText?) throws -> SQLText {
    let filters = filters ?? SQLText(sql: "1")
    guard !caller.bypassesPolicies, let owner = table.owner else { return filters }
    guard caller.role == .authenticated, let userID = try caller.userID() else { return SQLText(sql: "0") }
    return SQLText(sql: "\(quoted(owner)) = ? AND ", bindings: [.text(userID)])
      + SQLText(sql: "(\(filters.sql))", bindings: filters.bindings)
  }

  private func checkGrant() throws(DatabaseFault) {
    guard table.grants.contains(caller.role) else {
      throw DatabaseFault("42501", "permission denied for table \(table.name)")
    }
  }

  private func checkColumns(_ names: [String]) throws(RestError) {
    for name in names where table.index(of: name) == nil {
      throw RestError(400, "PGRST204", "Could not find the '\(name)' column of '\(table.name)' in the schema cache")
    }
  }

  /// What happens where a key is taken.
  ///
  /// Without a resolution `on_conflict` does nothing.
  private func onConflict() throws -> RowWriter.OnConflict {
    guard let resolution = preferences.resolution else { return .fail }
    let names = query.onConflict ?? table.primaryKey
    guard !names.isEmpty else { return .fail }
    for name in names where table.index(of: name) == nil {
      throw DatabaseFault("42703", "column \"\(name)\" does not exist")
    }
    guard let key = table.keys.first(where: { Set($0.columns) == Set(names) }) else {
      throw DatabaseFault(
        "42P10", "there is no unique or exclusion constraint matching the ON CONFLICT specification")
    }
    return resolution == .mergeDuplicates ? .merge(key) : .ignore(key)
  }

  private func checkAffected(_ count: Int) throws(RestError) {
    guard preferences.isStrict == true, let limit = preferences.affectedMax, count > limit else { return }
    throw RestError(
      400, "PGRST124", "Query result exceeds max-affected preference constraint",
      details: "The query affects \(count) rows")
  }

  private func checkSingular(_ count: Int) throws(RestError) {
    if media.isSingular, count != 1 { throw Self.notSingular(count) }
  }

  private static func notSingular(_ count: Int) -> RestError {
    RestError(
      406, "PGRST116", "Cannot coerce the result to a single JSON object", details: "The result contains \(count) rows")
  }

  private func location(of rows: [StoredRow]) -> String? {
    guard let row = rows.first, rows.count == 1, !table.primaryKey.isEmpty else { return nil }
    let parts = table.primaryKey.map { name in
      let index = table.index(of: name) ?? 0
      return "\(name)=eq.\(table.columns[index].type.postgresText(row.values[index]) ?? "")"
    }
    return "/\(table.name)?\(parts.joined(separator: "&"))"
  }

  private var profileField: [(name: String, value: String)] { profile.map { [("Content-Profile", $0)] } ?? [] }

  private var appliedField: [(name: String, value: String)] {
    preferences.applied(to: request.method, allowsRollback: service.allowsRollback)
      .map { [("Preference-Applied", $0)] } ?? []
  }

  private static func contentRange(from lower: Int, count: Int, total: Int?) -> String {
    let rows = count > 0 && total != 0 ? "\(lower)-\(lower + count - 1)" : "*"
    return "\(rows)/\(total.map(String.init) ?? "*")"
  }
}
