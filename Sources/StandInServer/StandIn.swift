import LosslessJSON
import SQLite
import Synchronization

/// A whole stand-in project without a socket: requests in, answers out.
///
/// `StandInServer` puts it on a port; a simulation calls it directly.
public final class StandIn: Sendable {
  private let configuration: StandInConfiguration
  private let keys: Keys
  private let database: SharedDatabase
  /// Kept for its lock.
  private let folder: DataFolder?
  private let rest: RestService
  private let auth: AuthService
  private let storage: StorageService
  /// The connections of Realtime.
  let realtime: RealtimeHub
  private let misbehaviour: Misbehaviour
  private let requestLog = Mutex(RequestLog())

  /// Opens or makes the data.
  public convenience init(_ configuration: StandInConfiguration) throws(StandInError) {
    let folder = try configuration.dataFolder.map { (path) throws(StandInError) in try DataFolder(path) }
    try self.init(configuration, folder: folder)
  }

  init(_ configuration: StandInConfiguration, folder: DataFolder?) throws(StandInError) {
    if let secret = configuration.jwtSecret, secret.count < Keys.jwtSecretBytesMin {
      throw .secret(reason: "it has \(secret.count) bytes, at least \(Keys.jwtSecretBytesMin) are needed")
    }
    let misbehaviour = Misbehaviour(
      configuration.faults, seed: configuration.faultSeed, now: configuration.effects.now)
    self.misbehaviour = misbehaviour
    var configuration = configuration
    configuration.effects.now = { misbehaviour.now() }
    self.configuration = configuration
    self.folder = folder
    keys = try Self.keys(folder, configuration)
    if let memory = configuration.memory {
      database = memory.database
    } else {
      database = SharedDatabase(try MadeDatabase.open(path: folder?.databasePath, schema: configuration.schema))
    }
    realtime = RealtimeHub(
      RealtimeRules(
        schema: configuration.schema, keys: keys,
        subscribeMicroseconds: Int64(configuration.subscribeMilliseconds) * 1_000,
        randomBytes: configuration.effects.randomBytes),
      misbehaviour: misbehaviour)
    rest = RestService(
      schema: configuration.schema, keys: keys, rowCountMax: configuration.rowCountMax,
      requiresWhere: configuration.requiresWhere, allowsRollback: configuration.allowsRollback,
      effects: configuration.effects, publish: realtime.publish)
    auth = AuthService(
      database: database, keys: keys, settings: configuration.auth, effects: configuration.effects)
    storage = try StorageService(
      database: database, folder: folder.map { "\($0.path)/storage" }, keys: keys, configuration: configuration)
    misbehaviour.whenLaid { [weak realtime] in realtime?.cutWhereLaidOut() }
    try checkFunctions()
  }

  /// Finds mistakes in the SQL of the schema's functions now, and not at the first call.
  private func checkFunctions() throws(StandInError) {
    let rest = rest
    for function in configuration.schema.functions {
      do {
        try database.use { database in
          var arguments: [String: SQLiteValue] = ["1": .null]
          for argument in function.arguments { arguments[argument.name] = .null }
          try FunctionRun(
            function: function, arguments: arguments, database: database, service: rest,
            caller: Caller(role: .service, subject: nil), now: Timestamp(microseconds: 0), isReadOnly: false,
            journal: ChangeJournal()
          ).check()
        }
      } catch SQLiteError.statement(_, _, let reason) {
        throw .function(name: function.name, reason: reason)
      } catch {
        throw .function(name: function.name, reason: "\(error)")
      }
    }
  }

  private static func keys(_ folder: DataFolder?, _ configuration: StandInConfiguration) throws(StandInError) -> Keys {
    let random = configuration.effects.randomBytes
    let hasTokenKey = configuration.auth.signsWithKeyPair
    if let folder {
      return try folder.keys(jwtSecret: configuration.jwtSecret, hasTokenKey: hasTokenKey, randomBytes: random)
    }
    let keys = Keys(jwtSecret: configuration.jwtSecret, randomBytes: random)
    return hasTokenKey ? keys.signing(with: TokenKey(id: UUIDText.random(random), pair: .random())) : keys
  }

  /// The key that clients carry.
  public var publishableKey: String { keys.publishable }
  /// The key that sees every row.
  public var serviceKey: String { keys.secret }
  /// The publishable key in the older form, a JSON Web Token.
  public var legacyAnonKey: String { keys.legacyAnon }
  /// The service key in the older form, a JSON Web Token.
  public var legacyServiceKey: String { keys.legacyService }

