import LosslessJSON
import SQLite

/// A row as it stands in SQLite.
struct StoredRow {
  let rowID: Int64
  /// The values of all columns, in the table's order.
  var values: [SQLiteValue]
}

/// Writes rows of one table with everything that PostgreSQL does around it, in its order: casts, defaults, the version,
/// the policy, null and check constraints, unique keys, foreign keys.
///
/// Runs within a transaction of the caller's; an error means that the transaction must be undone.
struct RowWriter {
  let database: Database
  let schema: Schema
  let table: Table
  let caller: Caller
  let now: Timestamp
  let randomBytes: @Sendable (Int) -> [UInt8]
  /// Gets every row that is written.
  let journal: ChangeJournal

  // MARK: Insert

  /// What an insert did.
  struct Inserted {
    /// The rows that were inserted or updated, in the order of the body.
    var rows: [StoredRow] = []
    /// How many of them were new.
    var newCount = 0
  }

  /// What an insert does where a key is taken.
  enum OnConflict {
    case fail
    /// Leaves the row as it is.
    case ignore(UniqueKey)
    /// Gives the row the values that came.
    case merge(UniqueKey)
  }

  /// Inserts the rows of a payload.
  func insert(_ payload: RestPayload, missingTakesDefault: Bool, _ onConflict: OnConflict) throws -> Inserted {
    let places = try columnPlaces(payload.columns)
    // All casts come first: PostgreSQL reads the whole body into rows before it inserts one.
    let given = try payload.rows.map { row in
      try places.compactMap { place -> (place: Int, value: SQLiteValue)? in
        guard let value = row[table.columns[place].name] else { return missingTakesDefault ? nil : (place, .null) }
        return (place, try table.columns[place].stored(value, now: now))
      }
    }
    return try insert(given, merging: places, onConflict)
  }

  /// Inserts rows of which some columns are given; the others take their defaults.
  ///
  /// - Parameter merging: The columns that a row in the way takes over.
  func insert(
    _ given: [[(place: Int, value: SQLiteValue)]], merging places: [Int] = [], _ onConflict: OnConflict
  ) throws -> Inserted {
    var inserted = Inserted()
    var touched: Set<Int64> = []
    for values in given {
      var row = [SQLiteValue?](repeating: nil, count: table.columns.count)
      for (place, value) in values { row[place] = value }
      let complete = try zip(row, table.columns).map { value, column in try value ?? defaultValue(of: column) }
      try checkPolicy(complete)
      try checkConstraints(complete)
      switch onConflict {
      case .fail: break
      case .ignore(let key):
        if try rowID(holding: key, complete) != nil { continue }
      case .merge(let key):
        guard let rowID = try rowID(holding: key, complete) else { break }
        guard touched.insert(rowID).inserted else {
          throw DatabaseFault(
            "21000", "ON CONFLICT DO UPDATE command cannot affect row a second time",
            hint:
              "Ensure that no rows proposed for insertion within the same command have duplicate constrained values.")
        }
        if let merged = try merge(complete, places, into: rowID) { inserted.rows.append(merged) }
        continue
      }
      try checkUniqueKeys(complete, except: nil)
      let columns = table.columns.map(\.sqlName).joined(separator: ", ")
      let marks = table.columns.map { _ in "?" }.joined(separator: ", ")
      try database.execute("INSERT INTO \(table.sqlName) (\(columns)) VALUES (\(marks))", complete)
      let rowID = database.lastInsertRowID
      touched.insert(rowID)
      note(.insert, nil, complete)
      inserted.rows.append(StoredRow(rowID: rowID, values: complete))
      inserted.newCount += 1
    }
    for row in inserted.rows { try checkForeignKeys(row.values) }
    return inserted
  }

  /// Gives the row in the way the columns that came.
  private func merge(_ values: [SQLiteValue], _ places: [Int], into rowID: Int64) throws -> StoredRow? {
    guard !places.isEmpty, let old = try row(rowID) else { return nil }
    if !caller.bypassesPolicies, let owner = table.owner, let index = table.index(of: owner) {
      guard caller.role == .authenticated, old.values[index] == .optional(try caller.userID()) else {
        throw DatabaseFault(
          "42501", "new row violates row-level security policy (USING expression) for table \"\(table.name)\"")
      }
    }
    return try update(old, changing: places.map { ($0, values[$0]) })
  }

  // MARK: Update

  /// Changes rows; a payload without columns or rows changes none.
  func update(_ rows: [StoredRow], with payload: RestPayload, missingTakesDefault: Bool) throws -> [StoredRow] {
    let places = try columnPlaces(payload.columns)
    guard let given = payload.rows.first, !places.isEmpty else { return [] }
    var changes: [(place: Int, value: SQLiteValue)] = []
    for place in places {
      let column = table.columns[place]
      if let value = given[column.name] {
        changes.append((place, try column.stored(value, now: now)))
      } else {
        changes.append((place, missingTakesDefault ? try defaultValue(of: column) : .null))
      }
    }
    return try update(rows.map { (row: $0, changes: changes) })
  }

  /// Changes rows, each in its own way.
  func update(_ changes: [(row: StoredRow, changes: [(place: Int, value: SQLiteValue)])]) throws -> [StoredRow] {
    let updated = try changes.map { try update($0.row, changing: $0.changes) }
    for row in updated { try checkForeignKeys(row.values) }
    for (change, new) in zip(changes, updated) { try checkStillReferenced(change.row, now: new) }
    return updated
  }

