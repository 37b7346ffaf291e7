import LosslessJSON
import SupabaseAPI

/// A read of a plain list of rows, as the cache knows it.
struct ListQuery: Sendable, Hashable {
  /// The schema.
  let schema: String
  /// The table.
  let table: String
  /// The columns.
  let selection: Selection
  /// The conditions, all of which hold for a row of the list.
  let conditions: [Filter]
  /// The order.
  let order: [Order]
  /// The most rows.
  let limit: Int?
  /// The rows left out before the first.
  let offset: Int
  /// Selection, conditions, order, limit and offset as one text: equal for equal queries, and readable again.
  let text: String
  /// The selection as one text: lists of a table with the same one show the same of a row.
  let shape: String

  /// The query of a request; `nil` for one whose answer is no plain list.
  init?(_ request: TableRequest) {
    guard request.action == .select, request.count == nil, !request.isSingle, !request.stripsNulls else { return nil }
    let selection = Selection(request)
    var json = JSONObject()
    if !selection.isExact, let words = request.selection {
      json["select"] = .string(words)
    } else if !selection.isAll {
      json["columns"] = .array(selection.columns.map { .string($0) })
    }
    if !request.filters.isEmpty { json["conditions"] = .array(request.filters.map(\.storedForm)) }
    if !request.order.isEmpty { json["order"] = .array(request.order.map(\.storedForm)) }
    if let limit = request.limit { json["limit"] = .number(JSONNumber(Int64(limit))) }
    if let offset = request.offset, offset != 0 { json["offset"] = .number(JSONNumber(Int64(offset))) }
    self.init(schema: request.schema, table: request.table, json: json)
  }

  /// Reads a stored query; `nil` when it is not understood.
  init?(schema: String, table: String, text: String) {
    guard let json = (try? JSONValue(parsing: text))?.objectValue else { return nil }
    self.init(schema: schema, table: table, json: json)
  }

  private init?(schema: String, table: String, json: JSONObject) {
    self.schema = schema
    self.table = table
    if let words = json["select"]?.stringValue {
      selection = Selection(text: words)
    } else {
      selection = Selection(columns: json["columns"]?.arrayValue?.compactMap(\.stringValue))
    }
    var conditions: [Filter] = []
    for condition in json["conditions"]?.arrayValue ?? [] {
      guard let filter = Filter(storedForm: condition) else { return nil }
      conditions.append(filter)
    }
    self.conditions = conditions
    var order: [Order] = []
    for part in json["order"]?.arrayValue ?? [] {
      guard let column = Order(storedForm: part) else { return nil }
      order.append(column)
    }
    self.order = order
    limit = json["limit"]?.numberValue?.int64.map(Int.init)
    offset = json["offset"]?.numberValue?.int64.map(Int.init) ?? 0
    text = JSONValue.object(json).serialized()
    shape = json["select"]?.stringValue ?? json["columns"]?.serialized() ?? "*"
  }

  /// Whether a row's key can be read off the list.
  func showsKey(of table: TableDescription) -> Bool { table.keyColumns.allSatisfy(selection.shows) }

  /// The most rows that the server gives, which may stop before it has given all that were asked for.
  func limit(cutAt: Int?) -> Int? { cutAt.map { min($0, limit ?? .max) } ?? limit }

  /// Whether a condition is about one of the columns.
  func hasCondition(onAnyOf columns: [String]) -> Bool {
    conditions.contains { $0.isAboutColumn(anyOf: columns) }
  }

  /// Whether the order is by one of the columns.
  func isOrdered(byAnyOf columns: [String]) -> Bool {
    order.contains { order in columns.contains { order.column == $0 || order.column.hasPrefix("\($0)->") } }
  }
}

extension Order {
  fileprivate var storedForm: JSONValue {
    .array([.string(column), .string(direction.rawValue)] + (nulls.map { [.string($0.rawValue)] } ?? []))
  }

  fileprivate init?(storedForm json: JSONValue) {
    guard let parts = json.arrayValue?.compactMap(\.stringValue), parts.count == 2 || parts.count == 3,
      let direction = Direction(rawValue: parts[1])
    else { return nil }
    self.init(parts[0], direction, nulls: parts.count == 3 ? Nulls(rawValue: parts[2]) : nil)
  }
}
