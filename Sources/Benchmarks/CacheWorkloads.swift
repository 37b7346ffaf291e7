import LosslessJSON
import OfflineEngine
import SQLite
import SupabaseAPI
import Synchronization

/// The kept lists of a developer's client, measured inside this process, with answers made up beforehand.
extension Bench {
  /// How long a long list takes to be kept, patched, fetched again and opened, beside what SQLite itself takes.
  func cache(_ count: Int) async throws -> [Measurement] {
    let folder = try emptyFolder()
    let path = "\(folder)/cache.sqlite"
    var sample = SampleTasks(seed: seed &+ 9)
    var rows = (0..<count).map { CachedTask(sample.row(), number: count - $0) }
    let server = MadeUpServer()
    var client = try await client(path, server)
    func list(_ client: OfflineClient, _ strategy: ReadStrategy) async throws -> Int {
      try await client.from("tasks").select(readStrategy: strategy).order("created_at", ascending: false)
        .execute([RowID].self).value.count
    }
    func page(_ client: OfflineClient, _ strategy: ReadStrategy) async throws -> Int {
      try await client.from("tasks").select(readStrategy: strategy).order("created_at", ascending: false)
        .range(from: 0, to: 49).execute([RowID].self).value.count
    }
    server.answer = CachedTask.text(rows)
    let kept = try await Limits.timedRequests { _ = try await list(client, .networkOnly) }
    server.answer = CachedTask.text(Array(rows.prefix(50)))
    _ = try await page(client, .networkOnly)

    let rounds = min(300, count)
    var (patched, entered, inserted) = ([Double](), [Double](), [CachedTask]())
    for _ in 0..<rounds {
      let index = sample.number(below: count)
      rows[index].row["title"] = .string(sample.title())
      let record = rows[index].record
      patched.append(try Limits.timed { try client.applyServerRecord(table: "tasks", record: record) })
    }
    for _ in 0..<rounds {
      let task = CachedTask(sample.row(), number: sample.number(below: count), fraction: 1 + inserted.count)
      inserted.append(task)
      entered.append(try Limits.timed { try client.applyServerRecord(table: "tasks", record: task.record) })
    }
    rows = (rows + inserted).sorted { $0.time > $1.time }
    for index in stride(from: 0, to: rows.count, by: max(1, rows.count / 10)) {
      rows[index].row["title"] = .string(sample.title())
    }
    server.answer = CachedTask.text(rows)
    let refreshed = try await Limits.timedRequests { _ = try await list(client, .networkOnly) }
    var whole = 0.0
    var opened: [Double] = []
    for _ in 0..<20 {
      client.close()
      let start = ContinuousClock.now
      client = try await self.client(path, server)
      guard try await page(client, .cacheOnly) == min(50, count) else {
        throw ChildProcess.Failure(description: "the page is not what was kept of it")
      }
      opened.append((ContinuousClock.now - start).seconds)
    }
    whole = try await Limits.timedRequests {
      guard try await list(client, .cacheOnly) == rows.count else {
        throw ChildProcess.Failure(description: "the list is not what was kept of it")
      }
    }
    client.close()
    let limits = try Limits.rows(rows.map(\.text), "\(folder)/rows.sqlite", rounds: rounds)
    func measured(_ workload: String, _ what: String, _ values: [Double], _ name: String, _ limit: Double)
      -> Measurement
    {
      Measurement(
        workload: workload, size: rows.count, what: what, unit: .seconds,
        values: [Measurement.quantile(values, 0.5)], limits: [Limit(name: name, value: limit)])
    }
    return [
      measured(
        "cache patch", "a reported row, in a kept list of that many", patched,
        "one indexed SQLite UPDATE and its commit",
        limits.update),
      measured(
        "cache enter", "a new row comes into the middle of the list", entered,
        "one indexed SQLite UPDATE and its commit", limits.update),
      measured(
        "cache open", "opening a client and reading a page from its cache", opened,
        "opening SQLite and reading as many rows", limits.page),
      measured(
        "cache read", "reading the whole list", [whole], "reading as many rows of SQLite and their JSON", limits.read),
      measured(
        "cache keep", "an answer of that many rows", [kept], "as many indexed INSERTs in one commit", limits.insert),
      measured(
        "cache refresh", "the answer again, ten rows of it changed", [refreshed],
        "reading as many rows of SQLite and their JSON", limits.read),
    ]
  }

