import Daemon
import FileWorkspace
import FoundationEssentials
import LosslessJSON
import StandInServer

/// The command `tidemark serve`.
struct ServeCommand: Command {
  static let description = CommandDescription(
    name: "serve", summary: "Run a local stand-in for a Supabase project, for trying, developing and testing.",
    discussion: """
      It listens on 127.0.0.1 only. Without --data everything is in memory and ends with the process.
      With --rest, tables are those of a PostgREST that verifies tokens with the same JWT secret, and what stays here is
      Auth, whose users are kept with --data.
      With --json the first line is one JSON document: {"url","publishable_key","service_key"}.

      Settings of Auth are words, as 'confirmEmails tokenSeconds=60':

      \(settingList)

      The codes that Auth would mail are at GET /stand-in/mails, with the service key.

      Faults are separated by ';', each a kind with NAME=VALUE words. All may have times=N, skipping=N, probability=0.1,
      lasts=MILLISECONDS, method=POST and path=/rest/v1 (how it begins). Kinds:

      \(faultList)

      The same over HTTP, as JSON with the service key: PUT /stand-in/faults.
      """,
    options: [
      .value("--port", "PORT", "The port (default: 54321); 0 picks a free one."),
      .value("--data", "DIR", "Keep rows, users and keys in DIR."),
      .value("--schema", "FILE", "The tables and functions, as JSON (default: those of tasks-and-photos)."),
      .value("--template", "NAME", "The tables of a template of 'tidemark init'."),
      .value("--rest", "URL", "Hand table requests to the PostgREST at URL; needs --jwt-secret-file."),
      .value(
        "--jwt-secret-file", "FILE", "Sign access tokens with the text of FILE, at least 32 bytes without its line end."
      ),
      .flag("--unguarded", "Allow UPDATE and DELETE without a filter, which hosted projects refuse."),
      .flag("--tx-rollback", "Honour 'Prefer: tx=rollback': answer a write and undo it."),
      .value("--auth", "SETTINGS", "Set Auth up otherwise than a hosted project, as 'confirmEmails tokenSeconds=60'."),
      .value(
        "--misbehave", "FAULTS", "Misbehave on purpose, as 'latency milliseconds=300; dropAfter probability=0.1'."),
      .value("--seed", "NUMBER", "Another order of the faults that come by chance."),
      .flag("--log", "Print a line a request on standard error."),
    ])

  private static let settingList = AuthSettings.catalogue.map { "  \($0.name)\n      \($0.summary)" }
    .joined(separator: "\n")

  private static let faultList = StandInFault.catalogue.map { fault in
    "  \([fault.name, fault.members].filter { !$0.isEmpty }.joined(separator: " "))\n      \(fault.summary)"
  }.joined(separator: "\n")

  private let port: Int
  private let data: String?
  private let schema: String?
  private let template: WorkspaceTemplate?
  private let rest: String?
  private let secret: String?
  private let isUnguarded: Bool
  private let allowsRollback: Bool
  private let auth: AuthSettings
  private let faults: [StandInFault]
  private let faultSeed: Int?
  private let isLogging: Bool

  init(_ arguments: Arguments) throws(UsageError) {
    port = try arguments.number("--port", in: 0...65_535) ?? 54_321
    data = arguments.value("--data")
    schema = arguments.value("--schema")
    template = try arguments.value("--template").map(WorkspaceTemplate.chosen)
    if schema != nil, template != nil { throw UsageError(message: "--schema and --template exclude one another") }
    secret = arguments.value("--jwt-secret-file")
    rest = try arguments.value("--rest").map(Self.address)
    if rest != nil {
      if schema != nil || template != nil {
        throw UsageError(message: "with --rest the tables are the PostgREST's own: leave --schema and --template out")
      }
      if secret == nil {
        throw UsageError(
          message: "--rest needs --jwt-secret-file: the PostgREST must verify the tokens that are signed here")
      }
    }
    isUnguarded = arguments.has("--unguarded")
    allowsRollback = arguments.has("--tx-rollback")
    do {
      auth = try AuthSettings(parsing: arguments.value("--auth") ?? "")
    } catch {
      throw UsageError(message: "--auth: \(Terminal.safe(error.description))")
    }
    if rest != nil, auth.signsWithKeyPair {
      throw UsageError(message: "with --rest tokens are signed with the secret: leave keyPair out of --auth")
    }
    do {
      faults = try StandInFault.faults(parsing: arguments.value("--misbehave") ?? "")
    } catch {
      throw UsageError(message: "--misbehave: \(Terminal.safe(error.description))")
    }
    faultSeed = try arguments.number("--seed", in: 0...Int.max)
    isLogging = arguments.has("--log")
  }

  func run(in context: CommandContext) async throws -> ExitStatus {
    let terminal = context.terminal
    var configuration = StandInConfiguration(
      port: port, dataFolder: data, requiresWhere: !isUnguarded, allowsRollback: allowsRollback)
    if let schema {
      do {
        configuration.schema = try Schema(parsing: String(decoding: Self.bytes(schema), as: UTF8.self))
      } catch let error as StandInError {
        throw CommandFailure(message: "\(Terminal.safe(schema)): \(error)")
      }
    }
    if let template {
      configuration.schema = try Schema(parsing: String(decoding: template.standInSchema, as: UTF8.self))
    }
    if let secret { configuration.jwtSecret = Self.withoutLineEnd(try Self.bytes(secret)) }
    if let rest {
      let forward = RestForward(address: rest, http: World(context.environment).http)
      configuration.rest = { forward.answer($0) }
    }
    configuration.auth = auth
    configuration.faults = faults
    if let faultSeed { configuration.faultSeed = UInt64(faultSeed) }
    // A request may be called anything.
    if isLogging { configuration.log = { terminal.note(Terminal.safe($0)) } }
    let server = try StandInServer(configuration)
    try server.start()
    defer { server.stop() }
    if terminal.isJSON {
      let json: JSONValue = [
        "url": .string(server.url), "publishable_key": .string(server.publishableKey),
        "service_key": .string(server.serviceKey),
      ]
      terminal.print(json.serialized())
    } else {
      terminal.print("url              \(server.url)")
      terminal.print("publishable key  \(server.publishableKey)")
      terminal.print("service key      \(server.serviceKey)")
      if data == nil { terminal.note("Everything is in memory and ends with this process; --data DIR keeps it.") }
    }
    for await _ in StopSignal.received() { break }
    return .success
  }

  private static func address(_ text: String) throws(UsageError) -> String {
    do {
      return try ServerSettings(url: text, key: "none").url
    } catch {
      throw UsageError(message: "--rest: \(error)")
    }
  }

  /// An editor or `echo` ends a file with a line end, which nobody means as a part of the secret.
  private static func withoutLineEnd(_ bytes: [UInt8]) -> [UInt8] {
    var end = bytes.count
    if end > 0, bytes[end - 1] == 10 { end -= 1 }
    if end > 0, bytes[end - 1] == 13 { end -= 1 }
    return Array(bytes[..<end])
  }

  private static func bytes(_ path: String) throws -> [UInt8] {
    do {
      return Array(try Data(contentsOf: URL(filePath: path)))
    } catch {
      throw CommandFailure(message: "the file '\(Terminal.safe(path))' cannot be read")
    }
  }
}
