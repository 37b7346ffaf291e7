import Daemon
import FileWorkspace
import FoundationEssentials
import Glibc
import LosslessJSON
import StandInServer
import SupabaseAPI

/// A short scripted tour: two replicas of one user, an edit, a new file, a conflict, and how it is settled.
///
/// Everything in it is real: a server on the loopback, a watcher, files. It waits for what it shows, and fails when that
/// does not happen.
struct DemoTour {
  let terminal: Terminal
  let environment: [String: String]

  private static let password = Secret("a tour needs no secret")

  func play() async throws {
    let root = try Self.temporaryFolder(environment)
    defer { try? FileManager.default.removeItem(atPath: root) }
    let server = try StandInServer()
    try server.start()
    defer { server.stop() }
    let world = World(environment)
    let laptop = try await workspace("laptop", root, server, world, isFirst: true)
    try SampleTasks.write(into: laptop.path)
    let phone = try await workspace("phone", root, server, world, isFirst: false)
    say("A stand-in server runs at \(server.url); 'laptop' and 'phone' are two workspaces of one user.")

    let watched = try OpenWorkspace(laptop, environment: world.environment)
    let (stop, stopper) = AsyncStream.makeStream(of: Int32.self)
    let terminal = terminal
    let run = try WatchRun(watched) { terminal.print(terminal.dim("    laptop: \(Terminal.safe($0))")) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await run.run(stop: stop) {} }
      group.addTask {
        defer { stopper.finish() }
        try await script(laptop, phone, server, world)
      }
      try await group.waitForAll()
    }
    await world.http.shutDown()
    say("That was the tour. 'tidemark init DIR --server URL --key KEY' makes a workspace of your own project.")
  }

  private func script(_ laptop: WorkspaceFolder, _ phone: WorkspaceFolder, _ server: StandInServer, _ world: World)
    async throws
  {
    let here = "\(laptop.path)/tasks/buy-oat-milk.json"
    let there = "\(phone.path)/tasks/buy-oat-milk.json"
    try await waitUntil("the sample tasks are on the server") { try status(laptop).collections.first?.rows == 3 }

    say("On the phone, 'tidemark sync' fetches the laptop's tasks:")
    try await sync(phone, world)
    show(try names(phone))

    say("Somebody edits a task on the laptop, with any editor; the phone syncs:")
    try edit(here, "title", .string("Buy oat milk, two cartons"))
    try await waitUntil("the edit is on the server") { try await isSent(laptop, here) }
    try await sync(phone, world)
    show([try text(there)])

    say("The phone changes the title while the laptop is offline, and the laptop changes it too:")
    _ = try ControlClient.ask(ControlRequest("offline"), folderPath: laptop.statePath)
    try edit(there, "title", .string("Buy almond milk"))
    try await sync(phone, world)
    try edit(here, "title", .string("Buy soy milk"))
    try await waitUntil("the laptop has queued its edit") { try status(laptop).pending == 1 }
    _ = try ControlClient.ask(ControlRequest("online"), folderPath: laptop.statePath)
    let mine = "\(laptop.path)/tasks/buy-oat-milk.mine.json"
    try await waitUntil("both versions lie side by side") {
      try FileManager.default.fileExists(atPath: mine) && text(here).contains("almond")
    }
    say("Nothing was overwritten: theirs is in the file, yours beside it.")
    show(try names(laptop))

    say("Moving yours over the file keeps it, everywhere:")
    guard rename(mine, here) == 0 else { throw CommandFailure(message: "the tour could not move '\(mine)'") }
    try await waitUntil("yours is on the server") {
      let now = try status(laptop)
      return now.conflicted == 0 && now.pending == 0
    }
    try await sync(phone, world)
    show([try text(there)])
  }

  // MARK: Steps

  private func workspace(
    _ name: String, _ root: String, _ server: StandInServer, _ world: World, isFirst: Bool
  ) async throws -> WorkspaceFolder {
    let email = "tour@example.com"
    let setup = WorkspaceSetup(
      path: "\(root)/\(name)", server: try ServerSettings(url: server.url, key: server.publishableKey),
      template: .tasksAndPhotos,
      signIn: isFirst ? .signUp(email: email, password: Self.password) : .signIn(email: email, password: Self.password),
      environment: world.environment)
    return try await setup.run().folder
  }

  private func sync(_ folder: WorkspaceFolder, _ world: World) async throws {
    let outcome = try await OpenWorkspace(folder, environment: world.environment).sync()
    if let failure = outcome.failure { throw failure }
    for event in outcome.files.events {
      terminal.print(terminal.dim("    phone: \(Terminal.safe(EventLine.text(event)))"))
    }
  }

  private func status(_ folder: WorkspaceFolder) throws -> StatusReport {
    guard case .result(let json)? = try ControlClient.ask(ControlRequest("status"), folderPath: folder.statePath) else {
      throw CommandFailure(message: "the tour's watcher did not answer")
    }
    return StatusReport(wireJSON: json)
  }

  /// Whether the file's last text was queued and the queue is empty again.
  private func isSent(_ folder: WorkspaceFolder, _ path: String) async throws -> Bool {
    guard case .result(let json)? = try ControlClient.ask(ControlRequest("sync"), folderPath: folder.statePath) else {
      return false
    }
    return SyncResult(wireJSON: json).count("remaining") == 0
  }

  private func waitUntil(_ what: String, _ condition: () async throws -> Bool) async throws {
    let clock = ContinuousClock()
    let end = clock.now + .seconds(60)
    while try await !condition() {
      guard clock.now < end else { throw CommandFailure(message: "the tour waited a minute for this: \(what)") }
      try await Task.sleep(for: .milliseconds(50))
    }
  }

  private func edit(_ path: String, _ member: String, _ value: JSONValue) throws {
    let document = try JSONDocument(parsing: Array(Data(contentsOf: URL(filePath: path))))
    try Data(document.setting(member, to: value, after: document.members.last?.name).bytes).write(
      to: URL(filePath: path))
  }

  private func text(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

  private func names(_ folder: WorkspaceFolder) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: "\(folder.path)/tasks").filter { !$0.hasPrefix(".") }.sorted()
      .map { "tasks/\($0)" }
  }

  private func say(_ text: String) { terminal.print("\n" + terminal.bold(text)) }

  private func show(_ texts: [String]) {
    for line in texts.flatMap({ $0.split(separator: "\n") }) { terminal.print("    " + Terminal.safe(String(line))) }
  }

  private static func temporaryFolder(_ environment: [String: String]) throws -> String {
    let template = "\(environment["TMPDIR"] ?? "/tmp")/tidemark-tour-XXXXXX"
    var bytes = Array(template.utf8CString)
    guard mkdtemp(&bytes) != nil else {
      throw CommandFailure(message: "no temporary folder can be made in \(template)")
    }
    return String(decoding: bytes.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