  /// The misbehaviour that is laid out; faults that are used up leave the list by themselves.
  public var faults: [StandInFault] {
    get { misbehaviour.faults }
    set { misbehaviour.faults = newValue }
  }

  /// The last requests, oldest first, at most 1,000.
  public var requests: [StandInRecord] { requestLog.withLock { $0.last(RequestLog.recordCountMax) } }

  // MARK: Answering

  /// Answers one request.
  public func answer(_ request: StandInRequest) -> StandInAnswer {
    let start = configuration.effects.now()
    var answer = route(request)
    let end = configuration.effects.now()
    answer.fields.append(("Date", HTTPDate.text(unixSeconds: end / 1_000_000)))
    let status = answer.delivery == .dropped ? 0 : answer.status
    requestLog.withLock { $0.add(request, status: status) }
    if let log = configuration.log {
      log("\(request.method) \(request.path) \(status == 0 ? "dropped" : String(status)) \(end - start) µs")
    }
    return answer
  }

  /// How the body of a request is taken, of which only the head is known.
  func bodyPlan(_ head: StandInRequest) -> BodyPlan {
    guard Gateway.service(of: head.path) == .storage, Gateway.isLoopback(head.allFields("Host")) else {
      return .memory(bytesMax: configuration.bodyBytesMax)
    }
    return storage.bodyPlan(head)
  }

  /// How fast the body of a request is read on purpose, in bytes a second; `nil` for as fast as it comes.
  func uploadSpeed(for head: StandInRequest) -> Int? {
    let hasBody = head.field("Transfer-Encoding") != nil || head.field("Content-Length").map { $0 != "0" } ?? false
    return hasBody && !head.path.hasPrefix("/stand-in/") ? misbehaviour.uploadSpeed(for: head) : nil
  }

  /// Opens a connection of Realtime without a socket; `nil` where the server refuses one.
  ///
  /// - Parameters:
  ///   - target: The path and the query that a client connects to.
  ///   - deliver: Called in order with what the client is told; it must not wait.
  public func openRealtime(
    _ target: String, deliver: @escaping @Sendable (RealtimeDelivery) -> Void
  ) -> RealtimeLink? {
    let fields: [(name: String, value: String)] = [
      ("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Version", "13"),
      ("Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA=="),
    ]
    return answer(StandInRequest(method: "GET", target: target, fields: fields)).opening?.open(deliver)
  }

  /// The answer to a body over the limit.
  func tooLarge(_ request: StandInRequest) -> StandInAnswer {
    switch Gateway.service(of: request.path) {
    case .auth: return AuthError.tooLarge.answer(to: request)
    case .storage: return StorageError.tooLarge.answer
    case .rest, .realtime, .none: break
    }
    return RestError(
      413, "413", "Payload too large", details: "The limit is \(configuration.bodyBytesMax) bytes."
    ).answer
  }

  private func route(_ request: StandInRequest) -> StandInAnswer {
    // A page on the web can make a browser send requests here under a name of its own; such names are turned away.
    guard Gateway.isLoopback(request.allFields("Host")) else {
      return Gateway.refusal(403, "Forbidden", hint: "The stand-in server answers to localhost and 127.0.0.1 only.")
    }
    // A browser's question before it asks changes nothing, and its answer gives no leave.
    guard request.method == "OPTIONS" || Gateway.isFromHere(request.allFields("Origin")) else {
      return Gateway.refusal(403, "Forbidden", hint: "The stand-in server answers to pages of this machine only.")
    }
    if request.path.hasPrefix("/stand-in/") { return administer(request) }
    var delay = 0
    var delivery = StandInAnswer.Delivery.whole
    for kind in misbehaviour.met(by: request) {
      switch kind {
      case .latency(let milliseconds, _): delay += milliseconds
      case .dropAfter: delivery = .dropped
      case .truncate: delivery = .truncated
      default:
        var answer = kind.answer(to: request)
        answer.delayMilliseconds = delay
        return answer
      }
    }
    var answer = serve(request)
    answer.delayMilliseconds = delay
    answer.delivery = delivery
    return answer
  }

