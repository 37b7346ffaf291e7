/// The tables that a stand-in serves.
///
/// Read from a declarative JSON file; the keys are those of the types below:
///
/// ```json
/// {"tables": {"tasks": {
///   "columns": [
///     {"name": "id", "type": "uuid", "notNull": true, "default": {"function": "gen_random_uuid"}},
///     {"name": "title", "type": "text", "notNull": true, "check": {"name": "tasks_title_not_blank", "notBlank": true}}
///   ],
///   "primaryKey": ["id"],
///   "owner": "user_id",
///   "version": {"column": "updated_at", "kind": "now"}
/// }}}
/// ```
public struct Schema: Sendable, Hashable {
  /// The tables in the order of the file.
  let tables: [Table]
  /// The functions in the order of the file; several may have one name.
  let functions: [StoredFunction]
  /// The buckets, and who may do what in them.
  let storage: StorageSchema

  init(tables: [Table], functions: [StoredFunction] = [], storage: StorageSchema = StorageSchema()) {
    self.tables = tables
    self.functions = functions
    self.storage = storage
  }

  /// The table of that name; names are compared byte by byte, as PostgreSQL compares quoted names.
  func table(named name: String) -> Table? { tables.first { $0.name.utf8.elementsEqual(name.utf8) } }

  /// The foreign keys of all tables that refer to `table`.
  func references(to table: Table) -> [(child: Table, key: ForeignKey)] {
    tables.flatMap { child in child.foreignKeys.filter { $0.table == table.name }.map { (child, $0) } }
  }
}

/// One table.
struct Table: Sendable, Hashable {
  let name: String
  let columns: [Column]
  /// Names of the key's columns; empty for a table without a primary key.
  let primaryKey: [String]
  /// Further unique keys.
  let uniques: [UniqueKey]
  let foreignKeys: [ForeignKey]
  /// The column that holds the owner's id: signed-in users see and write their own rows only, and nobody else's.
  let owner: String?
  /// The column that moves with every update.
  let version: Version?
  /// The roles that may use the table at all.
  let grants: Set<Role>
  /// Whether Realtime tells its changes: whether it is in the publication `supabase_realtime`.
  let isPublished: Bool

  private let indexes: [String: Int]

  init(
    name: String, columns: [Column], primaryKey: [String], uniques: [UniqueKey], foreignKeys: [ForeignKey],
    owner: String?, version: Version?, grants: Set<Role>, isPublished: Bool = true
  ) {
    self.name = name
    self.columns = columns
    self.primaryKey = primaryKey
    self.uniques = uniques
    self.foreignKeys = foreignKeys
    self.owner = owner
    self.version = version
    self.grants = grants
    self.isPublished = isPublished
    indexes = Dictionary(columns.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
  }

  /// Where a column stands.
  func index(of column: String) -> Int? { indexes[column] }

  /// The primary key as a unique key, with the name that PostgreSQL gives it, and then the others.
  var keys: [UniqueKey] {
    (primaryKey.isEmpty ? [] : [UniqueKey(name: "\(name)_pkey", columns: primaryKey)]) + uniques
  }

  /// The table's name in SQLite: a prefix keeps it apart from the stand-in's own tables.
  var sqlName: String { quoted("public.\(name)") }
}

/// One column.
struct Column: Sendable, Hashable {
  let name: String
  let type: ColumnType
  let notNull: Bool
  let defaultValue: DefaultValue?
  let check: Check?
  /// The greatest number of characters of a `varchar(n)`.
  var lengthMax: Int?

  /// The column's name in SQL.
  var sqlName: String { quoted(name) }
}

/// What a column takes when a row does not give it.
enum DefaultValue: Sendable, Hashable {
  /// A text that the column's type reads.
  case literal(String)
  /// The time of the request.
  case now
  /// A new random UUID.
  case randomUUID
  /// The caller's user id, or NULL.
  case callerID
}

/// What a column's value must satisfy; NULL always does.
struct Check: Sendable, Hashable {
  /// The constraint's name, which is in the error.
  let name: String
  /// At least one character that is no space.
  let notBlank: Bool
  /// The greatest number of characters.
  let maxLength: Int?
  /// Whether `maxLength` is counted without the spaces around.
  let trimmed: Bool
  /// The least number.
  let minimum: Int64?
  /// The greatest number.
  let maximum: Int64?
  /// The only texts allowed.
  let oneOf: [String]?
}

/// Columns that are unique together.
struct UniqueKey: Sendable, Hashable {
  let name: String
  let columns: [String]
}

/// Columns that name a row of another table.
struct ForeignKey: Sendable, Hashable {
  /// What deleting the other row means.
  enum OnDelete: String, Sendable {
    /// It is refused while rows refer to it.
    case restrict
    /// The rows that refer to it go too.
    case cascade
    /// The rows that refer to it no longer do.
    case setNull
  }

  let name: String
  let columns: [String]
  let table: String
  let referenced: [String]
  let onDelete: OnDelete
}

/// The column that says which state of a row a reader saw.
struct Version: Sendable, Hashable {
  /// How it moves.
  enum Kind: String, Sendable {
    /// The server's time, strictly rising per row.
    case now
    /// One more.
    case integer
  }

  let column: String
  let kind: Kind
}

/// The roles of PostgREST on a Supabase project.
enum Role: String, Sendable, Hashable, CaseIterable {
  case anon
  case authenticated
  case service = "service_role"
}

/// A name as an SQL identifier.
func quoted(_ name: String) -> String {
  guard name.utf8.contains(UInt8(ascii: "\"")) else { return "\"\(name)\"" }
  return "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
}
