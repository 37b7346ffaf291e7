import Foundation
import OfflineEngine
import SupabaseAPI

/// Makes a task of each line of the standard input: at once with a connection, later without.
///
/// `offline-tasks FOLDER URL KEY EMAIL < titles`, with the password in OFFLINE_TASKS_PASSWORD. What waited from an earlier
/// run is sent at the end.
@main
struct OfflineTasks {
  struct NewTask: Codable, Sendable {
    var id: String
    var title: String
  }

  static func main() async {
    do {
      try await run()
    } catch {
      FileHandle.standardError.write(Data("offline-tasks: \(error)\n".utf8))
      exit(1)
    }
  }

  private static func run() async throws {
    let arguments = CommandLine.arguments
    guard arguments.count == 5, let password = ProcessInfo.processInfo.environment["OFFLINE_TASKS_PASSWORD"] else {
      say("usage: OFFLINE_TASKS_PASSWORD=… offline-tasks FOLDER URL KEY EMAIL < titles")
      exit(2)
    }
    let folder = arguments[1]
    var configuration = OfflineConfiguration(
      project: try Project(url: arguments[2], key: Secret(arguments[3])), databasePath: "\(folder)/state.sqlite")
    configuration.sessionStorage = SessionFile(path: "\(folder)/session")
    configuration.versionColumns = ["tasks": "updated_at"]
    let client = try OfflineClient(configuration, environment: .live(http: CurlExchange()))
    try await client.open()
    if client.auth.state == .signedOut { try await client.auth.signIn(email: arguments[4], password: Secret(password)) }
    while let title = readLine() {
      let task = NewTask(id: UUID().uuidString.lowercased(), title: title)
      switch try await client.from("tasks").insert(task).execute() {
      case .applied: say("stored \(task.id) \(title)")
      case .queued: say("waits \(task.id) \(title)")
      }
    }
    let report = try await client.syncPendingMutations()
    say("sent \(report.synced), refused \(report.rejected.count), still waiting \(report.remaining)")
    client.close()
  }

  /// Says a line at once, whatever reads it.
  private static func say(_ line: String) {
    FileHandle.standardOutput.write(Data("\(line)\n".utf8))
  }
}