  private func serve(_ request: StandInRequest) -> StandInAnswer {
    let service = Gateway.service(of: request.path)
    if service == .auth, AuthService.isOpen(request.path) { return auth.answer(request, keyRole: nil, token: nil) }
    // Public and signed URLs are opened without a key.
    if service == .storage { return storage.answer(request) }
    guard service != .none else { return Gateway.refusal(404, "no Route matched with those values") }
    guard let key = Gateway.key(of: request) else { return Gateway.noKey }
    guard let role = keys.role(of: key) else { return Gateway.wrongKey }
    guard !Gateway.isSecretInBrowser(key, request) else { return Gateway.secretInBrowser }
    switch service {
    case .rest:
      let token = Gateway.token(of: request, key: key)
      if let forward = configuration.rest {
        return forward(Gateway.forPostgREST(request, token: token ?? keys.legacyKey(of: role)))
      }
      return rest.answer(
        Gateway.withoutKeyInQuery(request), path: String(request.path.dropFirst("/rest/v1".count)), keyRole: role,
        token: token,
        database: database)
    case .auth: return auth.answer(request, keyRole: role, token: Gateway.token(of: request, key: key))
    case .realtime:
      return RealtimeService(hub: realtime).answer(
        request, path: String(request.path.dropFirst("/realtime/v1".count)), keyRole: role)
    case .storage, .none: return Gateway.refusal(404, "no Route matched with those values")
    }
  }

  // MARK: Administration

  private func administer(_ request: StandInRequest) -> StandInAnswer {
    guard let key = Gateway.key(of: request) else { return Gateway.noKey }
    guard keys.role(of: key) == .service else { return Gateway.wrongKey }
    switch (request.method, request.path) {
    case ("GET", "/stand-in/faults"):
      return .json(200, .array(faults.map(\.json)))
    case ("PUT", "/stand-in/faults"):
      guard let values = try? JSONValue(parsing: request.body).arrayValue else {
        return Gateway.refusal(400, "expected a JSON array of faults")
      }
      do {
        faults = try values.map { (value) throws(StandInFault.Mistake) in try StandInFault(json: value) }
      } catch {
        return Gateway.refusal(400, error.description)
      }
      return .json(200, .array(faults.map(\.json)))
    case ("DELETE", "/stand-in/faults"):
      faults = []
      return StandInAnswer(status: 204)
    case ("GET", "/stand-in/requests"):
      return .json(200, .array(requests.map(\.json)))
    case ("GET", "/stand-in/mails"):
      return .json(200, .array(auth.outbox.mails.map(\.json)))
    case ("GET", "/stand-in/rows"), ("PUT", "/stand-in/rows"):
      return rows(request)
    default:
      return Gateway.refusal(404, "no such part of the stand-in")
    }
  }

  /// All rows of all tables as they are, to read or to replace: for tests that lay rows out.
  private func rows(_ request: StandInRequest) -> StandInAnswer {
    let store = RowStore(schema: configuration.schema, now: Timestamp(microseconds: configuration.effects.now()))
    do {
      if request.method == "PUT" {
        let value = try JSONValue(parsing: request.body)
        let (realtime, isListenedTo) = (realtime, realtime.isListenedTo)
        try database.use { database in
          guard isListenedTo else { return try store.replace(with: value, in: database) }
          realtime.publish(try store.changes(replacingWith: value, in: database))
        }
      }
      let body = try database.use { try store.everything(in: $0) }
      return StandInAnswer(status: 200, fields: [("Content-Type", "application/json; charset=utf-8")], body: body)
    } catch let fault as DatabaseFault {
      return RestError(fault, as: .service).answer
    } catch {
      return Gateway.refusal(400, "\(error)")
    }
  }
}

extension StandInAnswer {
  /// The words of a project's gateway where a service behind it has none.
  public static func gatewayRefusal(_ status: Int, _ message: String) -> StandInAnswer {
    Gateway.refusal(status, message)
  }
}

extension Outbox.Mail {
  fileprivate var json: JSONValue {
    [
      "email": .string(address), "purpose": .string(purpose.rawValue), "token": .string(code.code),
      "token_hash": .string(code.hash), "link": link.map(JSONValue.string) ?? .null,
    ]
  }
}

extension StandInRecord {
  fileprivate var json: JSONValue {
    [
      "number": .number(JSONNumber(Int64(number))), "method": .string(method), "path": .string(path),
      "query": .string(query), "status": .number(JSONNumber(Int64(status))),
    ]
  }
}

extension StandInAnswer {
  /// An answer with a JSON body.
  static func json(
    _ status: Int, _ value: JSONValue, fields: [(name: String, value: String)] = []
  ) -> StandInAnswer {
    StandInAnswer(
      status: status, fields: [("Content-Type", "application/json; charset=utf-8")] + fields,
      body: value.serializedBytes())
  }
}
