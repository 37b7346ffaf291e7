import SQLite

extension RowWriter {
  /// Whether errors may show a row's values: not where a policy hides rows from the caller.
  private var mayShowValues: Bool { caller.bypassesPolicies || table.owner == nil }

  /// The policy for new rows: a row must be its writer's.
  func checkPolicy(_ values: [SQLiteValue]) throws {
    guard !caller.bypassesPolicies, let owner = table.owner, let place = table.index(of: owner) else { return }
    let isOwn: Bool
    if caller.role == .authenticated, let userID = try caller.userID() {
      isOwn = values[place] == .text(userID)
    } else {
      isOwn = false
    }
    guard isOwn else {
      throw DatabaseFault("42501", "new row violates row-level security policy for table \"\(table.name)\"")
    }
  }

  /// Null constraints in the order of the columns, then checks in the order of their names, as PostgreSQL goes.
  func checkConstraints(_ values: [SQLiteValue]) throws {
    for (column, value) in zip(table.columns, values) where value == .null {
      // A primary key's columns may not be null even where the schema does not say so.
      guard column.notNull || table.primaryKey.contains(column.name) else { continue }
      throw DatabaseFault(
        "23502",
        "null value in column \"\(column.name)\" of relation \"\(table.name)\" violates not-null constraint",
        details: failingRow(values))
    }
    let failed = zip(table.columns, values).compactMap { column, value in
      column.check.flatMap { $0.allows(value) ? nil : $0.name }
    }
    guard let name = failed.min() else { return }
    throw DatabaseFault(
      "23514", "new row for relation \"\(table.name)\" violates check constraint \"\(name)\"",
      details: failingRow(values))
  }

  func checkUniqueKeys(_ values: [SQLiteValue], except rowID: Int64?) throws {
    for key in table.keys {
      let places = key.columns.compactMap(table.index)
      guard !places.contains(where: { values[$0] == .null }) else { continue }
      let conditions = places.map { "\(table.columns[$0].type.comparable(table.columns[$0].sqlName)) = ?" }
      var bindings = places.map { table.columns[$0].type.comparable(values[$0]) }
      bindings.append(.integer(rowID ?? 0))
      let found = try database.first(
        "SELECT 1 FROM \(table.sqlName) WHERE \(conditions.joined(separator: " AND ")) AND rowid <> ?", bindings)
      guard found != nil else { continue }
      let shown = places.map { table.columns[$0].type.postgresText(values[$0]) ?? "null" }
      throw DatabaseFault(
        "23505", "duplicate key value violates unique constraint \"\(key.name)\"",
        details: mayShowValues ? "Key (\(list(key.columns)))=(\(list(shown))) already exists." : nil)
    }
  }

  /// Each row's foreign keys, looked at once all rows are written.
  ///
  /// Keys do not look at policies.
  func checkForeignKeys(_ values: [SQLiteValue]) throws {
    for key in table.foreignKeys {
      let places = key.columns.compactMap(table.index)
      let wanted = places.map { values[$0] }
      guard !wanted.contains(.null), let target = schema.table(named: key.table) else { continue }
      let conditions = key.referenced.map { name in
        "\(target.index(of: name).map { target.columns[$0].type.comparable(quoted(name)) } ?? quoted(name)) = ?"
      }
      let bindings = zip(places, wanted).map { table.columns[$0].type.comparable($1) }
      let found = try database.first(
        "SELECT 1 FROM \(target.sqlName) WHERE \(conditions.joined(separator: " AND "))", bindings)
      guard found == nil else { continue }
      let shown = zip(places, wanted).map { table.columns[$0].type.postgresText($1) ?? "null" }
      let subject = mayShowValues ? "Key (\(list(key.columns)))=(\(list(shown)))" : "Key"
      throw DatabaseFault(
        "23503",
        "insert or update on table \"\(table.name)\" violates foreign key constraint \"\(key.name)\"",
        details: "\(subject) is not present in table \"\(key.table)\".")
    }
  }

