import LosslessJSON
import SupabaseAPI

/// A write that is being built; nothing happens before one of its `execute` functions is called.
public struct WriteBuilder: FilterBuilder {
  let client: OfflineClient
  let schema: String
  let table: String
  let operation: MutationOperation
  /// What is sent as the body, or why it cannot be; `nil` for a delete.
  let body: Result<OfflineJSON, OfflineError>?
  let strategy: MutationStrategy
  /// The conditions on the rows to update or delete.
  public var conditions: [Filter] = []
  var conflictColumns: [String] = []
  var ignoresDuplicates = false
  var takesDefaults = false
  var selection: String?
  var isSingle = false
  var isDryRun = false
  var isGuarded = false
  var order: [Order] = []
  var limit: Int?
  var offset: Int?

  // MARK: What comes back

  /// Asks the written rows back.
  ///
  /// - Parameter columns: The columns in PostgREST's words; blanks outside of quotes are left out.
  public func select(_ columns: String = "*") -> WriteBuilder { with { $0.selection = columns.withoutBlanks } }

  /// Expects exactly one written row, which comes back by itself rather than in a list.
  ///
  /// Sent at once, the server takes a write of none or several rows back. On replay the write counts as it is.
  public func single() -> WriteBuilder { with { $0.isSingle = true } }

  // MARK: How it is sent

  /// Guards the very first send by the version this device saw, as every replay is: a row that moved leaves the write
  /// queued, and a pass settles it.
  public func guarded() -> WriteBuilder { with { $0.isGuarded = true } }

  /// Has the server check the write and take it back, where the project allows a request to choose that.
  ///
  /// Never queued. Where the project does not allow it the write is applied, and a warning says so.
  public func dryRun() -> WriteBuilder { with { $0.isDryRun = true } }

  /// Writes rows in an order; the queue cannot hold such a write.
  public func order(_ column: String, ascending: Bool = true) -> WriteBuilder {
    with { $0.order.append(Order(column, ascending ? .ascending : .descending)) }
  }

  /// Writes at most that many rows; the queue cannot hold such a write.
  public func limit(_ count: Int) -> WriteBuilder { with { $0.limit = count } }

  /// Leaves out the first rows; the queue cannot hold such a write.
  public func offset(_ count: Int) -> WriteBuilder { with { $0.offset = count } }

  // MARK: Sending

  /// Makes the write.
  ///
  /// - Returns: Whether the server has it or it waits on this device.
  /// - Throws: `OfflineError`, or `CancellationError` when the task is cancelled while the write is on the wire: it then
  ///   stays queued, since the server may have it.
  @discardableResult
  public func execute() async throws -> MutationOutcome<Void> {
    try await client.execute(self).map { _ in () }
  }

  /// Makes the write and reads the rows that came back: a list, or one row after `single()`.
  ///
  /// - Throws: As `execute()`; `OfflineError.decoding` when the rows do not have the shape, after the server took them.
  @discardableResult
  public func execute<Value: Decodable & Sendable>(_ type: Value.Type) async throws -> MutationOutcome<Value> {
    let asked = selection == nil ? select() : self
    return try await client.execute(asked).map { try RowCoding.value(type, $0) }
  }

  private func with(_ change: (inout WriteBuilder) -> Void) -> WriteBuilder {
    var builder = self
    change(&builder)
    return builder
  }
}

extension String {
  /// The text without blanks outside of double quotes.
  var withoutBlanks: String {
    var isQuoted = false
    return String(
      filter { character in
        if character == "\"" { isQuoted.toggle() }
        return isQuoted || !character.isWhitespace
      })
  }
}

// MARK: What is built

extension WriteBuilder {
  /// Why the queue cannot hold the write; `nil` when it can.
  func unqueueableKind(defaultSchema: String) -> UnqueueableWrite? {
    if schema != defaultSchema { return .schema(schema) }
    if isDryRun { return .dryRun }
    guard operation == .update || operation == .delete else { return nil }
    if conditions.isEmpty { return .unfiltered }
    if !order.isEmpty { return .order }
    if limit != nil { return .limit }
    if offset != nil { return .offset }
    return conditions.grouped.lazy.compactMap(\.unqueueableKind).first
  }

