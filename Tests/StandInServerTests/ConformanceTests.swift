import Foundation
import LosslessJSON
import Testing

@testable import StandInServer

@Suite("The answers of a real PostgREST") struct ConformanceTests {
  static let secret = Array("super-secret-jwt-token-with-at-least-32-characters-long".utf8)

  static let topics = [
    "select", "filters", "logic", "encoding", "paging", "sync", "insert", "upsert", "update", "delete", "auth",
    "errors", "guarded", "media", "prefer", "client", "rollback", "embed", "rpc",
  ]

  @Test(
    "each recorded request is answered as recorded, but for those that are listed as not yet done", arguments: topics)
  func topic(_ topic: String) throws {
    let schemaText = try String(
      contentsOf: testFolder.appendingPathComponent("Conformance/schema.json"), encoding: .utf8)
    let tokens = try JSONValue(
      parsing: String(contentsOf: testFolder.appendingPathComponent("Conformance/tokens.json"), encoding: .utf8))
    let schema = try Schema(parsing: schemaText)
    let server = try StandInServer(
      StandInConfiguration(
        schema: schema, jwtSecret: Self.secret, requiresWhere: topic == "guarded",
        allowsRollback: topic == "rollback"))
    try server.start()
    defer { server.stop() }
    var wire = try Wire(port: server.port)
    var counts = (passed: 0, postgreSQLOnly: 0, notYet: 0)
    for recorded in try ConformanceCase.all(of: topic) {
      let differences: [String]
      do {
        differences = try recorded.differences(on: wire, server, tokens: tokens)
      } catch {
        differences = ["\(error)"]
        wire = try Wire(port: server.port)
      }
      let isListed = ConformanceGaps.reasons[recorded.name] != nil
      switch (differences.isEmpty, isListed) {
      case (true, false): counts.passed += 1
      case (true, true): Issue.record("\(recorded.name) passes: take it off the list of gaps")
      case (false, true): counts.notYet += 1
      case (false, false) where recorded.isPostgreSQLOnly: counts.postgreSQLOnly += 1
      case (false, false): Issue.record("\(recorded.name): \(differences.joined(separator: "\n    "))")
      }
    }
    print(
      "conformance \(topic): \(counts.passed) as recorded, \(counts.notYet) not yet, "
        + "\(counts.postgreSQLOnly) PostgreSQL's own")
  }

  @Test("every listed gap names a recorded case")
  func listIsClean() throws {
    let names = Set(try Self.topics.flatMap { try ConformanceCase.all(of: $0) }.map(\.name))
    #expect(ConformanceGaps.reasons.keys.allSatisfy(names.contains))
  }
}

/// Recorded cases that the stand-in does not answer as recorded yet, with the reason.
///
/// The list can only become shorter: a case that passes fails the test until it is taken off.
enum ConformanceGaps {
  static let reasons: [String: String] = [:]

}
