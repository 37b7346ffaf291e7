import SQLite

/// One request for one table, read and ready to run.
struct RestTask: Sendable {
  let service: RestService
  let request: StandInRequest
  let query: RestQuery
  let plan: ReadPlan
  let range: RowRange
  let payload: RestPayload
  let preferences: Preferences
  let media: MediaType
  let table: Table
  let caller: Caller
  let now: Timestamp
  let profile: String?

  private var builder: SQLBuilder { SQLBuilder(table: table, now: now) }
  private var context: ReadQuery.Context { ReadQuery.Context(caller: caller, schema: service.schema, now: now) }

  /// Runs it in a transaction of its own.
  func run(in database: Database) throws -> StandInAnswer {
    switch request.method {
    case "GET", "HEAD":
      return try read(database)
    default:
      let journal = ChangeJournal()
      let answer = try database.transaction {
        let answer = try write(database, journal)
        guard preferences.rollsBack == true, service.allowsRollback else { return answer }
        throw RolledBack(answer: answer)
      }
      service.publish(journal.changes)
      return answer
    }
  }

  // MARK: Reading

  private func read(_ database: Database) throws -> StandInAnswer {
    let read = try ReadQuery(plan, context)
    try read.checkGrants()
    return try ReadAnswer(
      request: request, range: range, preferences: preferences, media: media, profile: profile,
      allowsRollback: service.allowsRollback
    ).answer(read, in: database)
  }

  // MARK: Writing

  private func write(_ database: Database, _ journal: ChangeJournal) throws -> StandInAnswer {
    let writer = RowWriter(
      database: database, schema: service.schema, table: table, caller: caller, now: now,
      randomBytes: service.effects.randomBytes, journal: journal)
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
    let returned = try returnedRows()
    try checkGrants(returned)
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
    guard let returned else { return StandInAnswer(status: status, fields: fields + appliedField) }
    let rows = try ordered(inserted.rows, returned, in: writer.database)
    return representation(try body(rows, returned, in: writer.database), status: status, fields: fields)
  }

  private func update(_ writer: RowWriter) throws -> StandInAnswer {
    try checkColumns(payload.columns)
    let changesNothing = payload.columns.isEmpty || payload.rows.isEmpty
    let found = try matching(in: writer.database, isUpdate: true, refusesUnfiltered: !changesNothing)
    let returned = try returnedRows()
    try checkGrants(returned)
    let rows = changesNothing ? [] : try found()
    let updated = try writer.update(
      rows, with: payload, missingTakesDefault: preferences.missing == .useDefault)
    try checkAffected(updated.count)
    try checkSingular(updated.count)
    let total = preferences.count == nil ? nil : Optional(updated.count)
    let fields = [(name: "Content-Range", value: ReadAnswer.contentRange(from: 0, count: updated.count, total: total))]
    guard let returned else { return StandInAnswer(status: 204, fields: fields + appliedField) }
    let sorted = try ordered(updated, returned, in: writer.database)
    return representation(try body(sorted, returned, in: writer.database), status: 200, fields: fields)
  }

  private func delete(_ writer: RowWriter) throws -> StandInAnswer {
    let found = try matching(in: writer.database, isUpdate: false, refusesUnfiltered: true)
    let returned = try returnedRows()
    try checkGrants(returned)
    let rows = try found()
    // What is embedded is read before anything that depends on the rows goes with them.
    let body = try returned.map { returned in
      try self.body(try ordered(rows, returned, in: writer.database), returned, in: writer.database)
    }
    try writer.delete(rows)
    try checkAffected(rows.count)
    try checkSingular(rows.count)
    let fields = [(name: "Content-Range", value: "*/\(preferences.count == nil ? "*" : String(rows.count))")]
    guard let body else { return StandInAnswer(status: 204, fields: fields + appliedField) }
    return representation(body, status: 200, fields: fields)
  }

