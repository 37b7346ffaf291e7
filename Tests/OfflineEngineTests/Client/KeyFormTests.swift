import Foundation
import LosslessJSON
import SupabaseAPI
import Testing

@testable import OfflineEngine

@Suite("Keys that the server writes otherwise than the developer")
struct KeyFormTests {
  private struct Row: Codable, Sendable, Equatable {
    var id: UUID
    var title: String
  }

  @Test("an identifier that Swift writes in capitals is one row: shown, answered and guarded")
  func capitals() async throws {
    let id = UUID()
    let lower = id.uuidString.lowercased()
    let desk = try await ClientDesk([.nothing])
    _ = try await desk.tasks.select("id,title,updated_at").execute()
    desk.client.disableNetwork()
    _ = try await desk.tasks.insert(Row(id: id, title: "A")).execute()
    _ = try await desk.tasks.update(["title": "B"]).eq("id", value: id).execute()
    let shown = {
      try await desk.tasks.select("id,title,updated_at", readStrategy: .cacheOnly).execute([Row].self).value
    }
    #expect(try await shown() == [Row(id: id, title: "B")])
    desk.http.add([
      .answer(201, #"[{"id":"\#(lower)","title":"A","updated_at":"T1"}]"#),
      .rows(#"[{"id":"\#(lower)","title":"B","updated_at":"T2"}]"#),
    ])
    desk.client.enableNetwork()
    await desk.allSent()
    #expect(try await shown() == [Row(id: id, title: "B")])
    desk.client.disableNetwork()
    _ = try await desk.tasks.update(["title": "C"]).eq("id", value: id).execute()
    _ = try await desk.tasks.update(["title": "D"]).eq("id", value: id.uuidString).execute()
    #expect(try desk.pending.map(\.baseVersion) == ["T2", "T2"])
    #expect(try await shown() == [Row(id: id, title: "D")])
    desk.http.check()
  }

  @Test("inserts that travel together know their rows again")
  func run() async throws {
    let desk = try await ClientDesk([])
    desk.client.disableNetwork()
    let ids = [UUID(), UUID()]
    for id in ids { _ = try await desk.tasks.insert(Row(id: id, title: "A")).execute() }
    let rows = ids.map { #"{"id":"\#($0.uuidString.lowercased())","title":"A","updated_at":"T1"}"# }
    desk.http.add([.answer(201, "[\(rows.joined(separator: ","))]")])
    desk.client.enableNetwork()
    await desk.allSent()
    desk.http.check()
  }

  @Test("rows that an earlier send brought are no conflict with themselves", arguments: [false, true])
  func own(_ isList: Bool) async throws {
    let id = UUID()
    let lower = id.uuidString.lowercased()
    let desk = try await ClientDesk(
      [
        .cut, .answer(201, "[]"),
        .rows(#"[{"id":"\#(lower)","owner":"\#(lower)","title":"A","updated_at":"T1"}]"#),
      ]) { $0.conflictResolver = { _ in .hold } }
    let row: OfflineJSON = ["id": .string(id.uuidString), "owner": .string(id.uuidString), "title": "A"]
    _ = try await desk.tasks.insert(isList ? [row] : row).execute()
    #expect(Counts(try await desk.client.syncPendingMutations()) == Counts(synced: 1, alreadyOnServer: 1))
    desk.http.check()
  }

  @Test("a key that is a text here and a number there is no conflict with itself, and a value that differs so is one")
  func numbers() async throws {
    let desk = try await ClientDesk([
      .cut, .answer(201, "[]"), .rows(#"[{"id":7,"data":"1","updated_at":"T1"}]"#), .cut, .answer(201, "[]"),
      .rows(#"[{"id":8,"data":"1","updated_at":"T1"}]"#),
    ]) { $0.conflictResolver = { _ in .hold } }
    _ = try await desk.tasks.insert(["id": "7", "data": "1"]).execute()
    #expect(Counts(try await desk.client.syncPendingMutations()) == Counts(synced: 1, alreadyOnServer: 1))
    _ = try await desk.tasks.insert(["id": "8", "data": 1]).execute()
    #expect(Counts(try await desk.client.syncPendingMutations()) == Counts(conflicted: 1))
    desk.http.check()
  }

  @Test("the parts of a composite key may be texts here and numbers there")
  func composite() async throws {
    let desk = try await ClientDesk([.rows(#"[{"a":1,"b":2,"title":"A","updated_at":"T1"}]"#)]) {
      $0.primaryKeys = ["tasks": ["a", "b"]]
    }
    _ = try await desk.tasks.select().execute()
    desk.client.disableNetwork()
    _ = try await desk.tasks.update(["title": "B"]).eq("a", value: "1").eq("b", value: 2).execute()
    #expect(try desk.pending.first?.baseVersion == "T1")
  }
}
