/// A function that clients call under `/rpc/`.
///
/// Its body is declarative: a query of SQLite over the tables, a write to one of them, an error, or nothing.
///
/// ```json
/// {"functions": [
///   {"name": "add", "arguments": [{"name": "a", "type": "int4"}, {"name": "b", "type": "int4"}],
///    "returns": "int4", "volatility": "immutable", "body": {"query": "SELECT :a + :b"}},
///   {"name": "finish_all", "returns": "int4",
///    "body": {"update": "tasks", "set": {"done": "true"}, "where": "NOT done"}}
/// ]}
/// ```
///
/// In its SQL `:name` is an argument, `:auth.uid` the caller's id and `:now` the time of the request. Tables go by their
/// names and hold what the caller may see. Values stand as the stand-in stores them (see `ColumnType`): a time counts
/// microseconds, a boolean is 0 or 1, and a `numeric` is text, to be compared as `CAST(price AS REAL)`.
struct StoredFunction: Sendable, Hashable {
  struct Argument: Sendable, Hashable {
    /// Empty for the one argument that takes a whole body.
    let name: String
    let type: ColumnType
    /// What it is when a call does not give it; `nil` when a call must.
    let defaultValue: Default?
    /// Whether a call may give it several times.
    let isVariadic: Bool

    enum Default: Sendable, Hashable {
      case null
      /// A text that the type reads.
      case literal(String)
    }
  }

  enum Returns: Sendable, Hashable {
    case void
    case scalar(ColumnType)
    case scalars(ColumnType)
    /// One row of a table.
    case row(String)
    /// Rows of a table.
    case rows(String)
    /// Rows with columns of their own.
    case table([Column])
  }

  enum Volatility: String, Sendable, CaseIterable {
    case immutable
    case stable
    case volatile
  }

  /// A piece of SQL whose names with a colon are arguments.
  struct Expression: Sendable, Hashable {
    let sql: String
  }

  struct Assignment: Sendable, Hashable {
    let column: String
    let value: Expression
  }

  enum Body: Sendable, Hashable {
    case nothing
    case query(Expression)
    case insert(table: String, values: [Assignment])
    case update(table: String, set: [Assignment], condition: Expression?)
    case delete(table: String, condition: Expression?)
    case raise(code: Expression, message: Expression, detail: Expression?, hint: Expression?)
  }

  let name: String
  let arguments: [Argument]
  let returns: Returns
  let volatility: Volatility
  let body: Body
  /// Whether it sees and writes all rows, whoever calls.
  let isDefiner: Bool
  /// The roles that may call it.
  let grants: Set<Role>

  /// Whether it returns any number of rows.
  var returnsSet: Bool {
    switch returns {
    case .scalars, .rows, .table: true
    case .void, .scalar, .row: false
    }
  }

  /// The name of PostgREST's column that holds a scalar.
  static let scalarColumn = "pgrst_scalar"

  /// What it returns as a table, which filters, orders and embedded tables refer to.
  func table(in schema: Schema) -> Table {
    func made(_ columns: [Column]) -> Table {
      Table(
        name: name, columns: columns, primaryKey: [], uniques: [], foreignKeys: [], owner: nil, version: nil,
        grants: Set(Role.allCases))
    }
    func scalar(_ type: ColumnType) -> Table {
      made([Column(name: Self.scalarColumn, type: type, notNull: false, defaultValue: nil, check: nil)])
    }
    switch returns {
    case .void: return scalar(.text)
    case .scalar(let type), .scalars(let type): return scalar(type)
    case .row(let name), .rows(let name): return schema.table(named: name) ?? made([])
    case .table(let columns): return made(columns)
    }
  }
}

extension StoredFunction.Expression {
  /// A part of the text.
  enum Part: Equatable {
    case text(Substring)
    case argument(Substring)
  }

  /// The text with its arguments set apart; what stands in quotes and comments is left alone.
  var parts: [Part] {
    var parts: [Part] = []
    var rest = sql[...]
    var start = rest.startIndex
    func isNamePart(_ character: Character) -> Bool {
      character == "_" || character == "." || character.isLetter || character.isNumber
    }
    while let character = rest.first {
      switch character {
      case "'", "\"", "`": rest = Self.skipping(to: String(character), in: rest.dropFirst())
      case "[": rest = Self.skipping(to: "]", in: rest.dropFirst())
      case "-" where rest.hasPrefix("--"): rest = Self.skipping(to: "\n", in: rest)
      case "/" where rest.hasPrefix("/*"): rest = Self.skipping(to: "*/", in: rest.dropFirst(2))
      case ":":
        let name = rest.dropFirst().prefix(while: isNamePart)
        guard !name.isEmpty else {
          rest = rest.dropFirst()
          continue
        }
        parts.append(.text(sql[start..<rest.startIndex]))
        parts.append(.argument(name))
        rest = rest[name.endIndex...]
        start = rest.startIndex
      default: rest = rest.dropFirst()
      }
    }
    parts.append(.text(sql[start...]))
    return parts
  }

  /// The names of its arguments.
  var argumentNames: [String] {
    parts.compactMap { if case .argument(let name) = $0 { String(name) } else { nil } }
  }

  private static func skipping(to end: String, in text: Substring) -> Substring {
    var rest = text
    while !rest.isEmpty {
      if rest.hasPrefix(end) { return rest.dropFirst(end.count) }
      rest = rest.dropFirst()
    }
    return rest
  }

  /// Whether a table's name stands in it as a word.
  func mentions(_ name: String) -> Bool {
    parts.contains { part in
      guard case .text(let text) = part else { return false }
      var rest = text[...]
      while let range = rest.firstRange(of: name) {
        let before = range.lowerBound == text.startIndex ? nil : text[text.index(before: range.lowerBound)]
        let after = range.upperBound == text.endIndex ? nil : text[range.upperBound]
        func isWord(_ character: Character?) -> Bool {
          character.map { $0 == "_" || $0.isLetter || $0.isNumber } ?? false
        }
        if !isWord(before), !isWord(after) { return true }
        rest = text[range.upperBound...]
      }
      return false
    }
  }
}
