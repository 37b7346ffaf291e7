import LosslessJSON
import SQLite

/// Answers `/rest/v1` as PostgREST does.
struct RestService: Sendable {
  let schema: Schema
  let keys: Keys
  let rowCountMax: Int
  let requiresWhere: Bool
  let allowsRollback: Bool
  let effects: StandInEffects
  /// Told what a transaction has changed, before anybody else uses the database: in the order of the commits.
  let publish: @Sendable ([RowChange]) -> Void
  /// The last queries of tables, read and planned: a client that looks for news asks in the same words again and again.
  ///
  /// What a plan says depends on the words and the schema alone, never on who asks or when.
  private let plans = BoundedCache<AskedQuery, PlannedQuery>(countMax: 256)
  /// A longer query is hardly asked twice.
  private static let keptQueryBytesMax = 4 << 10

  /// The greatest head of a request that PostgREST takes.
  private static let headBytesMax = 50 << 10

  /// Answers one request.
  ///
  /// - Parameters:
  ///   - request: The request as it came.
  ///   - path: What follows `/rest/v1`, with its leading slash and its percent signs.
  ///   - keyRole: The role of the key that let the request in; it is the caller's where no token says otherwise.
  ///   - token: The token to judge, or `nil`.
  ///   - database: Where the rows are.
  func answer(
    _ request: StandInRequest, path: String, keyRole: Role, token: String?, database: SharedDatabase
  ) -> StandInAnswer {
    // Made below PostgREST by its HTTP library, which sees the request before anything else does.
    guard request.headBytes <= Self.headBytesMax else {
      return StandInAnswer(
        status: 400, fields: [("Content-Type", "text/plain; charset=utf-8")], body: Array("Bad Request".utf8))
    }
    let now = Timestamp(microseconds: effects.now())
    var caller = Caller(role: keyRole, subject: nil)
    do {
      if let token { caller = try judge(token, now: now) }
      return try answer(request, path: path, caller: caller, now: now, database: database)
    } catch let error as RestError {
      return error.answer
    } catch let fault as DatabaseFault {
      return RestError(fault, as: caller.role).answer
    } catch let rollback as RolledBack {
      return rollback.answer
    } catch {
      return RestError(500, "XX000", "the stand-in's database failed: \(error)").answer
    }
  }

  // MARK: Tokens

  /// Who a token says the caller is.
  private func judge(_ token: String, now: Timestamp) throws(RestError) -> Caller {
    guard !token.isEmpty else { throw .badToken("PGRST301", "Empty JWT is sent in Authorization header") }
    let claims: JSONObject
    do {
      let parsed = try keys.token(token)
      claims = parsed.claims
      do {
        try parsed.checkTimes(now: now.microseconds / 1_000_000, by: .postgREST)
      } catch {
        throw Self.refusal(error)
      }
    } catch let fault as JSONWebToken.Fault {
      throw Self.refusal(fault)
    } catch let error as RestError {
      throw error
    } catch {
      throw .badToken("PGRST301", "JWT cryptographic operation failed")
    }
    let name = claims["role"]?.stringValue ?? Role.anon.rawValue
    guard let role = Role(rawValue: name) else {
      throw RestError(DatabaseFault("22023", "role \"\(name)\" does not exist"), as: .anon)
    }
    return Caller(role: role, subject: claims["sub"].flatMap { ColumnType.plainText($0) })
  }

  private static func refusal(_ fault: JSONWebToken.Fault) -> RestError {
    switch fault {
    case .parts(let count): .badToken("PGRST301", "Expected 3 parts in JWT; got \(count)")
    case .undecodable: .badToken("PGRST301", "JWT cryptographic operation failed")
    case .unsecured:
      .badToken(
        "PGRST301", "Wrong or unsupported encoding algorithm",
        details: "JWT is unsecured but expected 'alg' was not 'none'")
    case .algorithm:
      .badToken(
        "PGRST301", "No suitable key or wrong key type", details: "No suitable key was found to decode the JWT")
    case .signature:
      .badToken(
        "PGRST301", "No suitable key or wrong key type", details: "None of the keys was able to decode the JWT")
    }
  }

  private static func refusal(_ fault: ClaimFault) -> RestError {
    switch fault {
    case .expired: .badToken("PGRST303", "JWT expired")
    case .notYetValid: .badToken("PGRST303", "JWT not yet valid")
    case .issuedInFuture: .badToken("PGRST303", "JWT issued at future")
    case .malformed(let claim): .badToken("PGRST303", "The JWT '\(claim)' claim must be a number")
    }
  }

  // MARK: Requests