  private func update(_ old: StoredRow, changing changes: [(place: Int, value: SQLiteValue)]) throws -> StoredRow {
    var new = old
    var written = Set<Int>()
    for (place, value) in changes {
      new.values[place] = value
      written.insert(place)
    }
    if let version = table.version, let place = table.index(of: version.column) {
      new.values[place] = next(version, after: old.values[place])
      written.insert(place)
    }
    try checkPolicy(new.values)
    try checkConstraints(new.values)
    try checkUniqueKeys(new.values, except: old.rowID)
    let places = written.sorted()
    let assignments = places.map { "\(table.columns[$0].sqlName) = ?" }.joined(separator: ", ")
    try database.execute(
      "UPDATE \(table.sqlName) SET \(assignments) WHERE rowid = ?",
      places.map { new.values[$0] } + [.integer(old.rowID)])
    note(.update, old.values, new.values)
    return new
  }

  /// The version after `old`: a time never stands still, even where the clock does.
  private func next(_ version: Version, after old: SQLiteValue) -> SQLiteValue {
    guard case .integer(let number) = old else { return version.kind == .now ? .integer(now.microseconds) : 1 }
    switch version.kind {
    case .now: return .integer(max(now.microseconds, number == .max ? .max : number + 1))
    case .integer: return .integer(number == .max ? .max : number + 1)
    }
  }

  // MARK: Delete

  /// Removes rows, and what refers to them as the foreign keys say.
  func delete(_ rows: [StoredRow]) throws {
    for row in rows {
      try database.execute("DELETE FROM \(table.sqlName) WHERE rowid = ?", [.integer(row.rowID)])
      note(.delete, row.values, nil)
    }
    for (child, key) in schema.references(to: table) {
      // What a foreign key does is the database's own doing: no policy is asked.
      let writer = RowWriter(
        database: database, schema: schema, table: child, caller: Caller(role: .service, subject: caller.subject),
        now: now, randomBytes: randomBytes, journal: journal)
      for row in rows {
        guard let values = referencedValues(key, row.values) else { continue }
        let referring = try writer.rows(where: key.columns, equal: values)
        guard !referring.isEmpty else { continue }
        switch key.onDelete {
        case .cascade: try writer.delete(referring)
        case .setNull:
          // An update like any other: it moves the version and meets the constraints.
          let places = key.columns.compactMap(child.index)
          _ = try writer.update(referring.map { (row: $0, changes: places.map { ($0, .null) }) })
        case .restrict: throw stillReferenced(key, from: child, values)
        }
      }
    }
  }

  private func note(_ kind: RowChange.Kind, _ old: [SQLiteValue]?, _ new: [SQLiteValue]?) {
    journal.add(RowChange(table: table, kind: kind, old: old, new: new, committedAt: now))
  }

  // MARK: Looking

  /// A row by its place.
  func row(_ rowID: Int64) throws -> StoredRow? {
    let columns = table.columns.map(\.sqlName).joined(separator: ", ")
    guard
      let found = try database.first("SELECT \(columns) FROM \(table.sqlName) WHERE rowid = ?", [.integer(rowID)])
    else { return nil }
    return StoredRow(rowID: rowID, values: table.columns.indices.map { found[$0] })
  }

  private func rows(where columns: [String], equal values: [SQLiteValue]) throws -> [StoredRow] {
    let all = table.columns.map(\.sqlName).joined(separator: ", ")
    let (condition, bindings) = equality(columns, values)
    return try database.rows("SELECT rowid, \(all) FROM \(table.sqlName) WHERE \(condition)", bindings).map { row in
      guard case .integer(let rowID) = row[0] else { return StoredRow(rowID: 0, values: []) }
      return StoredRow(rowID: rowID, values: table.columns.indices.map { row[$0 + 1] })
    }
  }

  /// The row that holds the key's values, which is never one with a NULL among them.
  private func rowID(holding key: UniqueKey, _ values: [SQLiteValue]) throws -> Int64? {
    let wanted = key.columns.map { name in table.index(of: name).map { values[$0] } ?? .null }
    guard !wanted.contains(.null) else { return nil }
    let (condition, bindings) = equality(key.columns, wanted)
    guard
      case .integer(let rowID)? = try database.first(
        "SELECT rowid FROM \(table.sqlName) WHERE \(condition)", bindings)?[0]
    else { return nil }
    return rowID
  }

  private func equality(_ columns: [String], _ values: [SQLiteValue]) -> (sql: String, bindings: [SQLiteValue]) {
    var bindings: [SQLiteValue] = []
    var parts: [String] = []
    for (name, value) in zip(columns, values) {
      let type = table.index(of: name).map { table.columns[$0].type } ?? .text
      parts.append("\(type.comparable(quoted(name))) = ?")
      bindings.append(type.comparable(value))
    }
    return (parts.joined(separator: " AND "), bindings)
  }

  private func columnPlaces(_ names: [String]) throws(RestError) -> [Int] {
    var places: [Int] = []
    for name in names {
      guard let place = table.index(of: name) else {
        throw RestError(
          400, "PGRST204", "Could not find the '\(name)' column of '\(table.name)' in the schema cache")
      }
      if !places.contains(place) { places.append(place) }
    }
    return places
  }

  private func defaultValue(of column: Column) throws -> SQLiteValue {
    switch column.defaultValue {
    case nil: .null
    case .literal(let text): try column.fitted(try column.type.stored(text, now: now), now: now)
    case .now where column.type == .date: .integer(Int64(now.day))
    case .now: .integer(now.microseconds)
    case .randomUUID: .text(UUIDText.random(randomBytes))
    case .callerID: .optional(try caller.userID())
    }
  }
}