  /// PUT: one whole row under the key that the URL names.
  private func put(_ writer: RowWriter) throws -> StandInAnswer {
    if range.isGiven {
      throw RestError(400, "PGRST114", "limit/offset querystring parameters are not allowed for PUT")
    }
    try checkColumns(payload.columns)
    var named: [String: String] = [:]
    for node in query.ownFilters {
      guard case .condition(let field, false, .compare(.eq, nil, let text)) = node, field.path.isEmpty else { continue }
      named[field.column] = text
    }
    guard named.count == query.ownFilters.count, Set(named.keys) == Set(table.primaryKey), let key = table.keys.first,
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
    let returned = try returnedRows()
    try checkGrants(returned)
    let written = try writer.insert(payload, missingTakesDefault: false, .merge(key))
    guard let returned else {
      return StandInAnswer(status: 204, fields: appliedField)
    }
    return representation(
      try body(written.rows, returned, in: writer.database), status: written.newCount > 0 ? 201 : 200, fields: [])
  }

  // MARK: Pieces

  /// Checks what the filters name at once, and gives back how to find the rows.
  private func matching(
    in database: Database, isUpdate: Bool, refusesUnfiltered: Bool
  ) throws -> () throws -> [StoredRow] {
    let filters = try builder.conditions(query.ownFilters)
    if preferences.returned != .representation { _ = try builder.order(query.ownOrder.filter { $0.relation == nil }) }
    if filters == nil, refusesUnfiltered, service.requiresWhere {
      throw DatabaseFault("21000", "\(isUpdate ? "UPDATE" : "DELETE") requires a WHERE clause")
    }
    return {
      let policy = try caller.policy(of: table, alias: builder.alias)
      let parts = [policy, filters.map { SQLText(sql: "(") + $0 + SQLText(sql: ")") }].compactMap { $0 }
      let condition = SQLBuilder.joined(parts, by: " AND ") ?? SQLText(sql: "1")
      let columns = table.columns.map(\.sqlName).joined(separator: ", ")
      let rows = try database.rows(
        "SELECT rowid, \(columns) FROM \(builder.from) WHERE \(condition.sql)", condition.bindings)
      return rows.map { row in
        guard case .integer(let rowID) = row[0] else { return StoredRow(rowID: 0, values: []) }
        return StoredRow(rowID: rowID, values: table.columns.indices.map { row[$0 + 1] })
      }
    }
  }

  /// The rows in the order that was asked for, else as they are.
  private func ordered(_ rows: [StoredRow], _ returned: ReadQuery, in database: Database) throws -> [StoredRow] {
    guard rows.count > 1, !query.ownOrder.isEmpty else { return rows }
    let places = Dictionary(rows.map { ($0.rowID, $0) }, uniquingKeysWith: { $1 })
    return try returned.sorted(rows.map(\.rowID), in: database).compactMap { places[$0] }
  }

  /// The rows that were written, with what is embedded in them.
  private func body(_ rows: [StoredRow], _ returned: ReadQuery, in database: Database) throws -> [UInt8] {
    let output = RowOutput(query: returned, database: database, media: media)
    return try output.body(try returned.rows(of: rows).filter(output.isShown))
  }

  private func representation(
    _ body: [UInt8], status: Int, fields: [(name: String, value: String)]
  ) -> StandInAnswer {
    StandInAnswer(
      status: status, fields: [("Content-Type", media.contentType)] + fields + profileField + appliedField, body: body)
  }

  /// What `select=` names, when rows are asked for.
  private func returnedRows() throws -> ReadQuery? {
    preferences.returned == .representation ? try ReadQuery(plan, context) : nil
  }

  private func checkGrants(_ returned: ReadQuery?) throws {
    try caller.checkGrant(table)
    try returned?.checkGrants()
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
    throw Self.tooManyAffected(count)
  }

  static func tooManyAffected(_ count: Int) -> RestError {
    RestError(
      400, "PGRST124", "Query result exceeds max-affected preference constraint",
      details: "The query affects \(count) rows")
  }

  private func checkSingular(_ count: Int) throws(RestError) {
    if media.isSingular, count != 1 { throw ReadAnswer.notSingular(count) }
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
}
