import Foundation
import LosslessJSON
import SupabaseAPI
import Testing

@testable import OfflineEngine

/// What a real PostgREST answered to writes, played to the client: what it makes of each, at once and on replay.
@Suite("Recorded answers of a real PostgREST")
struct RecordedAnswerTests {
  static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
  static let answers = folder.deletingLastPathComponent().appending(path: "StandInServerTests/Conformance")
  static let golden = folder.appending(path: "Goldens/RecordedAnswers.txt")
  static let topics = ["client", "guarded", "sync", "upsert", "update", "delete", "errors", "auth"]

  /// One request and what was answered.
  struct Recording {
    var name: String
    var method: String
    var request: JSONObject
    var response: HTTPResponse

    init(_ json: JSONValue, request: JSONValue? = nil, version: String = "") {
      name = (json["name"]?.stringValue ?? "") + version
      self.request = (request ?? json["request"])?.objectValue ?? [:]
      method = self.request["method"]?.stringValue ?? ""
      var fields = HTTPFields()
      for (name, value) in json["response"]?["headers"]?.objectValue?.members ?? [] {
        fields.add(name, value.stringValue ?? value.serialized())
      }
      response = HTTPResponse(
        status: Int(json["response"]?["status"]?.int64Value ?? 0), fields: fields,
        body: Array((json["response"]?["body"]?.stringValue ?? "").utf8))
    }

    private func header(_ name: String) -> String {
      request["headers"]?.arrayValue?.compactMap(\.arrayValue)
        .first { $0.first?.stringValue == name }?.last?.stringValue ?? ""
    }
    var preferences: String { header("Prefer") }
    var asksRows: Bool { preferences.contains("return=representation") }
    var isSingle: Bool { header("Accept").contains("vnd.pgrst.object") }
    var isSuccess: Bool { (200...299).contains(response.status) }
    /// A replay asks rows back, as a list: a recording of another answer says nothing about it.
    var isPlayedAsReplay: Bool { !isSuccess || asksRows && !isSingle }
    var isRead: Bool { method == "GET" || method == "HEAD" }
    var isWrite: Bool { ["POST", "PATCH", "DELETE"].contains(method) && !isFunction }
    var isFunction: Bool { request["path"]?.stringValue?.hasPrefix("/rpc/") ?? false }
  }

  static func recordings() throws -> [(topic: String, [Recording])] {
    var byName: [String: JSONValue] = [:]
    var topics: [(String, [Recording])] = []
    for topic in Self.topics {
      let cases = try lines(answers.appending(path: "\(topic).jsonl"))
      for json in cases { byName[json["name"]?.stringValue ?? ""] = json["request"] }
      topics.append((topic, cases.map { Recording($0) }))
    }
    for version in ["13.0.8", "12.2.12"] {
      let cases = try lines(answers.appending(path: "versions/\(version).jsonl"))
      topics.append(
        (
          "version \(version)",
          cases.compactMap { json in
            byName[json["name"]?.stringValue ?? ""].map { Recording(json, request: $0, version: " \(version)") }
          }
        ))
    }
    return topics
  }

  private static func lines(_ file: URL) throws -> [JSONValue] {
    try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map { try JSONValue(parsing: String($0)) }
  }

