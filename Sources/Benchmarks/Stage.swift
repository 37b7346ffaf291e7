import Glibc
import LosslessJSON
import OfflineEngine
import SupabaseAPI

/// A fresh folder with a stand-in server and the workspaces of one user, all real processes and files.
final class Stage {
  static let email = "me@example.com"
  static let password = "correct horse battery"

  let path: String
  let program: String
  let url: String
  let key: String
  private let serviceKey: String
  private let server: ChildProcess
  private var running: [ChildProcess] = []
  private let http = CurlExchange()
  private let tables: TableClient
  private let session: Session
  private var hasUser = false
  /// The rows it was seeded with, by the table's key.
  private(set) var seeded: [JSONObject] = []

  /// Starts the server; its rows are on the disk, as a real server's are.
  ///
  /// - Parameters:
  ///   - isLogging: Whether the server says a line a request, which `answered` counts and somebody must read.
  ///   - misbehaviour: How the server misbehaves, in the words of `serve --misbehave`.
  init(_ path: String, program: String, isLogging: Bool = true, misbehaviour: String? = nil) async throws {
    self.path = path
    self.program = program
    try Files.makeFolder(path)
    server = try ChildProcess(
      [program, "serve", "--port", "0", "--data", "\(path)/server", "--json"] + (isLogging ? ["--log"] : [])
        + (misbehaviour.map { ["--misbehave", $0] } ?? []))
    while server.lines.isEmpty {
      Self.pump([server], within: .seconds(1))
      if server.status != nil { throw server.failure("the server ended") }
    }
    guard let ready = try? JSONValue(parsing: server.lines[0]), let url = ready["url"]?.stringValue,
      let key = ready["publishable_key"]?.stringValue, let serviceKey = ready["service_key"]?.stringValue
    else { throw server.failure("the server did not say its address") }
    self.url = url
    self.key = key
    self.serviceKey = serviceKey
    let project = try Project(url: url, key: Secret(key))
    session = try await AuthClient(project: project, http: http).signUp(
      email: Self.email, password: Secret(Self.password))
    tables = TableClient(project: project, http: http)
    try Files.write("\(path)/password", Self.password + "\n")
  }

  /// Ends what runs; the files stay.
  func end() async {
    for program in running + [server] { program.signal(SIGTERM) }
    let deadline = ContinuousClock.now + .seconds(10)
    while (running + [server]).contains(where: { $0.status == nil }), ContinuousClock.now < deadline {
      Self.pump(running + [server], within: .milliseconds(100))
    }
    await http.shutDown()
  }

  // MARK: Programs

  /// Runs the program to its end.
  ///
  /// - Returns: The seconds from its start to its end.
  @discardableResult
  func run(_ words: [String], expecting status: Int32 = 0) throws -> Double {
    let clock = ContinuousClock()
    let start = clock.now
    let child = try ChildProcess([program] + words)
    while child.status == nil { Self.pump([child, server] + running, within: .seconds(1)) }
    let seconds = (clock.now - start).seconds
    guard child.status == status else { throw child.failure("ended with \(child.status ?? -1)") }
    return seconds
  }

  /// Makes a workspace of the stage's user.
  ///
  /// - Parameter settings: Settings of its own: their names, and their values as JSON.
  func workspace(_ name: String, settings: KeyValuePairs<String, JSONValue> = [:]) throws -> String {
    let workspace = "\(path)/\(name)"
    try run([
      "init", workspace, "--server", url, "--key", key, "--sign-in", Self.email, "--password-file", "\(path)/password",
    ])
    if !settings.isEmpty {
      var document = try JSONDocument(parsing: Array(Files.text("\(workspace)/tidemark.json").utf8))
      for (name, value) in settings { document = document.setting(name, to: value) }
      try Files.write("\(workspace)/tidemark.json", String(decoding: document.bytes, as: UTF8.self))
    }
    return workspace
  }

  /// Starts a watcher, and waits until it is in step.
  func watch(_ workspace: String) throws -> ChildProcess {
    let child = try ChildProcess([program, "-C", workspace, "watch"])
    running.append(child)
    try wait(for: "the watcher", within: .seconds(120)) { child.lines.contains { $0.contains("watching") } }
    return child
  }

  /// Asks a program to stop, and waits.
  func stop(_ child: ChildProcess) throws {
    child.signal(SIGTERM)
    try wait(for: "the end of the watcher", within: .seconds(30)) { child.status != nil }
    running.removeAll { $0 === child }
  }

  // MARK: Waiting

  /// Reads from every program until the condition holds.
  ///
  /// - Parameter step: How long to wait for a program to say something before looking again.
  func wait(
    for what: String, within limit: Duration, step: Duration = .milliseconds(20), _ condition: () throws -> Bool
  ) throws {
    let deadline = ContinuousClock.now + limit
    while !(try condition()) {
      guard ContinuousClock.now < deadline else { throw server.failure("waited in vain for \(what)") }
      for child in running where child.status != nil && child.status != 0 {
        throw child.failure("a program ended while \(what) was waited for")
      }
      Self.pump(running + [server], within: step)
    }
  }

  /// Lets the programs run for a while.
  func idle(_ duration: Duration) {
    let deadline = ContinuousClock.now + duration
    while ContinuousClock.now < deadline {
      Self.pump(running + [server], within: deadline - ContinuousClock.now)
    }
  }

