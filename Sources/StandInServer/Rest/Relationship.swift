/// How rows of one table are related to rows of another: by a foreign key of either, or of a table between.
struct Relationship: Sendable {
  enum Kind: String, Sendable {
    case manyToOne = "many-to-one"
    case oneToOne = "one-to-one"
    case oneToMany = "one-to-many"
    case manyToMany = "many-to-many"
  }

  /// The table between of a many-to-many relationship.
  struct Junction: Sendable {
    let table: Table
    /// The key to the table that is embedded into, and the one to the table that is embedded.
    let own: ForeignKey
    let other: ForeignKey
  }

  let kind: Kind
  /// The table that is embedded into.
  let table: Table
  /// The table that is embedded.
  let other: Table
  /// The foreign key's name; of a junction the name of its table.
  let name: String
  /// The columns that hold equal values: the own table's and the other's, or the junction's where there is one.
  let columns: [(own: String, other: String)]
  let junction: Junction?

  /// Whether a row has at most one related row.
  var isToOne: Bool { kind == .manyToOne || kind == .oneToOne }

  /// All relationships of a table, in the order of the schema.
  static func all(of table: Table, in schema: Schema) -> [Relationship] {
    var found: [Relationship] = []
    for key in table.foreignKeys {
      guard let other = schema.table(named: key.table) else { continue }
      found.append(
        Relationship(
          kind: table.isUnique(key.columns) ? .oneToOne : .manyToOne, table: table, other: other, name: key.name,
          columns: zip(key.columns, key.referenced).map { ($0, $1) }, junction: nil))
    }
    for (child, key) in schema.references(to: table) {
      found.append(
        Relationship(
          kind: child.isUnique(key.columns) ? .oneToOne : .oneToMany, table: table, other: child, name: key.name,
          columns: zip(key.referenced, key.columns).map { ($0, $1) }, junction: nil))
    }
    for (between, own) in schema.references(to: table) {
      for other in between.foreignKeys where other.name != own.name {
        // Only keys that are part of the primary key make a table a junction.
        guard Set(own.columns + other.columns).isSubset(of: between.primaryKey),
          let target = schema.table(named: other.table)
        else { continue }
        found.append(
          Relationship(
            kind: .manyToMany, table: table, other: target, name: between.name,
            columns: zip(own.referenced, own.columns).map { ($0, $1) },
            junction: Junction(table: between, own: own, other: other)))
      }
    }
    return found
  }

  /// The one relationship that a name and a hint in `select=` mean.
  static func find(
    from table: Table, _ target: String, hint: String?, in schema: Schema
  ) throws(RestError) -> Relationship {
    let found = all(of: table, in: schema).filter { $0.answers(to: target, hint: hint) }
    guard let only = found.first else { throw none(from: table, target, hint: hint, in: schema) }
    guard found.count == 1 else { throw ambiguous(from: table, target, found) }
    return only
  }

  private func answers(to target: String, hint: String?) -> Bool {
    let own = columns.count == 1 && junction == nil ? columns[0].own : nil
    let other = columns.count == 1 && junction == nil ? columns[0].other : nil
    let isNamed = target == self.other.name
    if table.name == self.other.name {
      // One key of a table to itself is two relationships: the table's name means the many, the column's the one.
      guard let hint else { return isNamed && kind == .oneToMany || target == own && kind == .manyToOne }
      return isNamed && kind == .oneToMany && hint == other
    }
    guard let hint else { return isNamed || junction == nil && target == name || target == own }
    return isNamed && (hint == name || hint == own || hint == other)
  }

  // MARK: Errors

  private static func none(
    from table: Table, _ target: String, hint: String?, in schema: Schema
  ) -> RestError {
    let related = all(of: table, in: schema).map(\.other.name)
    let suggestion = related.contains(target) ? nil : Similarity.best(target, among: related)
    return RestError(
      400, "PGRST200",
      "Could not find a relationship between '\(table.name)' and '\(target)' in the schema cache",
      details: "Searched for a foreign key relationship between '\(table.name)' and '\(target)'"
        + (hint.map { " using the hint '\($0)'" } ?? "")
        + " in the schema 'public', but no matches were found.",
      hint: suggestion.map { "Perhaps you meant '\($0)' instead of '\(target)'." })
  }

  private static func ambiguous(from table: Table, _ target: String, _ found: [Relationship]) -> RestError {
    let choices = found.map { "'\($0.other.name)!\($0.name)'" }.joined(separator: ", ")
    var error = RestError(
      300, "PGRST201",
      "Could not embed because more than one relationship was found for '\(table.name)' and '\(target)'",
      hint: "Try changing '\(target)' to one of the following: \(choices). "
        + "Find the desired relationship in the 'details' key.")
    error.structuredDetails = .array(
      found.map { relationship in
        [
          "cardinality": .string(relationship.kind.rawValue),
          "embedding": .string("\(relationship.table.name) with \(relationship.other.name)"),
          "relationship": .string(relationship.description),
        ]
      })
    return error
  }

  private var description: String {
    func list(_ names: [String]) -> String { "(\(names.joined(separator: ", ")))" }
    guard let junction else {
      return "\(name) using \(table.name)\(list(columns.map(\.own))) and \(other.name)\(list(columns.map(\.other)))"
    }
    return "\(name) using \(junction.own.name)\(list(junction.own.columns)) and "
      + "\(junction.other.name)\(list(junction.other.columns))"
  }
}

extension Table {
  /// Whether no two rows can have the same values in these columns.
  fileprivate func isUnique(_ columns: [String]) -> Bool { keys.contains { Set($0.columns) == Set(columns) } }
}