  /// A server that refreshes every token, vouches for the user, shows no row, and answers every write with one recording.
  static func server(_ response: HTTPResponse, isReading: Bool) -> AnsweringExchange {
    AnsweringExchange { request in
      if request.url.contains("/auth/v1/token") {
        return HTTPResponse(
          status: 200, body: Array(session(of: Desk.user, mark: request.text).json.serialized().utf8))
      }
      if request.url.contains("/auth/") {
        return HTTPResponse(status: 200, body: Array(#"{"id":"\#(Desk.user)"}"#.utf8))
      }
      return request.method == "GET" && !isReading ? HTTPResponse(status: 200, body: Array("[]".utf8)) : response
    }
  }

  static func client(_ response: HTTPResponse, isReading: Bool = false) async throws -> OfflineClient {
    var configuration = OfflineConfiguration(
      project: try Project(url: "http://scripted", key: Secret("sb_publishable_key")), databasePath: ":memory:")
    configuration.sessionStorage = MemorySession(session(of: Desk.user))
    configuration.autoSync = false
    let clock = VirtualClock()
    let client = try OfflineClient(
      configuration,
      environment: EngineEnvironment(clock: clock, http: server(response, isReading: isReading), makeID: { "unused" }))
    try await client.open()
    _ = await client.auth.settled(waitingAtMost: .seconds(1))
    return client
  }

  /// A write of the kind that was recorded.
  static func write(_ recording: Recording, _ client: OfflineClient) -> WriteBuilder {
    let tasks = client.from("tasks")
    let row: OfflineJSON = ["id": "a0000000-0000-4000-8000-000000000001", "title": "x"]
    let builder =
      switch recording.method {
      case "PATCH": tasks.update(["title": "x"]).eq("id", value: "a0000000-0000-4000-8000-000000000001")
      case "DELETE": tasks.delete().eq("id", value: "a0000000-0000-4000-8000-000000000001")
      default:
        recording.preferences.contains("resolution=")
          ? tasks.upsert(row, ignoreDuplicates: recording.preferences.contains("ignore")) : tasks.insert(row)
      }
    let asked = recording.asksRows ? builder.select() : builder
    return recording.isSingle ? asked.single() : asked
  }

  static func atOnce(_ recording: Recording) async throws -> String {
    let client = try await client(recording.response)
    defer { client.close() }
    do {
      let outcome = try await client.execute(write(recording, client))
      return outcome.isQueued ? "queued" : "applied"
    } catch {
      let isGone = try client.pendingMutationList().isEmpty && client.rejectedMutationList().isEmpty
      return "thrown \(Thrown(error))" + (isGone ? "" : ", still listed")
    }
  }

  static func onReplay(_ recording: Recording) async throws -> String {
    let client = try await client(recording.response)
    defer { client.close() }
    client.disableNetwork()
    _ = try await client.execute(write(recording, client))
    client.enableNetworkUnnoticed()
    let report = try await client.syncPendingMutations()
    if let rejected = report.rejected.first {
      return "rejected" + (rejected.serverError.map { " \($0.status) \($0.code)" } ?? " without an error")
    }
    if report.synced > 0 { return report.alreadyOnServer > 0 ? "already there" : "synced" }
    if report.conflictsKeptServer > 0 { return "kept the server's" }
    return client.syncStatus.lastSyncError.map { "waits: \($0.description.dropFirst("the last pass stopped: ".count))" }
      ?? "waits"
  }

  static func reading(_ recording: Recording) async throws -> String {
    let client = try await client(recording.response, isReading: true)
    defer { client.close() }
    do {
      let answer = try await client.withToken { token throws(SupabaseError) in
        try await client.tables.send(
          recording.method == "HEAD" ? .count("tasks") : .select("tasks"), accessToken: token)
      }
      return "\(answer.rows.count) rows"
    } catch {
      return "thrown \(Thrown(error))"
    }
  }

  @Test("each is taken as the golden file says: outcome, typed error, and whether it is tried again")
  func golden() async throws {
    var text = ""
    for (topic, recordings) in try Self.recordings() {
      text += "\(topic)\n"
      for recording in recordings {
        let code = (try? JSONValue(parsing: recording.response.body))?["code"]?.stringValue ?? ""
        let what = "\(recording.name): \(recording.method) \(recording.response.status) \(code)"
          .trimmingCharacters(in: .whitespaces)
        if recording.isWrite {
          text += "  \(what) -> \(try await Self.atOnce(recording))"
          text += recording.isPlayedAsReplay ? "; on replay \(try await Self.onReplay(recording))\n" : "\n"
        } else if recording.isRead {
          text += "  \(what) -> \(try await Self.reading(recording))\n"
        }
      }
    }
    if ProcessInfo.processInfo.environment["UPDATE_GOLDENS"] != nil {
      try text.write(to: Self.golden, atomically: true, encoding: .utf8)
    }
    let expected = try String(contentsOf: Self.golden, encoding: .utf8)
    for (line, wanted) in zip(text.split(separator: "\n"), expected.split(separator: "\n")) { #expect(line == wanted) }
    #expect(text.split(separator: "\n").count == expected.split(separator: "\n").count)
  }

  @Test("none loses a write: what is neither applied, thrown nor listed is still queued")
  func nothingLost() async throws {
    for (_, recordings) in try Self.recordings() {
      for recording in recordings where recording.isWrite {
        let client = try await Self.client(recording.response)
        defer { client.close() }
        client.disableNetwork()
        _ = try await client.execute(Self.write(recording, client))
        client.enableNetworkUnnoticed()
        let report = try await client.syncPendingMutations()
        let listed =
          try client.pendingMutationCount() + client.rejectedMutationList().count
          + client.conflictedMutationList().count
        #expect(listed + report.synced + report.conflictsKeptServer == 1, "\(recording.name)")
      }
    }
  }
}

/// A network that answers by a rule.
final class AnsweringExchange: HTTPExchange {
  private let answer: @Sendable (HTTPRequest) -> HTTPResponse

  init(_ answer: @escaping @Sendable (HTTPRequest) -> HTTPResponse) { self.answer = answer }

  func send(_ request: HTTPRequest) async throws(HTTPError) -> HTTPResponse { answer(request) }
}