  private static let methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]

  private func answer(
    _ request: StandInRequest, path: String, caller: Caller, now: Timestamp, database: SharedDatabase
  ) throws -> StandInAnswer {
    let segments = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map(QueryText.decodedPath)
    if segments.first == "rpc", segments.count == 2, !segments[1].isEmpty {
      return try call(request, segments[1], caller: caller, now: now, database: database)
    }
    if segments.isEmpty || segments == [""] {
      if request.method == "OPTIONS" { return StandInAnswer(status: 200, fields: [("Allow", "OPTIONS,GET,HEAD")]) }
      throw RestError(404, "PGRST126", "Root endpoint metadata is disabled")
    }
    guard segments.count == 1 else { throw RestError(404, "PGRST125", "Invalid path specified in request URL") }
    let profile = try profile(of: request)
    guard Self.methods.contains(request.method) else {
      throw RestError(405, "PGRST117", "Unsupported HTTP method: \(request.method)")
    }
    if request.method == "OPTIONS" {
      _ = try table(segments[0])
      // A browser's question before it asks from another site is answered without leave: nobody needs it here.
      let isPreflight = request.field("Access-Control-Request-Method") != nil
      return StandInAnswer(
        status: 200, fields: isPreflight ? [] : [("Allow", "OPTIONS,GET,HEAD,POST,PUT,PATCH,DELETE")])
    }
    let isRead = request.method == "GET" || request.method == "HEAD"
    let asked = AskedQuery(table: segments[0], query: request.query, isRead: isRead)
    let known = plans[asked]
    let query = try known?.query ?? RestQuery(parsing: request.query)
    let range = try RowRange(request, query, rowCountMax: rowCountMax, reads: isRead)
    let hasPayload = request.method == "POST" || request.method == "PATCH" || request.method == "PUT"
    let payload =
      hasPayload
      ? try RestPayload(request.body, contentType: request.field("Content-Type"), columns: query.columns)
      : RestPayload.none
    let preferences = Preferences(request.allFields("Prefer"))
    try preferences.check()
    let table = try table(segments[0])
    let plan =
      try known?.plan
      ?? ReadPlan(query, of: table, in: schema, filtersRoot: isRead, rowCountMax: isRead ? rowCountMax : nil)
    if known == nil, request.query.utf8.count <= Self.keptQueryBytesMax {
      plans[asked] = PlannedQuery(query: query, plan: plan)
    }
    let task = RestTask(
      service: self, request: request, query: query, plan: plan, range: range, payload: payload,
      preferences: preferences,
      media: try MediaType.negotiated(request.allFields("Accept")), table: table, caller: caller, now: now,
      profile: profile)
    return try TimeZoneRules.$current.withValue(preferences.timeZone) {
      try database.use { try task.run(in: $0) }
    }
  }

  private func call(
    _ request: StandInRequest, _ name: String, caller: Caller, now: Timestamp, database: SharedDatabase
  ) throws -> StandInAnswer {
    let profile = try profile(of: request)
    let reads = request.method == "GET" || request.method == "HEAD" || request.method == "OPTIONS"
    guard reads || request.method == "POST" else {
      throw RestError(405, "PGRST101", "Cannot use the \(request.method) method on RPC")
    }
    let query = try RestQuery(parsing: request.query, readsFunction: reads)
    let range = try RowRange(request, query, rowCountMax: rowCountMax, reads: true)
    let arguments =
      reads
      ? FunctionArguments(query.arguments)
      : try FunctionArguments(request.body, contentType: request.field("Content-Type"), columns: query.columns)
    let preferences = Preferences(request.allFields("Prefer"))
    try preferences.check()
    let function = try arguments.choose(named: name, in: schema)
    if request.method == "OPTIONS" {
      let isPreflight = request.field("Access-Control-Request-Method") != nil
      let methods = function.volatility == .volatile ? "OPTIONS,POST" : "OPTIONS,GET,HEAD,POST"
      return StandInAnswer(status: 200, fields: isPreflight ? [] : [("Allow", methods)])
    }
    let plan = try ReadPlan(
      query, of: function.table(in: schema), in: schema, filtersRoot: true, rowCountMax: rowCountMax)
    if preferences.isStrict == true, preferences.affectedMax != nil, !function.returnsSet {
      throw RestError(
        400, "PGRST128",
        "Function must return SETOF or TABLE when max-affected preference is used with handling=strict")
    }
    let media = try MediaType.negotiated(request.allFields("Accept"))
    do {
      return try TimeZoneRules.$current.withValue(preferences.timeZone) {
        let task = FunctionTask(
          service: self, request: request, function: function,
          arguments: try arguments.values(for: function, now: now), plan: plan, range: range,
          preferences: preferences, media: media, caller: caller, now: now, profile: profile)
        return try database.use { try task.run(in: $0) }
      }
    } catch SQLiteError.statement(_, _, let reason) {
      // What SQLite cannot work out is the fault of the arguments or of the schema's author, not of the server.
      throw DatabaseFault("22000", "the function \(name) failed: \(reason)")
    }
  }

  private func table(_ name: String) throws(RestError) -> Table {
    guard let table = schema.table(named: name) else {
      let hint = Similarity.best(name, among: schema.tables.map(\.name))
      throw RestError(
        404, "PGRST205", "Could not find the table 'public.\(name)' in the schema cache",
        hint: hint.map { "Perhaps you meant the table 'public.\($0)'" })
    }
    return table
  }

  /// The schema that the request names, which can only be `public`.
  private func profile(of request: StandInRequest) throws(RestError) -> String? {
    let reads = request.method == "GET" || request.method == "HEAD"
    guard let profile = request.field(reads ? "Accept-Profile" : "Content-Profile") else { return nil }
    guard profile == "public" else {
      throw RestError(
        406, "PGRST106", "Invalid schema: \(profile)", hint: "Only the following schemas are exposed: public")
    }
    return profile
  }
}

/// What one query string asks of one table.
private struct AskedQuery: Hashable {
  let table: String
  let query: String
  /// Whether the conditions belong to the read; for a write they choose its rows.
  let isRead: Bool
}

private struct PlannedQuery {
  let query: RestQuery
  let plan: ReadPlan
}

/// Carries an answer out of a transaction that is undone on purpose.
struct RolledBack: Error {
  let answer: StandInAnswer
}
