/// Why a stand-in server cannot start.
public enum StandInError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The schema file is wrong at a place, both numbers from 1.
  case schema(line: Int, column: Int, reason: String)
  /// The SQL of a function of the schema file cannot run.
  case function(name: String, reason: String)
  /// The port is taken or may not be used.
  case cannotListen(port: Int, reason: String)
  /// The data folder cannot be used.
  case dataFolder(path: String, reason: String)
  /// The data folder belongs to a server that runs.
  case dataFolderInUse(path: String)
  /// The tables in the data folder do not fit the schema.
  case schemaChanged(table: String, reason: String)
  /// A secret that cannot sign.
  case secret(reason: String)
  /// The database failed.
  case database(reason: String)

  /// What happened, where, and what to do.
  public var description: String {
    switch self {
    case .schema(let line, let column, let reason):
      "the schema is wrong at line \(line), column \(column): \(reason)"
    case .function(let name, let reason):
      "the schema's function '\(name)' cannot run: \(reason)"
    case .cannotListen(let port, let reason):
      "cannot listen on 127.0.0.1:\(port): \(reason); choose another port, or 0 for a free one"
    case .dataFolder(let path, let reason):
      "cannot use the data folder '\(path)': \(reason)"
    case .dataFolderInUse(let path):
      "the data folder '\(path)' is in use by another server; stop it or choose another folder"
    case .schemaChanged(let table, let reason):
      "the data folder holds a table '\(table)' that does not fit the schema: \(reason); use the old schema or a new "
        + "data folder"
    case .secret(let reason): "the JWT secret cannot be used: \(reason)"
    case .database(let reason): "the stand-in's database failed: \(reason)"
    }
  }
}
