import LosslessJSON
import OfflineEngine
import Randomness
import StandInServer
import SupabaseAPI
import Synchronization

@testable import FileWorkspace

/// One user of a stand-in project and the replicas of their workspace, all in one process under a virtual clock.
final class TaskWorld {
  let clock: VirtualClock
  let server: StandIn
  let session: Session
  let number: Int
  private var replicaCount = 0

  /// A project of its own with one user and no rows.
  ///
  /// - Parameter schema: What its tables and buckets are; those of the template by default.
  static func make(_ rows: [JSONObject] = [], schema: Schema? = nil) async throws -> TaskWorld {
    let clock = VirtualClock()
    return try await TaskWorld(server: try project(clock, schema: schema), clock, rows)
  }

  /// A project that several worlds may share: each has a user of its own, who sees no other's rows.
  static func project(_ clock: VirtualClock, schema: Schema? = nil) throws -> StandIn {
    let random = Mutex(SeededRandom(seed: 7))
    return try StandIn(
      StandInConfiguration(
        schema: schema ?? .tasksAndPhotos,
        auth: AuthSettings(passwordCost: 4),
        effects: StandInEffects(
          now: { clock.tick() },
          randomBytes: { count in
            random.withLock { random in (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) } }
          })))
  }

  /// - Parameter number: Which of the project's worlds it is: it gives the user's address and the keys that replicas make.
  init(server: StandIn, _ clock: VirtualClock, number: Int = 1, _ rows: [JSONObject] = []) async throws {
    self.server = server
    self.clock = clock
    self.number = number
    session = try await AuthClient(
      project: Self.project(server), http: StandInExchange(server, isDead: { false })
    ).signUp(email: "person\(number)@example.org", password: Secret("correct horse"))
    if !rows.isEmpty { insert(rows) }
  }

  static func project(_ server: StandIn) throws -> Project {
    try Project(url: StandInExchange.origin, key: Secret(server.publishableKey))
  }

  /// A new workspace of the user: an empty folder.
  ///
  /// - Parameter conflicts: What the settings of its collection say of conflicts; nothing by default.
  func replica(
    _ columns: [JSONValue] = TaskWorld.columns, conflicts: String? = nil, photos: JSONObject = ["folder": "photos"]
  ) throws -> Replica {
    replicaCount += 1
    return try Replica(self, number: replicaCount, columns, conflicts: conflicts, photos: photos)
  }

  static let columns: [JSONValue] = ["id uuid", "title text required", "notes text", "done boolean"]

  // MARK: The server, as its owner sees it

  /// The user's rows by key.
  var rows: [String: JSONObject] {
    let rows = request("GET", "?select=*&user_id=eq.\(session.user.id)&limit=100000").arrayValue ?? []
    return Dictionary(
      uniqueKeysWithValues: rows.compactMap(\.objectValue).map { ($0["id"]?.stringValue ?? "", $0) })
  }

  /// The one row with the title.
  func row(titled title: String) -> JSONObject? { rows.values.first { $0["title"] == .string(title) } }

  func insert(_ rows: [JSONObject]) {
    let user = JSONValue.string(session.user.id)
    request("POST", "", .array(rows.map { .object($0.overlaid(with: ["user_id": user])) }))
  }

  func update(_ id: String, _ columns: JSONObject) { request("PATCH", "?id=eq.\(id)", .object(columns)) }

  func delete(_ id: String) { request("DELETE", "?id=eq.\(id)") }

  @discardableResult
  private func request(_ method: String, _ query: String, _ body: JSONValue? = nil) -> JSONValue {
    server.asOwner(method, "/rest/v1/tasks\(query)", body)
  }
}

/// Keys for rows that a test lays out.
func key(_ number: Int) -> String {
  let digits = String(number, radix: 16)
  return "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits
}

/// A task as the server has it.
func task(_ number: Int, _ title: String, notes: String? = nil) -> JSONObject {
  ["id": .string(key(number)), "title": .string(title), "notes": notes.map(JSONValue.string) ?? .null]
}
