import Foundation
import Testing

@testable import StandInServer
@testable import tidemark_conformance

@Suite("The answers of a real PostgREST") struct ConformanceTests {
  static let path = testFolder.appendingPathComponent("Conformance").path
  static let topics = (try? CaseFolder(path).topics) ?? []

  @Test("each recorded request is answered as recorded, or refused where it needs PostgreSQL", arguments: topics)
  func topic(_ topic: String) throws {
    let folder = try CaseFolder(Self.path)
    let schema = try Schema(parsing: String(contentsOfFile: "\(Self.path)/schema.json", encoding: .utf8))
    var servers: [RecordedCase.Variant: StandInServer] = [:]
    var players: [RecordedCase.Variant: CasePlayer] = [:]
    defer { for server in servers.values { server.stop() } }
    for variant in RecordedCase.Variant.allCases {
      let server = try StandInServer(
        StandInConfiguration(
          schema: schema, jwtSecret: CaseFolder.secret, requiresWhere: variant == .guarded,
          allowsRollback: variant == .rollback))
      try server.start()
      servers[variant] = server
      players[variant] = CasePlayer(
        port: server.port, publishableKey: server.publishableKey, serviceKey: server.serviceKey)
    }
    for recorded in try folder.cases(of: topic) {
      let outcome = try #require(players[recorded.variant]).play(recorded)
      #expect(outcome.isGood == (folder.gaps[recorded.name] == nil), "\(recorded.name): \(outcome)")
    }
  }

  @Test("all topics of the recordings are there")
  func allTopics() {
    #expect(
      Set(Self.topics).isSuperset(of: [
        "auth", "client", "delete", "embed", "encoding", "errors", "filters", "guarded", "insert", "logic", "media",
        "paging", "prefer", "rollback", "rpc", "select", "sync", "update", "upsert",
      ]))
  }
}
