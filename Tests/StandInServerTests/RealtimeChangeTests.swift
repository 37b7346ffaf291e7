import LosslessJSON
import Testing

@testable import StandInServer

@Suite("The changes that Realtime tells") struct RealtimeChangeTests {
  @Test("changes are told in the order of the commits, with the key alone of what was before")
  func changes() throws {
    let library = try Library()
    let subscriber = Subscriber(library.standIn)
    _ = subscriber.join([Subscriber.everything])
    let json = [("Content-Type", "application/json")]
    _ = library.ask("POST", "films", json, body: #"{"id": 9, "title": "Nine", "rating": 1.50, "extra": {"a": [1]}}"#)
    _ = library.ask("PATCH", "films?id=eq.9", json, body: #"{"id": 10, "shown_at": "2026-01-02T04:04:05.1+01:00"}"#)
    _ = library.ask("DELETE", "films?id=eq.10")
    let heard = subscriber.take()
    #expect(
      heard[0]
        == (try JSONValue(
          parsing:
            """
            {"topic": "realtime:x", "event": "postgres_changes", "ref": null, "payload": {
             "ids": [\(heard[0]["payload"]?["ids"]?.arrayValue?.first?.int64Value ?? -1)], "data": {
             "schema": "public", "table": "films", "type": "INSERT", "commit_timestamp": "2026-10-18T13:00:27.486Z",
             "columns": [{"name": "id", "type": "int4"}, {"name": "title", "type": "text"},
              {"name": "director_id", "type": "int4"}, {"name": "sequel_of", "type": "int4"},
              {"name": "shown_at", "type": "timestamptz"}, {"name": "rating", "type": "numeric"},
              {"name": "extra", "type": "jsonb"}, {"name": "odd name, (it) \\"is\\"", "type": "text"}],
             "record": {"id": 9, "title": "Nine", "director_id": null, "sequel_of": null, "shown_at": null,
              "rating": 1.50, "extra": {"a": [1]}, "odd name, (it) \\"is\\"": null},
             "errors": null}}}
            """)),
      "\(heard[0])")
    let (updated, deleted) = (heard[1]["payload"]?["data"], heard[2]["payload"]?["data"])
    #expect(updated?["old_record"] == ["id": 9] && updated?["record"]?["id"] == 10)
    #expect(updated?["record"]?.text("shown_at") == "2026-01-02T03:04:05.1+00:00")
    #expect(deleted?.text("type") == "DELETE" && deleted?["old_record"] == ["id": 10] && deleted?["record"] == nil)
  }

  @Test("what a foreign key, a function or an upsert does is told, what is undone is not")
  func others() throws {
    let library = try Library { $0.allowsRollback = true }
    let subscriber = Subscriber(library.standIn, role: .service)
    _ = subscriber.join([Subscriber.everything])
    func kinds() -> [String] { subscriber.changes().map { "\($0.text("type")) \($0.text("table"))" } }
    let json = [("Content-Type", "application/json")]
    _ = library.ask("DELETE", "films?id=eq.4", [("Prefer", "tx=rollback")])
    _ = library.ask("POST", "films", json, body: #"[{"id": 50}, {"id": 1}]"#)
    #expect(kinds() == [])
    _ = library.ask("DELETE", "directors?id=eq.2")
    #expect(kinds() == ["DELETE directors", "UPDATE films"])
    _ = library.ask("POST", "rpc/rate", json, body: #"{"film": 1, "value": 3}"#)
    #expect(kinds() == ["UPDATE films"])
    _ = library.ask(
      "POST", "actors", json + [("Prefer", "resolution=merge-duplicates")],
      body: #"[{"id": 1, "name": "Cyd"}, {"id": 3, "name": "Ed"}]"#)
    #expect(kinds() == ["UPDATE actors", "INSERT actors"])
  }

  @Test("rows that are laid out are told as what they differ in")
  func laidOut() throws {
    let library = try Library()
    let subscriber = Subscriber(library.standIn)
    _ = subscriber.join([Subscriber.table("actors")])
    let rows = #"{"actors": [{"id": 2, "name": "Didi"}, {"id": 3, "name": "Ed"}]}"#
    _ = library.standIn.answer(
      StandInRequest(
        method: "PUT", target: "/stand-in/rows", fields: [("apikey", library.standIn.serviceKey)],
        body: Array(rows.utf8)))
    #expect(Set(subscriber.changes().map { $0.text("type") }) == ["DELETE", "UPDATE", "INSERT"])
  }

  @Test("the policy hides another owner's rows, but not the key of a deleted one")
  func policy() throws {
    let library = try Library()
    let (owner, other, anybody) = (
      Subscriber(library.standIn), Subscriber(library.standIn), Subscriber(library.standIn)
    )
    _ = owner.join([Subscriber.table("reviews")], token: Subscriber.token())
    _ = other.join([Subscriber.table("reviews")], token: Subscriber.token(sub: "22222222-2222-4222-8222-222222222222"))
    _ = anybody.join([Subscriber.table("reviews")])
    let json = [("Content-Type", "application/json")]
    _ = library.ask("POST", "reviews", json, body: #"{"id": 7, "text": "a"}"#)
    _ = library.ask("PATCH", "reviews?id=eq.7", json, body: #"{"text": "b"}"#)
    _ = library.ask("DELETE", "reviews?id=eq.7")
    #expect(owner.changes().map { $0.text("type") } == ["INSERT", "UPDATE", "DELETE"])
    for stranger in [other, anybody] {
      let heard = stranger.changes()
      #expect(heard.map { $0.text("type") } == ["DELETE"])
      #expect(heard[0]["old_record"] == ["id": 7])
    }
  }

  @Test("a role that may not read a table hears that, and nothing of the row")
  func grants() throws {
    let library = try Library()
    let (anybody, service) = (Subscriber(library.standIn), Subscriber(library.standIn, role: .service))
    for one in [anybody, service] { _ = one.join([Subscriber.table("secrets")]) }
    _ = library.standIn.answer(
      StandInRequest(
        method: "POST", target: "/rest/v1/secrets",
        fields: [("apikey", library.standIn.serviceKey), ("Content-Type", "application/json")],
        body: Array(#"{"id": 5}"#.utf8)))
    let heard = anybody.changes()[0]
    #expect(heard["errors"] == ["Error 401: Unauthorized"] && heard["record"] == [:] && heard["columns"] == [])
    #expect(heard["commit_timestamp"] == .null)
    #expect(service.changes()[0]["record"]?["id"] == 5)
  }

  /// Filters, and the numbers of the films that they let through of: 11 One (7.5), 12 "a,b" (10), 13 nothing at all.
  static let filters: [(filter: String, passed: [Int64])] = [
    ("id=eq.12", [12]), ("id=neq.12", [11, 13]), ("id=lt.12", [11]), ("id=lte.12", [11, 12]), ("id=gt.12", [13]),
    ("id=gte.12", [12, 13]), ("id=in.(11,13)", [11, 13]), ("id=not.in.(11,13)", [12]), ("rating=eq.7.50", [11]),
    ("rating=gt.9", [12]), ("title=eq.\"a,b\"", [12]), ("title=in.(One,\"a,b\")", [11, 12]), ("title=neq.One", [12]),
    ("title=is.null", [13]), ("title=not.is.null", [11, 12]), ("title=like.%n%", [11]), ("title=ilike.o_E", [11]),
    ("title=match.^O", [11]), ("title=imatch.^o", [11]), ("title=not.match.^O", [12]),
    ("title=isdistinct.One", [12, 13]),
    ("title=not.isdistinct.One", [11]), ("id=gte.11, id=lt.13", [11, 12]), ("", [11, 12, 13]),
    ("shown_at=gte.2026-01-01T00:00:00Z", [11]),
  ]

  @Test("a filter sees the new row", arguments: filters)
  func filter(_ filter: (filter: String, passed: [Int64])) throws {
    let library = try Library()
    let subscriber = Subscriber(library.standIn)
    _ = subscriber.join([Subscriber.table("films", filter: filter.filter)])
    let rows = """
      [{"id": 11, "title": "One", "rating": 7.5, "shown_at": "2026-01-01T01:00:00+01:00"},
       {"id": 12, "title": "a,b", "rating": 10}, {"id": 13}]
      """
    let inserted = library.ask(
      "POST", "films?columns=id,title,rating,shown_at", [("Content-Type", "application/json")], body: rows)
    #expect(inserted.status == 201)
    #expect(subscriber.changes().compactMap { $0["record"]?["id"]?.int64Value } == filter.passed)
  }

  @Test("of a deleted row a filter sees the key alone")
  func filteredDelete() throws {
    let library = try Library()
    let subscriber = Subscriber(library.standIn)
    _ = subscriber.join([Subscriber.table("films", filter: "id=eq.4")], topic: "realtime:key")
    _ = subscriber.join([Subscriber.table("films", filter: "title=eq.\"Four, alone\"")], topic: "realtime:title")
    _ = library.ask("DELETE", "films?id=eq.4")
    #expect(subscriber.take().map { $0.text("topic") } == ["realtime:key"])
  }

  @Test("a selection shows its columns and the key")
  func select() throws {
    let library = try Library()
    let subscriber = Subscriber(library.standIn)
    _ = subscriber.join([["event": "*", "schema": "public", "table": "films", "select": ["title"]]])
    _ = library.ask("POST", "films", [("Content-Type", "application/json")], body: #"{"id": 9, "title": "Nine"}"#)
    #expect(subscriber.changes()[0]["record"] == ["id": 9, "title": "Nine"])
  }

  @Test("a long value that an update does not change is left out, a change over the limit is cut")
  func longValues() throws {
    let library = try Library()
    let subscriber = Subscriber(library.standIn)
    _ = subscriber.join([Subscriber.table("films")])
    let json = [("Content-Type", "application/json")]
    let long = String(repeating: "x", count: 3_000)
    _ = library.ask("POST", "films", json, body: #"{"id": 9, "title": "\#(long)"}"#)
    _ = library.ask("PATCH", "films?id=eq.9", json, body: #"{"rating": 1}"#)
    _ = library.ask("PATCH", "films?id=eq.9", json, body: #"{"title": "\#(long)y"}"#)
    #expect(subscriber.changes().map { $0["record"]?["title"]?.stringValue?.utf8.count } == [3_000, nil, 3_001])
    let tooLong = String(repeating: "x", count: 1 << 20)
    _ = library.ask("PATCH", "films?id=eq.9", json, body: #"{"title": "\#(tooLong)"}"#)
    let cut = subscriber.changes()[0]
    #expect(cut["errors"] == ["Error 413: Payload Too Large"])
    #expect(cut["record"]?["id"] == 9 && cut["record"]?["title"] == nil && cut["old_record"] == ["id": 9])
  }

  @Test("a table that is not published tells nothing")
  func unpublished() throws {
    let schema = try Schema(
      parsing: Library.schema.replacing(#""actors": {"#, with: #""actors": {"realtime": false,"#))
    let library = try Library { $0.schema = schema }
    let subscriber = Subscriber(library.standIn)
    _ = subscriber.join([Subscriber.everything])
    _ = library.ask("PATCH", "actors?id=eq.1", [("Content-Type", "application/json")], body: #"{"name": "x"}"#)
    #expect(subscriber.changes().isEmpty)
  }
}
