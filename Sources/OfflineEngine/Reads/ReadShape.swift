import SupabaseAPI

/// The conditions, order and bounds of a read.
public protocol ReadShaping: FilterBuilder {
  /// The order of the rows.
  var order: [Order] { get set }
  /// The most rows.
  var limit: Int? { get set }
  /// The rows left out before the first.
  var offset: Int? { get set }
}

extension ReadShaping {
  /// Orders the rows by a column, behind the columns named before.
  ///
  /// - Parameter nullsFirst: Where rows without a value stand; `nil` leaves it to the server: as if it were the greatest.
  public func order(_ column: String, ascending: Bool = true, nullsFirst: Bool? = nil) -> Self {
    var shape = self
    shape.order.append(
      Order(column, ascending ? .ascending : .descending, nulls: nullsFirst.map { $0 ? .first : .last }))
    return shape
  }

  /// Reads at most that many rows.
  public func limit(_ count: Int) -> Self {
    var shape = self
    shape.limit = count
    return shape
  }

  /// Leaves out the first rows.
  public func offset(_ count: Int) -> Self {
    var shape = self
    shape.offset = count
    return shape
  }

  /// Reads the rows from one number to another, both included and counted from zero.
  public func range(from: Int, to: Int) -> Self { offset(from).limit(to - from + 1) }
}

/// A read that is being built; nothing is read before one of its `execute` functions is called.
public struct ReadBuilder: ReadShaping {
  let client: OfflineClient
  let schema: String
  let table: String
  let selection: String
  let isHead: Bool
  let count: Count?
  let strategy: ReadStrategy
  /// The conditions on the rows.
  public var conditions: [Filter] = []
  /// The order of the rows.
  public var order: [Order] = []
  /// The most rows.
  public var limit: Int?
  /// The rows left out before the first.
  public var offset: Int?
  private(set) var isSingle = false
  private(set) var isMaybeSingle = false
  private(set) var stripsNulls = false

  init(
    client: OfflineClient, schema: String, table: String, selection: String, isHead: Bool, count: Count?,
    strategy: ReadStrategy
  ) {
    self.client = client
    self.schema = schema
    self.table = table
    self.selection = selection
    self.isHead = isHead
    self.count = count
    self.strategy = strategy
  }

  /// Expects exactly one row, which comes by itself rather than in a list; such a read is never kept.
  public func single() -> ReadBuilder {
    var builder = self
    builder.isSingle = true
    return builder
  }

  /// Expects one row or none, which comes by itself rather than in a list; such a read is never kept.
  ///
  /// Read it as an optional value: `execute(Task?.self)`.
  public func maybeSingle() -> ReadBuilder {
    var builder = self
    builder.isMaybeSingle = true
    return builder
  }

  /// Leaves members without a value out of the rows; such a read is never kept.
  public func stripNulls() -> ReadBuilder {
    var builder = self
    builder.stripsNulls = true
    return builder
  }

  /// Reads, and gives what is known beside the rows, such as their count.
  ///
  /// - Throws: `OfflineError`, or `CancellationError` when the task is cancelled.
  @discardableResult
  public func execute() async throws -> OfflineResponse<Void> { try await client.read(self).map { _ in () } }

  /// Reads the rows: a list, or one row after `single()` and `maybeSingle()`.
  ///
  /// - Throws: As `execute()`; `OfflineError.decoding` when the rows do not have the shape, `.refused` with PostgREST's
  ///   code `PGRST116` when one row was expected and there are others.
  public func execute<Value: Decodable & Sendable>(_ type: Value.Type) async throws -> OfflineResponse<Value> {
    try await client.read(self).map { try RowCoding.value(type, $0) }
  }

  /// Reads the rows as the server writes them in CSV (RFC 4180), with a line of names first; such a read is never kept.
  ///
  /// - Throws: As `execute()`.
  public func executeCSV() async throws -> OfflineResponse<String> { try await client.readText(self, in: .csv) }

  /// Reads the rows of a table with a geometry as a GeoJSON feature collection; such a read is never kept.
  ///
  /// - Throws: As `execute()`.
  public func executeGeoJSON() async throws -> OfflineResponse<OfflineJSON> {
    try await client.readText(self, in: .geoJSON).map { text throws(OfflineError) in
      do { return try OfflineJSON(parsing: text) } catch { throw .decoding(reason: "the answer is not JSON") }
    }
  }

  /// Asks how the database would go about the read, where the project shows it (`db-plan-enabled`); never kept.
  ///
  /// - Parameters:
  ///   - analyze: Whether the read is made, and how long its steps took.
  ///   - isJSON: Whether the plan is said in JSON, rather than in lines for people.
  ///   - options: More words of `EXPLAIN` that PostgREST takes: `verbose`, `settings`, `buffers`, `wal`.
  /// - Throws: As `execute()`.
  public func executeExplain(analyze: Bool = false, isJSON: Bool = false, options: [String] = []) async throws
    -> OfflineResponse<String>
  {
    let words = (analyze ? ["analyze"] : []) + options
    return try await client.readText(self, in: .plan(AnswerForm.PlanOptions(isJSON: isJSON, words: words)))
  }

  /// The request as it is sent.
  var request: TableRequest {
    var request =
      isHead ? TableRequest.count(table) : TableRequest.select(table)
    request.schema = schema
    request.selection = selection == "*" ? nil : selection
    request.filters = conditions.grouped
    request.order = order
    // A second row is enough to know that there are several.
    request.limit = isMaybeSingle ? min(limit ?? 2, 2) : limit
    request.offset = offset
    request.count = count
    request.isSingle = isSingle
    request.stripsNulls = stripsNulls
    return request
  }
}

extension OfflineResponse {
  /// The response with another value.
  func map<Other: Sendable>(_ transform: (Value) throws -> Other) rethrows -> OfflineResponse<Other> {
    OfflineResponse<Other>(
      value: try transform(value), count: count, isFromCache: isFromCache, fetchedAt: fetchedAt,
      hasPendingMutations: hasPendingMutations, isCut: isCut)
  }
}

extension TableReference {
  /// Reads rows once.
  ///
  /// - Parameters:
  ///   - columns: The columns in PostgREST's words, which may rename, cast and embed.
  ///   - head: Whether only the count is wanted, and no row.
  ///   - count: Whether and how to count all rows that match; such a read is never kept.
  ///   - readStrategy: Where the rows are taken from.
  public func select(
    _ columns: String = "*", head: Bool = false, count: Count? = nil, readStrategy: ReadStrategy = .networkFirst
  ) -> ReadBuilder {
    ReadBuilder(
      client: client, schema: schema, table: table, selection: columns.withoutBlanks, isHead: head, count: count,
      strategy: readStrategy)
  }

  /// Reads rows and follows them: every write, answer and report that changes them gives a new value.
  ///
  /// - Parameters:
  ///   - columns: The columns in PostgREST's words.
  ///   - readStrategy: Where the first value comes from.
  public func selectAsSequence(
    _ columns: String = "*", readStrategy: LiveReadStrategy = .cacheFirstThenNetwork
  ) -> LiveReadBuilder {
    LiveReadBuilder(
      client: client, schema: schema, table: table, selection: columns.withoutBlanks, strategy: readStrategy)
  }
}
