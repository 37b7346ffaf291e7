import Foundation
import Testing

@testable import OfflineEngine
@testable import SupabaseAPI

/// The code of the getting-started article, compiled.
private enum GettingStarted {
  struct NewTask: Codable, Sendable {
    var id: String
    var title: String
    var done = false
  }

  static func client() async throws -> OfflineClient {
    var configuration = OfflineConfiguration(
      project: try Project(url: "https://PROJECT.supabase.co", key: Secret("sb_publishable_…")),
      databasePath: "tasks.sqlite")
    configuration.sessionStorage = SessionFile(path: "session.json")
    configuration.versionColumns = ["tasks": "updated_at"]
    let client = try OfflineClient(configuration, environment: .live(http: CurlExchange()))
    try await client.open()
    return client
  }

  static func use(_ client: OfflineClient, print: (String) -> Void) async throws {
    let task = NewTask(id: UUID().uuidString.lowercased(), title: "Buy milk")
    switch try await client.from("tasks").insert(task).select().single().execute(NewTask.self) {
    case .applied(let result): print("stored: \(result.value.title)")
    case .queued(let mutation): print("waits as number \(mutation.id)")
    }
    try await client.from("tasks").update(["done": true]).eq("id", value: task.id).execute()
    try await client.from("tasks").delete().eq("id", value: task.id).execute()
    let report = try await client.syncPendingMutations()
    print("sent \(report.synced), refused \(report.rejected.count), still waiting \(report.remaining)")
    for entry in try client.rejectedMutationList() {
      print("\(entry.table): \(entry.message)")
      try client.dismissRejectedMutation(id: entry.id)
    }
    for await status in client.syncStatuses() {
      print("\(status.network.rawValue), \(status.pendingMutationCount) waiting")
      if status.pendingMutationCount == 0 { break }
    }
    client.close()
  }
}

@Suite("The getting-started article")
struct GettingStartedTests {
  @Test("holds code that is compiled here, line for line")
  func compiled() throws {
    let here = try String(contentsOfFile: #filePath, encoding: .utf8)
    let lines = Set(here.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) })
    let article = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../../Sources/OfflineEngine/OfflineEngine.docc/GettingStarted.md")
    var isCode = false
    var count = 0
    for line in try String(contentsOf: article, encoding: .utf8).components(separatedBy: "\n") {
      if line.hasPrefix("```") {
        isCode = line == "```swift"
      } else if isCode, !line.trimmingCharacters(in: .whitespaces).isEmpty {
        count += 1
        #expect(lines.contains(line.trimmingCharacters(in: .whitespaces)), "not compiled: \(line)")
      }
    }
    #expect(count > 20)
  }

  @Test("does what it says: a task waits without a network and is gone in the end")
  func runs() async throws {
    let desk = try await ClientDesk([.offline, .offline])
    let notes = Notes()
    let run = Task { try await GettingStarted.use(desk.client) { notes.add($0) } }
    while notes.all.count < 3 { await Task.yield() }
    #expect(notes.all[0].hasPrefix("waits as number") && notes.all[1].hasPrefix("sent 0, refused 0, still waiting 3"))
    try await desk.client.clearLocalData()
    try await run.value
    #expect(notes.all.last?.hasSuffix("0 waiting") == true)
  }
}