  /// The rows of the body: the one object, or the objects of the list.
  ///
  /// - Throws: `OfflineError.invalidRequest` for a body that no table could take.
  func rows() throws(OfflineError) -> (rows: [JSONObject], isList: Bool) {
    guard let body else { return ([], false) }
    switch try body.get() {
    case .object(let row):
      guard !row.isEmpty || operation != .update else { throw .invalidRequest(reason: "the update sets no column") }
      return ([row], false)
    case .array(let values) where operation != .update:
      guard !values.isEmpty else { throw .invalidRequest(reason: "the list of rows is empty") }
      var rows: [JSONObject] = []
      for (index, value) in values.enumerated() {
        guard case .object(let row) = value else {
          throw .invalidRequest(reason: "row \(index) of the list is \(value.kindName) where an object is expected")
        }
        rows.append(row)
      }
      return (rows, true)
    case let other:
      throw .invalidRequest(
        reason:
          "the body is \(other.kindName) where an object\(operation == .update ? "" : " or a list of objects") is "
          + "expected")
    }
  }

  /// The write as the queue holds it, still without a base.
  func write(_ rows: [JSONObject], isList: Bool, _ description: TableDescription) -> Write {
    var request = WriteRequest()
    request.rows = isList ? rows : nil
    request.conditions = conditions
    request.conflictColumns = conflictColumns
    request.ignoresDuplicates = ignoresDuplicates
    request.takesDefaults = takesDefaults
    request.selection = selection
    request.isSingle = isSingle
    var key: RowKey?
    switch operation {
    case .insert, .upsert:
      let keys = rows.map(description.key)
      // Keys that only some rows carry pin nothing: the others are made by the server.
      if keys.allSatisfy({ $0 != nil }) { request.rowKeys = keys.compactMap(\.self) }
      if !isList { key = request.rowKeys.first }
    case .update, .delete:
      key = description.pinnedKey(conditions)
      request.rowKeys = key.map { [$0] } ?? []
    }
    return Write(
      table: table, operation: operation, key: key ?? RowKey([JSONValue]()),
      values: isList ? [:] : rows.first ?? [:], base: nil, coalesces: false, request: request)
  }

  /// The request as it is sent at once: exactly as it was built.
  func request(for write: Write) -> TableRequest {
    var request = write.requestAsMade
    request.schema = schema
    request.isDryRun = isDryRun
    request.order = order
    request.limit = limit
    request.offset = offset
    return request
  }
}

extension TableDescription {
  /// The row that conditions pin: each key column is asked for by equality, once.
  func pinnedKey(_ conditions: [Filter]) -> RowKey? {
    var values: [JSONValue] = []
    for column in keyColumns {
      let found = conditions.compactMap { filter -> JSONValue? in
        guard case .column(column, .value(.equal, let value)) = filter else { return nil }
        return value
      }
      guard found.count == 1 else { return nil }
      values += found
    }
    return RowKey(values)
  }
}

extension Filter {
  fileprivate var unqueueableKind: UnqueueableWrite? {
    switch self {
    case .group: .group
    case .column(_, let comparison): comparison.isNegated ? .negation : nil
    case .path(let path, let comparison):
      // A dot before the first arrow is an embedded table's; one behind it is a member's.
      if let arrow = path.firstRange(of: "->"), !path[..<arrow.lowerBound].contains(".") {
        comparison.isNegated ? .negation : nil
      } else {
        .embeddedCondition
      }
    }
  }
}

extension Filter.Comparison {
  fileprivate var isNegated: Bool {
    switch self {
    case .not: true
    case .written(let operation, _): operation.hasPrefix("not.")
    case .value, .oneOf, .identity: false
    }
  }
}
