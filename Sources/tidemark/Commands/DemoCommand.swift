import Daemon
import FileWorkspace
import FoundationEssentials
import Glibc
import StandInServer

/// The command `tidemark demo`.
struct DemoCommand: Command {
  static let description = CommandDescription(
    name: "demo", parameters: "[DIR]",
    summary: "Play: a local server and a watched workspace in DIR (default: ./demo) with a few tasks.",
    discussion: """
      Ctrl-C ends it; run it again and it goes on where it stopped. Where standard input is no terminal, a short tour is
      played in a temporary folder instead, with two replicas and a conflict.
      """,
    options: [.flag("--tour", "Play the tour although standard input is a terminal.")], positionalMax: 1)

  private let folder: String
  private let isTour: Bool

  init(_ arguments: Arguments) throws(UsageError) {
    folder = arguments.positional.first ?? "demo"
    isTour = arguments.has("--tour")
  }

  func run(in context: CommandContext) async throws -> ExitStatus {
    if isTour || isatty(STDIN_FILENO) == 0 {
      try await DemoTour(terminal: context.terminal, environment: context.environment).play()
      return .success
    }
    try await play(context)
    return .success
  }

  private func play(_ context: CommandContext) async throws {
    let terminal = context.terminal
    let path = WorkspaceFolder.absolute(folder)
    let site = try DemoSite(path: path)
    let server = try site.startServer()
    defer { server.stop() }
    let world = World(context.environment)
    if !WorkspaceFolder(path: path).isWorkspace { try await site.setUp(server, world) }
    let workspace = try OpenWorkspace(WorkspaceFolder(path: path), environment: world.environment)
    let example = Terminal.safe("\(folder)/tasks/buy-oat-milk.json")
    terminal.print(
      terminal.bold("A local server runs at \(server.url), and \(Terminal.safe(folder))/ is kept in step with it."))
    terminal.print("In another terminal, try:")
    terminal.print("  vim \(example)                     edit a task and save")
    terminal.print("  touch \"\(Terminal.safe(folder))/tasks/Feed the cat.json\"      a new task")
    terminal.print("  rm \(example)                      delete one (its text stays in .tidemark/trash)")
    terminal.print("  tidemark -C \(Terminal.safe(folder)) status                     what waits")
    terminal.print("Ctrl-C ends it. What happens:")
    let run = try WatchRun(workspace) { terminal.print("  " + Terminal.safe($0)) }
    try await run.run(stop: StopSignal.received()) { terminal.print("  watching \(Terminal.safe(path))") }
    await world.http.shutDown()
  }
}

/// The folder of a demonstration: a workspace, with its server's data beside its state.
struct DemoSite {
  let path: String
  private var dataPath: String { "\(path)/.stand-in" }
  private var portPath: String { "\(dataPath)/port" }

  /// Takes an empty or new folder, or one of an earlier demonstration.
  init(path: String) throws {
    self.path = path
    let isEarlier = FileManager.default.fileExists(atPath: "\(path)/.stand-in/port")
    let content = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
    guard isEarlier || content.isEmpty else {
      throw CommandFailure(
        message: "'\(Terminal.safe(path))' is not empty and no earlier demonstration; name another folder")
    }
  }

  /// The server with the rows of last time, on the port of last time: a workspace belongs to one URL.
  func startServer() throws -> StandInServer {
    try FileManager.default.createDirectory(atPath: dataPath, withIntermediateDirectories: true)
    let port = (try? String(contentsOfFile: portPath, encoding: .utf8)).flatMap { Int($0) } ?? 0
    let server = try StandInServer(StandInConfiguration(port: port, dataFolder: dataPath))
    try server.start()
    try String(server.port).write(toFile: portPath, atomically: true, encoding: .utf8)
    return server
  }

  /// Makes the workspace, with the sample's tasks as if somebody had just put them there.
  func setUp(_ server: StandInServer, _ world: World) async throws {
    let setup = WorkspaceSetup(
      path: path, server: try ServerSettings(url: server.url, key: server.publishableKey), template: .tasksAndPhotos,
      signIn: .anonymous, environment: world.environment)
    _ = try await setup.run()
    try SampleTasks.write(into: path)
  }
}

/// The tasks of the sample workspace.
enum SampleTasks {
  /// Those of `Workspace/` in the current folder, or as many of the program's own where there is none.
  static func write(into path: String) throws {
    let source = "Workspace/tasks"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: source))?.filter { FileNames.isRowFile($0) } ?? []
    for name in names {
      try Data(contentsOf: URL(filePath: "\(source)/\(name)")).write(to: URL(filePath: "\(path)/tasks/\(name)"))
    }
    guard names.isEmpty else { return }
    for (name, text) in builtIn { try Data(text.utf8).write(to: URL(filePath: "\(path)/tasks/\(name)")) }
  }

  private static let builtIn = [
    ("buy-oat-milk.json", "{\"title\": \"Buy oat milk\"}\n"),
    ("water-the-plants.json", "{\"title\": \"Water the plants\"}\n"),
    ("Call the plumber.json", ""),
  ]
}
