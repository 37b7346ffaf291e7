import Foundation
import LosslessJSON

/// Starts a `tidemark serve` for each set-up that is needed, and stops them all.
final class ServerStarter {
  private let program: String
  private let schema: String
  private var running: [RecordedCase.Variant: (process: Process, player: CasePlayer)] = [:]

  init(program: String, schema: String) {
    self.program = program
    self.schema = schema
  }

  func player(for variant: RecordedCase.Variant) throws -> CasePlayer {
    if let known = running[variant] { return known.player }
    let secret = FileManager.default.temporaryDirectory.appendingPathComponent("tidemark-\(UUID().uuidString)")
    try Data(CaseFolder.secret).write(to: secret)
    defer { try? FileManager.default.removeItem(at: secret) }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments =
      ["serve", "--port", "0", "--json", "--schema", schema, "--jwt-secret-file", secret.path]
      + (variant == .guarded ? [] : ["--unguarded"]) + (variant == .rollback ? ["--tx-rollback"] : [])
    let output = Pipe()
    process.standardOutput = output
    process.standardInput = FileHandle.nullDevice
    do {
      try process.run()
    } catch {
      throw CaseFolder.Failure(description: "'\(program)' cannot be started: \(error.localizedDescription)")
    }
    let line = Self.firstLine(of: output.fileHandleForReading)
    guard let json = try? JSONValue(parsing: line), let url = json["url"]?.stringValue,
      let port = Int(url.split(separator: ":").last ?? ""), let key = json["publishable_key"]?.stringValue,
      let service = json["service_key"]?.stringValue
    else {
      process.terminate()
      throw CaseFolder.Failure(description: "'\(program) serve' did not start")
    }
    let player = CasePlayer(port: port, publishableKey: key, serviceKey: service)
    running[variant] = (process, player)
    return player
  }

  func stop() {
    for (process, _) in running.values {
      process.terminate()
      process.waitUntilExit()
    }
    running = [:]
  }

  private static func firstLine(of handle: FileHandle) -> String {
    var bytes: [UInt8] = []
    while let byte = try? handle.read(upToCount: 1)?.first, byte != UInt8(ascii: "\n") { bytes.append(byte) }
    return String(decoding: bytes, as: UTF8.self)
  }
}