  /// A key that other rows refer to may not change under them.
  func checkStillReferenced(_ old: StoredRow, now new: StoredRow) throws {
    for (child, key) in schema.references(to: table) {
      guard let before = referencedValues(key, old.values), before != referencedValues(key, new.values) else {
        continue
      }
      let conditions = key.columns.map { name in
        "\(child.index(of: name).map { child.columns[$0].type.comparable(quoted(name)) } ?? quoted(name)) = ?"
      }
      let types = key.referenced.compactMap { name in table.index(of: name).map { table.columns[$0].type } }
      let found = try database.first(
        "SELECT 1 FROM \(child.sqlName) WHERE \(conditions.joined(separator: " AND "))",
        zip(types, before).map { $0.comparable($1) })
      if found != nil { throw stillReferenced(key, from: child, before) }
    }
  }

  func stillReferenced(_ key: ForeignKey, from child: Table, _ values: [SQLiteValue]) -> DatabaseFault {
    let shown = zip(key.referenced, values).map { name, value in
      table.index(of: name).flatMap { table.columns[$0].type.postgresText(value) } ?? "null"
    }
    let subject = mayShowValues ? "Key (\(list(key.referenced)))=(\(list(shown)))" : "Key"
    return DatabaseFault(
      "23503",
      "update or delete on table \"\(table.name)\" violates foreign key constraint \"\(key.name)\" on table "
        + "\"\(child.name)\"",
      details: "\(subject) is still referenced from table \"\(child.name)\".")
  }

  /// The values by which rows of `key`'s table refer to a row of this one; `nil` where one is null.
  func referencedValues(_ key: ForeignKey, _ values: [SQLiteValue]) -> [SQLiteValue]? {
    let wanted = key.referenced.map { name in table.index(of: name).map { values[$0] } ?? .null }
    return wanted.contains(.null) ? nil : wanted
  }

  /// PostgreSQL shows at most 64 bytes of each value.
  private func failingRow(_ values: [SQLiteValue]) -> String? {
    guard mayShowValues else { return nil }
    let shown = zip(table.columns, values).map { column, value in
      let text = column.type.postgresText(value) ?? "null"
      guard text.utf8.count > 64 else { return text }
      var cut = text
      while cut.utf8.count > 64 { cut.unicodeScalars.removeLast() }
      return cut + "..."
    }
    return "Failing row contains (\(list(shown)))."
  }

  private func list(_ parts: [String]) -> String { parts.joined(separator: ", ") }
}

extension Check {
  /// Whether a value passes; NULL does.
  func allows(_ value: SQLiteValue) -> Bool {
    switch value {
    case .text(let text):
      let core = trimmingSpaces(text)
      if notBlank, core.isEmpty { return false }
      if let maxLength, (trimmed ? core : text).unicodeScalars.count > maxLength { return false }
      // Numbers of the type numeric are kept as text.
      if let number = minimum == nil && maximum == nil ? nil : DecimalText(text)?.sortKey {
        if let minimum, number.lexicographicallyPrecedes(Self.sortKey(minimum)) { return false }
        if let maximum, Self.sortKey(maximum).lexicographicallyPrecedes(number) { return false }
      }
      if let oneOf, !oneOf.contains(where: { $0.utf8.elementsEqual(text.utf8) }) { return false }
      return true
    case .integer(let number):
      return number >= minimum ?? .min && number <= maximum ?? .max
    case .real(let number):
      return number >= minimum.map(Double.init) ?? -.infinity && number <= maximum.map(Double.init) ?? .infinity
    case .null, .blob: return true
    }
  }

  private static func sortKey(_ number: Int64) -> [UInt8] { DecimalText(String(number))?.sortKey ?? [] }

  /// `btrim`: spaces only, not every blank.
  private func trimmingSpaces(_ text: String) -> String {
    var scalars = text.unicodeScalars[...]
    while scalars.first == " " { scalars.removeFirst() }
    while scalars.last == " " { scalars.removeLast() }
    return String(scalars)
  }
}
