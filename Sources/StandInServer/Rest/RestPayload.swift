import LosslessJSON

/// The rows of a request's body.
struct RestPayload {
  /// The columns to write: those named by `columns=`, else those of the first row.
  let columns: [String]
  let rows: [JSONObject]
  /// The whole document; an empty array where the body is neither an object nor an array.
  let document: JSONValue

  /// Reads a body.
  ///
  /// - Parameters:
  ///   - body: The bytes.
  ///   - contentType: The `Content-Type` field; JSON when absent.
  ///   - named: What `columns=` names.
  init(_ body: [UInt8], contentType: String?, columns named: [String]?) throws(RestError) {
    switch Self.mediaType(contentType) {
    case "application/json", "application/vnd.pgrst.array+json", "application/vnd.pgrst.object+json",
      "application/vnd.pgrst.array", "application/vnd.pgrst.object":
      try self.init(json: body, columns: named)
    case "application/x-www-form-urlencoded":
      var row = JSONObject()
      for (name, value) in QueryText.parameters(String(decoding: body, as: UTF8.self)) {
        row[name] = .string(value ?? "")
      }
      self.init(columns: named ?? row.names, rows: [row])
    case "text/csv":
      let rows = try CSVText.rows(String(decoding: body, as: UTF8.self))
      self.init(columns: named ?? rows.first?.names ?? [], rows: rows)
    case let other:
      throw RestError(400, "PGRST102", "Content-Type not acceptable: \(other)")
    }
  }

  /// No rows, for requests without a body.
  static let none = RestPayload(columns: [], rows: [])

  private init(columns: [String], rows: [JSONObject], document: JSONValue? = nil) {
    self.columns = columns
    self.rows = rows
    self.document = document ?? .array(rows.map(JSONValue.object))
  }

  private init(json body: [UInt8], columns named: [String]?) throws(RestError) {
    let value = try Self.parse(body)
    switch value {
    case .object(let row):
      self.init(columns: named ?? row.names, rows: [row], document: value)
    case .array(let elements):
      var rows: [JSONObject] = []
      for element in elements {
        guard let row = element.objectValue else { throw Self.differentKeys }
        rows.append(row)
      }
      let first = rows.first?.names ?? []
      if named == nil, !rows.allSatisfy({ Self.hasKeys($0, first) }) { throw Self.differentKeys }
      self.init(columns: named ?? first, rows: rows, document: value)
    default:
      // Any other JSON value counts as no rows.
      self.init(columns: [], rows: [])
    }
  }

  private static let differentKeys = RestError(400, "PGRST102", "All object keys must match")

  private static func hasKeys(_ row: JSONObject, _ names: [String]) -> Bool {
    row.count == names.count && names.allSatisfy { row[$0] != nil }
  }

  private static func parse(_ body: [UInt8]) throws(RestError) -> JSONValue {
    // PostgREST's reader takes no byte-order mark, and PostgreSQL's text holds no NUL.
    guard !body.starts(with: [0xEF, 0xBB, 0xBF]) else { throw unreadable }
    do {
      return try JSONValue(parsing: body)
    } catch {
      guard case .duplicateName = error.kind, let value = LenientJSON.parse(body) else { throw unreadable }
      return value
    }
  }

  private static let unreadable = RestError(400, "PGRST102", "Empty or invalid json")

  static func mediaType(_ contentType: String?) -> String {
    guard let contentType else { return "application/json" }
    let name = contentType.split(separator: ";", omittingEmptySubsequences: false).first.map(String.init) ?? ""
    return String(decoding: trimmedBytes(name), as: UTF8.self).lowercased()
  }
}
