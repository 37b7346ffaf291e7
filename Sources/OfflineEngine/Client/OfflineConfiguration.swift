import SupabaseAPI

/// How a client is set up; everything but the project has a default.
public struct OfflineConfiguration: Sendable {
  /// The project.
  public var project: Project
  /// The SQLite file that holds cache and queue; `:memory:` for one that ends with the process.
  ///
  /// One process at a time may use it.
  public var databasePath: String
  /// The schema of tables that name none.
  public var schema = "public"
  /// The key columns of tables whose key is not `id`, by `table` or `schema.table`.
  public var primaryKeys: [String: [String]] = [:]
  /// The column of a table that the server moves on every change, by `table` or `schema.table`: queued updates and
  /// deletes of its rows are guarded by it (spec 5, "Opting in").
  public var versionColumns: [String: String] = [:]
  /// Settles conflicts; the default lets the last write win column by column.
  public var conflictResolver: ConflictResolver = ConflictResolvers.lastWriteWins
  /// Whether queued writes are sent by themselves when the network comes back, the session settles and the client opens.
  public var autoSync = true
  /// How much the rejected and the conflicted list hold.
  public var listBounds: ListBounds? = .standard
  /// The most rows that the project answers to one request ("Max rows" in its API settings); `nil` for no limit.
  ///
  /// The server does not say where it stopped: an answer of that many rows, where more were asked for, counts as cut.
  public var rowLimit: Int? = 1_000
  /// Whether reads that meet the row limit go on behind the last row, in pages by the table's key.
  ///
  /// Only reads can that show the key and ask for no order or for the key's own, ascending; those of them that may meet
  /// the limit are sent in the key's order. Others are cut, and say so (`OfflineResponse.isCut`).
  public var readsPastRowLimit = false
  /// How much of the answers to reads is kept; `nil` keeps them all.
  public var cacheBounds: CacheBounds? = .standard
  /// The folder that holds copies of objects, this client's alone; `nil` puts it beside the database, under its name with
  /// `.files` behind it, and a client in memory has none.
  public var fileCacheFolder: String?
  /// How many bytes the copies of objects may have together; beyond that those go that were unused for the longest time.
  public var fileCacheBytesMax: Int64 = 256 << 20
  /// Where the session lives between runs; `nil` makes a client without Auth, whose requests carry the project's key.
  public var sessionStorage: (any SessionStorage)?
  /// What says when the network comes and goes; `nil` leaves it unknown, which counts as online.
  public var connectivity: (any ConnectivitySource)?
  /// Takes a warning that a developer should see; it holds no token, key or value.
  public var warn: @Sendable (String) -> Void = { _ in }

  /// The defaults for a project.
  public init(project: Project, databasePath: String) {
    self.project = project
    self.databasePath = databasePath
  }
}

extension OfflineConfiguration {
  /// What the engine knows of a table; `schema.table` outside the default schema.
  func description(of name: String) -> TableDescription {
    TableDescription(
      name: name, keyColumns: primaryKeys[name] ?? ["id"], versionColumn: versionColumns[name], columns: [])
  }

  /// Where copies of objects are kept; `nil` for nowhere.
  var filesFolder: String? { fileCacheFolder ?? (databasePath == ":memory:" ? nil : databasePath + ".files") }

  /// Finds what cannot work.
  func validate() throws(OfflineError) {
    guard !databasePath.isEmpty else { throw .configuration(reason: "'databasePath' is empty") }
    guard !schema.isEmpty else { throw .configuration(reason: "'schema' is empty") }
    if let rowLimit, rowLimit < 1 { throw .configuration(reason: "'rowLimit' is below 1") }
    for (table, columns) in primaryKeys {
      guard !columns.isEmpty, columns.allSatisfy({ !$0.isEmpty }) else {
        throw .configuration(reason: "the primary key of '\(table)' names no column")
      }
    }
    for (table, column) in versionColumns {
      guard !column.allSatisfy(\.isWhitespace) else {
        throw .configuration(reason: "the version column of '\(table)' is blank")
      }
      guard !(primaryKeys[table] ?? ["id"]).contains(column) else {
        throw .configuration(reason: "the version column '\(column)' of '\(table)' is a column of its key")
      }
    }
  }

  /// The engine's settings.
  var engine: EngineConfiguration {
    var engine = EngineConfiguration(project: project, tables: [], resolver: conflictResolver)
    engine.describe = { [self] in description(of: $0) }
    engine.listBounds = listBounds
    engine.rejectsUnknownNames = true
    return engine
  }
}