  private static func pump(_ programs: [ChildProcess], within limit: Duration) {
    var descriptors = programs.flatMap(\.descriptors).map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    let microseconds = max(0, Int(limit.seconds * 1_000_000))
    let count = poll(&descriptors, nfds_t(descriptors.count), Int32(min(microseconds / 1_000, 1_000)))
    // Short of a millisecond `poll` cannot wait.
    if count == 0, microseconds < 1_000 { usleep(UInt32(microseconds)) }
    for program in programs { program.read() }
  }

  /// How many photos have their rows.
  func photoCount() async throws -> Int {
    try await tables.send(.count("task_photos"), accessToken: session.accessToken).total ?? 0
  }

  /// Lifts the limit of the photos' bucket, which the owner of a project may do.
  func liftLimit() async throws {
    let fields: HTTPFields = [
      "apikey": serviceKey, "Authorization": "Bearer \(serviceKey)", "Content-Type": "application/json",
    ]
    let body = Array(#"{"id": "photos", "public": false, "file_size_limit": null}"#.utf8)
    let answer = try await http.send(
      HTTPRequest(method: "PUT", url: "\(url)/storage/v1/bucket/photos", fields: fields, body: body))
    guard answer.status == 200 else { throw server.failure("the bucket's limit stays: HTTP \(answer.status)") }
  }

  /// The seconds in which curl uploads files to the bucket, one after another over one connection.
  func curlUploads(_ files: [String]) throws -> Double {
    let fields = """
      header = "apikey: \(key)"
      header = "Authorization: Bearer \(session.accessToken.revealed)"
      header = "Content-Type: image/jpeg"
      header = "Expect:"
      fail
      silent
      show-error
      output = "/dev/null"

      """
    let transfers = files.enumerated().map { index, file in
      """
      url = "\(url)/storage/v1/object/photos/\(session.user.id)/curl-\(index)"
      upload-file = "\(file)"
      request = "POST"
      \(fields)
      """
    }
    let configuration = "\(path)/curl"
    try Files.write(configuration, transfers.joined(separator: "next\n"))
    defer { unlink(configuration) }
    let curl = try ChildProcess(["curl", "--config", configuration])
    let start = ContinuousClock.now
    while curl.status == nil { Self.pump([curl, server] + running, within: .seconds(1)) }
    guard curl.status == 0 else { throw curl.failure("curl ended with \(curl.status ?? -1)") }
    return (ContinuousClock.now - start).seconds
  }

  /// How many requests of a method the server has answered so far.
  func answered(_ method: String) -> Int {
    server.lines.count { $0.hasPrefix("\(method) /rest/v1/tasks 2") }
  }

  // MARK: Rows

  /// Puts rows straight into the server, in large requests.
  func seed(_ count: Int, seed: UInt64) async throws {
    var sample = SampleTasks(seed: seed)
    let rows = (0..<count).map { _ in sample.row() }
    for start in stride(from: 0, to: rows.count, by: 500) {
      let batch = Array(rows[start..<min(start + 500, rows.count)])
      _ = try await tables.send(.insert("tasks", rows: batch), accessToken: session.accessToken)
    }
    seeded += rows
  }

  /// The server's port.
  var port: Int { Int(url.split(separator: ":").last ?? "") ?? 0 }

  /// A request of this stage's user as it goes over the wire.
  func request(_ method: String, _ target: String, body: String? = nil) -> [UInt8] {
    var text =
      "\(method) \(target) HTTP/1.1\r\nHost: 127.0.0.1\r\napikey: \(key)\r\n"
      + "Authorization: Bearer \(session.accessToken.revealed)\r\n"
    if let body { text += "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)" }
    return Array((body == nil ? text + "\r\n" : text).utf8)
  }

  func insert(_ row: JSONObject) async throws {
    _ = try await tables.send(.insert("tasks", row: row, returning: []), accessToken: session.accessToken)
  }

  func change(_ id: String, notes: String) async throws {
    _ = try await tables.send(
      .update("tasks", set: ["notes": .string(notes)], filters: [.eq("id", .string(id))], returning: []),
      accessToken: session.accessToken)
  }

  /// How many bytes the seeded rows have as JSON.
  var seededBytes: Int { seeded.reduce(0) { $0 + JSONValue.object($1).serialized().utf8.count } }

  /// The rows that changed last.
  func newest(limit: Int) async throws -> Int {
    let request = TableRequest.select("tasks", columns: nil, order: [Order("updated_at", .descending)], limit: limit)
    return try await tables.send(request, accessToken: session.accessToken).rows.count
  }

  /// An engine of this stage's user, whose state is at `path`.
  func engine(_ path: String) throws -> UserEngine {
    let project = try Project(url: url, key: Secret(key))
    let environment = EngineEnvironment.live(http: http)
    let tasks = TableDescription(
      name: "tasks", versionColumn: "updated_at", cursorColumn: "updated_at", columns: ["title", "notes", "done"])
    let storage = SessionFile(path: "\(path).session")
    try storage.save(session)
    return UserEngine(
      store: try EngineStore(path: path, clock: environment.clock), user: session.user.id,
      configuration: EngineConfiguration(project: project, tables: [tasks]),
      sessions: SessionKeeper(
        user: session.user.id, auth: AuthClient(project: project, http: http), storage: storage,
        clock: environment.clock),
      environment: environment)
  }

  func page(_ offset: Int, limit: Int) async throws -> Int {
    let request = TableRequest.select("tasks", columns: nil, limit: limit, offset: offset)
    return try await tables.send(request, accessToken: session.accessToken).rows.count
  }

  func rowCount() async throws -> Int {
    try await tables.send(.count("tasks"), accessToken: session.accessToken).total ?? 0
  }
}

extension Duration {
  /// The whole duration in seconds.
  var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
