import LosslessJSON

extension TableRequest {
  /// The request as it is sent.
  ///
  /// - Parameter accessToken: The user's token; without one the project's key stands in its place.
  public func httpRequest(project: Project, accessToken: Secret?) -> HTTPRequest {
    let items = queryItems.map { "\(PercentEncoding.query($0.name))=\(PercentEncoding.query($0.value))" }
    let path = "/\(PercentEncoding.segment(table))"
    let query = items.isEmpty ? "" : "?" + items.joined(separator: "&")
    var fields = project.identityFields(accessToken: accessToken)
    fields.add("Accept", accepted)
    fields.add(isRead ? "Accept-Profile" : "Content-Profile", schema)
    fields.add("Content-Type", "application/json")
    if !preferences.isEmpty { fields.add("Prefer", preferences.joined(separator: ",")) }
    return HTTPRequest(method: method, url: project.services.rest + path + query, fields: fields, body: body)
  }

  /// Whether the request changes nothing on the server.
  public var isRead: Bool {
    switch action {
    case .select, .count: true
    case .insertOne, .insertMany, .update, .delete: false
    }
  }

  private var method: String {
    switch action {
    case .select: "GET"
    case .count: "HEAD"
    case .insertOne, .insertMany: "POST"
    case .update: "PATCH"
    case .delete: "DELETE"
    }
  }

  private var accepted: String {
    if stripsNulls { return "application/vnd.pgrst.\(isSingle ? "object" : "array")+json;nulls=stripped" }
    return isSingle ? "application/vnd.pgrst.object+json" : "application/json"
  }

  private var body: [UInt8]? {
    switch action {
    case .select, .count, .delete: nil
    case .insertOne(let row): Array(JSONValue.object(row).serialized().utf8)
    case .insertMany(let rows): Array(JSONValue.array(rows.map { .object($0) }).serialized().utf8)
    case .update(let values): Array(JSONValue.object(values).serialized().utf8)
    }
  }

  private var queryItems: [(name: String, value: String)] {
    var items: [(name: String, value: String)] = []
    switch action {
    case .select, .count: items.append(("select", selection ?? columns.map(ColumnName.list) ?? "*"))
    case .insertOne, .insertMany, .update, .delete:
      if returnsRows, let text = selection ?? columns.map(ColumnName.list) { items.append(("select", text)) }
    }
    if !conflictColumns.isEmpty { items.append(("on_conflict", ColumnName.list(conflictColumns))) }
    if case .insertMany(let rows) = action, !rows.isEmpty {
      items.append(("columns", ColumnName.quotedList(Self.union(rows))))
    }
    items += filters.map(\.queryItem)
    if !order.isEmpty { items.append(("order", order.map(\.text).joined(separator: ","))) }
    if let limit { items.append(("limit", String(limit))) }
    if let offset { items.append(("offset", String(offset))) }
    return items
  }

  /// The names of all rows, each once, in the order of first appearance.
  ///
  /// Rows of one array may have different names only when their union is named; names are told apart by their bytes, as
  /// the database does.
  private static func union(_ rows: [JSONObject]) -> [String] {
    var seen: Set<[UInt8]> = []
    return rows.flatMap(\.names).filter { seen.insert(Array($0.utf8)).inserted }
  }

  private var preferences: [String] {
    var words: [String] = []
    if !isRead { words.append(returnsRows ? "return=representation" : "return=minimal") }
    if let count { words.append("count=\(count.rawValue)") }
    if let duplicates { words.append("resolution=\(duplicates.rawValue)") }
    if takesDefaults { words.append("missing=default") }
    if isDryRun { words.append("tx=rollback") }
    return words
  }
}
