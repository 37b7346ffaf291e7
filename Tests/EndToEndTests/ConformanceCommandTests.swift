import Foundation
import Testing

@Suite("Playing recorded answers against the built server", .timeLimit(.minutes(5))) struct ConformanceCommandTests {
  private static let program =
    URL(fileURLWithPath: Tidemark.path).deletingLastPathComponent().path + "/tidemark-conformance"
  private static let schema = Tidemark.packageRoot + "/Tests/StandInServerTests/Conformance/schema.json"

  private static func row(_ name: String, recorded body: String, more: String = "") -> String {
    #"{"name":"\#(name)","setup":{"samples":[{"id":1,"label":"a"}]},"request":{"as":"writer","method":"GET","#
      + #""path":"/samples?select=id","headers":[]},"response":{"status":200,"headers":{"Content-Range":"0-0/*","#
      + #""Content-Type":"application/json; charset=utf-8"},"body":"\#(body)"}\#(more)}"#
  }

  private func play(_ cases: [String], gaps: String? = nil) throws -> (status: Int32, output: String) {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("cases-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let writer = #"{"writer":{"claims":{"role":"service_role","exp":"now+60"}}}"#
    try Data(cases.joined(separator: "\n").utf8).write(to: folder.appendingPathComponent("own.jsonl"))
    try Data(writer.utf8).write(to: folder.appendingPathComponent("tokens.json"))
    if let gaps { try Data(gaps.utf8).write(to: folder.appendingPathComponent("gaps.json")) }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: Self.program)
    process.arguments = [folder.path, "--schema", Self.schema, "--program", Tidemark.path]
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return (process.terminationStatus, String(decoding: output, as: UTF8.self))
  }

  @Test("a case that is answered as recorded is counted, one that is not has its line and fails the run")
  func score() throws {
    let done = try play([
      Self.row("good", recorded: "[{\\\"id\\\":1}]"), Self.row("wrong", recorded: "[{\\\"id\\\":2}]"),
      Self.row("needs-but-answers-otherwise", recorded: "[]", more: #","needs":"postgresql""#),
    ])
    #expect(done.status == 1)
    #expect(done.output.contains("FAIL own wrong: body"), "\(done.output)")
    #expect(done.output.contains("FAIL own needs-but-answers-otherwise: needs PostgreSQL"))
    #expect(!done.output.contains("FAIL own good"))
    #expect(done.output.contains("own: 1 of 3\n") && done.output.hasSuffix("all: 1 of 3\n"))
  }

  @Test("a gap is named with its reason, and one that has closed fails the run")
  func gaps() throws {
    let open = try play([Self.row("wrong", recorded: "[]")], gaps: #"{"wrong":"not done yet"}"#)
    #expect(open.status == 0 && open.output.contains("GAP  own wrong: not done yet"), "\(open.output)")
    let closed = try play([Self.row("good", recorded: "[{\\\"id\\\":1}]")], gaps: #"{"good":"not done yet"}"#)
    #expect(closed.status == 1 && closed.output.contains("take it off"))
    let unknown = try play([Self.row("good", recorded: "[{\\\"id\\\":1}]")], gaps: #"{"other":"not done yet"}"#)
    #expect(unknown.status == 1 && unknown.output.contains("a case that there is not"))
  }
}
