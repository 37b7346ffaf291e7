import Foundation
import LosslessJSON
import SupabaseAPI
import Testing

@testable import OfflineEngine

@Suite("What must not happen to a write on its way to the server")
struct ReplaySafetyTests {
  private static let row = #"[{"id":1,"title":"A","done":false,"updated_at":"T1"}]"#

  // MARK: Once

  @Test("a list that names one key twice hides neither row when an earlier send may have arrived")
  func twice() async throws {
    let desk = try await ClientDesk([.cut, .answer(201, Self.row), .rows(Self.row)])
    _ = try await desk.tasks.insert([TaskRow(id: 1, title: "A"), TaskRow(id: 1, title: "B")]).execute()
    let report = try await desk.client.syncPendingMutations()
    #expect(report.conflicted.first?.body == ["title": "B", "done": false])
    desk.http.check()
  }

  @Test("a caller who is cancelled is told so also when the network goes at that moment, and a pass sends the write")
  func cancelled() async throws {
    let (onTheWire, answer) = (Gate(), Gate())
    let desk = try await ClientDesk([
      .init { _ throws(HTTPError) in
        onTheWire.open()
        await answer.opened()
        throw .cannotConnect(origin: "http://scripted", reason: "refused")
      }, .answer(201, #"[{"id":1}]"#),
    ])
    let write = Task { try await desk.tasks.insert(TaskRow(id: 1, title: "A")).execute() }
    await onTheWire.opened()
    write.cancel()
    answer.open()
    await #expect(throws: CancellationError.self) { try await write.value }
    await desk.allSent()
    desk.http.check()
  }

  // MARK: Guards

  @Test("a guard from the first send leaves the write queued also where one row is expected", arguments: [true, false])
  func guarded(_ isSingle: Bool) async throws {
    let desk = try await ClientDesk([
      .rows(Self.row),
      .init { request in
        request.fields["Accept"] == "application/json"
          ? HTTPResponse(status: 200, body: Array("[]".utf8))
          : HTTPResponse(
            status: 406, body: Array(#"{"code":"PGRST116","message":"0 rows","details":null,"hint":null}"#.utf8))
      }, .offline,
    ])
    _ = try await desk.tasks.select().execute()
    let update = desk.tasks.update(["title": "B"]).eq("id", value: 1).guarded()
    #expect(try await (isSingle ? update.select().single() : update).execute().isQueued)
    if !isSingle { #expect(desk.http.lines[1].contains("select=id%2Cupdated_at%2Ctitle&")) }
    await desk.status { $0.lastSyncError != nil }
    #expect(try desk.pending.count == 1)
    desk.http.check()
  }

  @Test("a column that may not be read of a later write does not keep the one ahead of it waiting for ever")
  func unreadableColumn() async throws {
    let desk = try await ClientDesk([.rows(Self.row)])
    _ = try await desk.tasks.select().execute()
    desk.client.disableNetwork()
    _ = try await desk.tasks.update(["title": "B"]).eq("id", value: 1).execute()
    _ = try await desk.tasks.update(["secret": "x"]).eq("id", value: 1).execute()
    desk.http.add([
      .nothing, .error(403, "42501"), .rows(#"[{"id":1,"title":"A","updated_at":"T2"}]"#),
      .rows(#"[{"id":1,"title":"B","updated_at":"T3"}]"#), .error(403, "42501"),
    ])
    desk.client.enableNetwork()
    await desk.allSent()
    #expect(try desk.rejected.map(\.body) == [["secret": "x"]])
    desk.http.check()
  }

  @Test("other columns can be chosen for a parked write whose body was too large to keep, and are sent")
  func appliedToTrimmed() async throws {
    let desk = try await ClientDesk([.rows(Self.row)]) {
      $0.conflictResolver = { _ in .hold }
      $0.listBounds = ListBounds(entries: 9, characters: 9_999, bodyCharacters: 10, textCharacters: 99)
    }
    _ = try await desk.tasks.select().execute()
    desk.client.disableNetwork()
    _ = try await desk.tasks.update(["title": "Mine, which is long"]).eq("id", value: 1).execute()
    desk.http.add([
      .nothing, .rows(#"[{"id":1,"title":"Theirs","updated_at":"T2"}]"#),
      .rows(#"[{"id":1,"title":"Both","updated_at":"T3"}]"#),
    ])
    desk.client.enableNetwork()
    await desk.allSent()
    let id = try #require(try desk.client.conflictedMutationList().first).id
    #expect(throws: OfflineError.self) {
      try desk.client.resolveConflictedMutation(id: id, resolution: .keepLocal)
    }
    try desk.client.resolveConflictedMutation(id: id, resolution: .apply(["title": "Both"]))
    await desk.allSent()
    #expect(try desk.rejected.isEmpty)
    #expect(desk.http.lines.last?.hasSuffix("&id=eq.1&updated_at=eq.T2") == true)
    desk.http.check()
  }

  @Test("an insert that found its key taken and is kept does not write the key again")
  func keptInsert() async throws {
    let desk = try await ClientDesk([
      .offline, .error(409, "23505"), .rows(#"[{"id":1,"title":"Theirs","done":false,"updated_at":"T2"}]"#),
      .rows(#"[{"id":1,"title":"A","updated_at":"T3"}]"#),
    ]) { $0.conflictResolver = { _ in .hold } }
    _ = try await desk.tasks.insert(TaskRow(id: 1, title: "A")).execute()
    let report = try await desk.client.syncPendingMutations()
    let entry = try #require(report.conflicted.first)
    try desk.client.resolveConflictedMutation(id: entry.id, resolution: .keepLocal)
    await desk.allSent()
    #expect(desk.http.requests.last?.text == #"{"done":false,"title":"A"}"#)
    desk.http.check()
  }

  // MARK: Exactly as it was made

  @Test("every condition survives its stored form")
  func stored() throws {
    var request = WriteRequest()
    request.conditions = [
      .eq("id", 1), .not("done", .identity(.null)), .path("data->>kind", .not(.value(.equal, "a"))),
      .group(.or, [.eq("a", 1), .group(.and, [.in("b", [1, 2])], isNegated: true)], isNegated: false),
    ]
    #expect(WriteRequest(request.json) == request)
  }

  @Test("inserts that can no longer be sent as they were made are rejected, also several in a row")
  func unreadableRun() async throws {
    let desk = try await ClientDesk()
    desk.client.disableNetwork()
    for id in ["a", "b"] { _ = try await desk.tasks.insert(["id": .string(id)]).execute() }
    try desk.client.engine.transaction {
      try $0.database.execute("UPDATE mutation SET request = '{\"conditions\":[[\"a\",\"later\",1]]}'")
    }
    desk.client.enableNetwork()
    await desk.allSent()
    #expect(try desk.rejected.count == 2)
    desk.http.check()
  }

  @Test("an insert into a table that its writer may not read is sent as it was made", arguments: [false, true])
  func writeOnly(_ isList: Bool) async throws {
    let desk = try await ClientDesk([.offline, .error(403, "42501"), .answer(201, "")])
    let row = TaskRow(id: 1, title: "A")
    _ = try await (isList ? desk.tasks.insert([row]) : desk.tasks.insert(row)).execute()
    #expect(Counts(try await desk.client.syncPendingMutations()) == Counts(synced: 1))
    try #require(desk.http.lines.count == 3)
    #expect(desk.http.lines[0] == desk.http.lines[2] && desk.http.requests[0].text == desk.http.requests[2].text)
    desk.http.check()
  }

  @Test("times far from now are written and read, and one that no calendar holds is a typed error")
  func farTimes() throws {
    for date in [Date.distantFuture, Date(timeIntervalSince1970: 0.25)] {
      #expect(RowCoding.date(RowCoding.text(date)) == date)
    }
    #expect(RowCoding.text(.distantPast) == "0001-01-01T00:00:00Z")
    for seconds in [1e30, -.infinity, .nan] {
      _ = RowCoding.text(Date(timeIntervalSince1970: seconds))
      #expect(throws: OfflineError.self) { try RowCoding.json(["at": Date(timeIntervalSince1970: seconds)]) }
    }
  }
}