  private func client(_ path: String, _ server: MadeUpServer) async throws -> OfflineClient {
    var configuration = OfflineConfiguration(
      project: try Project(url: "http://made.up", key: Secret("sb_publishable_made_up")), databasePath: path)
    configuration.versionColumns = ["tasks": "updated_at"]
    configuration.cacheBounds = nil
    let client = try OfflineClient(configuration, environment: .live(http: server))
    try await client.open()
    return client
  }
}

/// What is looked at of a row.
private struct RowID: Decodable, Sendable {
  let id: String
}

/// A row with the columns that a server fills in.
private struct CachedTask {
  var row: JSONObject
  let time: String

  init(_ row: JSONObject, number: Int, fraction: Int = 0) {
    self.row = row
    let seconds = 1_600_000_000 + number * 60
    time = WallTime(nanoseconds: Int64(seconds) * 1_000_000_000).text.dropLast() + ".\(100_000 + fraction)+00:00"
    for column in ["created_at", "updated_at"] { self.row[column] = .string(time) }
  }

  var text: String { JSONValue.object(row).serialized() }

  var record: [String: OfflineJSON] { Dictionary(uniqueKeysWithValues: row.members.map { ($0.name, $0.value) }) }

  static func text(_ tasks: [CachedTask]) -> [UInt8] { Array("[\(tasks.map(\.text).joined(separator: ","))]".utf8) }
}

/// A server that gives one answer to everything at once.
private final class MadeUpServer: HTTPExchange {
  private let body = Mutex<[UInt8]>([])

  var answer: [UInt8] {
    get { body.withLock(\.self) }
    set { body.withLock { $0 = newValue } }
  }

  func send(_ request: HTTPRequest) async throws(HTTPError) -> HTTPResponse {
    HTTPResponse(status: 200, body: answer)
  }
}

extension Limits {
  /// The seconds that SQLite itself takes for a table of such rows, found by a key: an update, all inserts, opening it and
  /// reading a page, and reading it whole.
  fileprivate static func rows(_ texts: [String], _ path: String, rounds: Int) throws -> (
    update: Double, insert: Double, page: Double, read: Double
  ) {
    let database = try Database(path: path)
    try database.script(
      "CREATE TABLE row (id INTEGER PRIMARY KEY, key TEXT NOT NULL, body TEXT NOT NULL); CREATE INDEX row_key ON row (key)"
    )
    let insert = try timed {
      try database.transaction {
        for (number, text) in texts.enumerated() {
          try database.execute("INSERT INTO row (key, body) VALUES (?, ?)", [.text("key \(number)"), .text(text)])
        }
      }
    }
    var updates: [Double] = []
    for round in 0..<rounds {
      let number = round &* 7_919 % texts.count
      updates.append(
        try timed {
          try database.transaction {
            try database.execute(
              "UPDATE row SET body = ?2 WHERE key = ?1", [.text("key \(number)"), .text(texts[number] + " ")])
          }
        })
    }
    var pages: [Double] = []
    for _ in 0..<20 {
      pages.append(
        try timed { _ = try Database(path: path).rows("SELECT key, body FROM row WHERE id >= 1 ORDER BY id LIMIT 50") })
    }
    let read = try timed {
      try database.forEach("SELECT key, body FROM row ORDER BY id") {
        _ = try JSONValue(parsing: $0.text("body") ?? "")
      }
    }
    return (Measurement.quantile(updates, 0.5), insert, Measurement.quantile(pages, 0.5), read)
  }
}
