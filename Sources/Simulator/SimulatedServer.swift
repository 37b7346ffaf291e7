import LosslessJSON
import Randomness
import StandInServer
import SupabaseAPI
import Synchronization

/// The server of a world: the stand-in's own request handling, without a socket.
final class SimulatedServer: Sendable {
  static let origin = "http://127.0.0.1:54321"

  let standIn: StandIn
  private let memory: StandInMemory
  private static let memories = Reused<StandInMemory>()
  private let timeline: Timeline
  private let downUntil = Atomic<Int64>(0)

  init(_ timeline: Timeline, _ random: inout SeededRandom, accessTokenSeconds: Int) throws {
    self.timeline = timeline
    let random = Mutex(random.fork())
    var auth = AuthSettings()
    auth.tokenSeconds = accessTokenSeconds
    memory = try Self.memories.take { try StandInMemory() }
    var configuration = StandInConfiguration(
      auth: auth,
      effects: StandInEffects(
        now: { timeline.tick() },
        randomBytes: { count in
          random.withLock { random in (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) } }
        }))
    configuration.memory = memory
    standIn = try StandIn(configuration)
  }

  /// Ends it: nothing may ask it any more.
  func end() {
    if (try? memory.clear()) != nil { Self.memories.giveBack(memory) }
  }

  /// Answers a request as the client sent it, with what goes wrong on the way.
  ///
  /// - Returns: The answer, of which only half arrives where the connection ends before it is whole.
  func answer(_ request: HTTPRequest, with fault: StandInFault.Kind? = nil) -> (answer: HTTPResponse, isWhole: Bool) {
    let fields = request.fields.fields.map { (name: $0.name, value: $0.value) } + [(name: "Host", value: "127.0.0.1")]
    standIn.faults = fault.map { [StandInFault($0)] } ?? []
    let answer = standIn.answer(
      StandInRequest(
        method: request.method, target: String(request.url.dropFirst(Self.origin.count)), fields: fields,
        body: request.body ?? []))
    standIn.faults = []
    var answerFields = HTTPFields()
    for field in answer.fields { answerFields.add(field.name, field.value) }
    var body = answer.wholeBody
    if answer.delivery != .whole { body.removeLast((body.count + 1) / 2) }
    let response = HTTPResponse(status: answer.status, fields: answerFields, body: body)
    return (response, answer.delivery == .whole)
  }

  /// Whether it answers nobody just now.
  var isDown: Bool { timeline.now < downUntil.load(ordering: .relaxed) }

  /// Goes down with its live connections, and comes back after a while.
  func restart(after nanoseconds: Int64) {
    downUntil.store(timeline.now + nanoseconds, ordering: .relaxed)
    standIn.faults = [StandInFault(.realtimeDisconnect, times: nil)]
    standIn.faults = []
  }

  // MARK: As its owner sees it

  /// A user's rows by key.
  func rows(of user: String) -> [String: JSONObject] {
    let rows = owner("GET", "?select=*&user_id=eq.\(user)&limit=100000").arrayValue ?? []
    return Dictionary(rows.compactMap(\.objectValue).map { ($0["id"]?.stringValue ?? "", $0) }) { first, _ in first }
  }

  /// A row, whoever's it is.
  func row(_ id: String) -> JSONObject? { owner("GET", "?select=*&id=eq.\(id)").arrayValue?.first?.objectValue }

  /// Adds a row as somebody who uses the server's own tools.
  func insert(_ row: JSONObject) { owner("POST", "", .object(row)) }

  /// Changes a row as somebody who uses the server's own tools.
  func update(_ id: String, _ columns: JSONObject) { owner("PATCH", "?id=eq.\(id)", .object(columns)) }

  /// Deletes a row as somebody who uses the server's own tools.
  func delete(_ id: String) { owner("DELETE", "?id=eq.\(id)") }

  @discardableResult
  private func owner(_ method: String, _ query: String, _ body: JSONValue? = nil) -> JSONValue {
    ask(method, "/rest/v1/tasks\(query)", body)
  }

  /// Asks with the key that may do everything.
  private func ask(_ method: String, _ target: String, _ body: JSONValue?) -> JSONValue {
    let answer = standIn.answer(
      StandInRequest(
        method: method, target: target,
        fields: [
          ("Host", "127.0.0.1"), ("apikey", standIn.serviceKey), ("Content-Type", "application/json"),
          ("Prefer", "return=representation"),
        ], body: body.map { Array($0.serialized().utf8) } ?? []))
    return (try? JSONValue(parsing: answer.body)) ?? .null
  }

  // MARK: Accounts

  /// A session of its own for an account, which is made where there is none.
  ///
  /// By the link of a mail: a password takes as long to hash as many requests.
  func signIn(_ email: String) throws -> Session {
    let link = ask("POST", "/auth/v1/admin/generate_link", ["type": "magiclink", "email": .string(email)])
    let session = ask(
      "POST", "/auth/v1/verify", ["type": "magiclink", "token_hash": link["hashed_token"] ?? .null])
    return try Session(json: session)
  }
}
