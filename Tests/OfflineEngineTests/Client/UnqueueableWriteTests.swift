import FoundationEssentials
import LosslessJSON
import SupabaseAPI
import Testing

@testable import OfflineEngine

@Suite("A write that the queue cannot hold (spec 1)")
struct UnqueueableWriteTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let kind: UnqueueableWrite
    let line: String
    let build: @Sendable (OfflineClient) -> WriteBuilder

    var testDescription: String { kind.description }

    init(_ kind: UnqueueableWrite, _ line: String, _ build: @escaping @Sendable (OfflineClient) -> WriteBuilder) {
      self.kind = kind
      self.line = line
      self.build = build
    }
  }

  static let cases = [
    Case(.unfiltered, "DELETE /rest/v1/tasks") { $0.from("tasks").delete() },
    Case(.unfiltered, "PATCH /rest/v1/tasks") { $0.from("tasks").update(["done": true]) },
    Case(.group, "PATCH /rest/v1/tasks?or=%28done.eq.true%2Cid.eq.1%29") {
      $0.from("tasks").update(["done": true]).or { $0.eq("done", value: true).eq("id", value: 1) }
    },
    Case(
      .group, "DELETE /rest/v1/tasks?done=is.true&and=%28created_at.gte.a%2Ccreated_at.lt.b%29"
    ) {
      $0.from("tasks").delete().is("done", value: true).gte("created_at", value: "a").lt("created_at", value: "b")
    },
    Case(.negation, "DELETE /rest/v1/tasks?notes=not.is.null") {
      $0.from("tasks").delete().filter("notes", operator: "not.is", value: "null")
    },
    Case(.negation, "DELETE /rest/v1/tasks?notes=not.is.null") {
      $0.from("tasks").delete().neq("notes", value: OfflineJSON.null)
    },
    Case(.embeddedCondition, "DELETE /rest/v1/tasks?task_photos.id=eq.1") {
      $0.from("tasks").delete().eq("task_photos.id", value: 1)
    },
    Case(.embeddedCondition, "DELETE /rest/v1/tasks?task_photos.data-%3E%3Ekind=eq.a") {
      $0.from("tasks").delete().eq("task_photos.data->>kind", value: "a")
    },
    Case(.order, "DELETE /rest/v1/tasks?done=eq.true&order=id.asc&limit=1") {
      $0.from("tasks").delete().eq("done", value: true).order("id").limit(1)
    },
    Case(.limit, "DELETE /rest/v1/tasks?done=eq.true&limit=1") {
      $0.from("tasks").delete().eq("done", value: true).limit(1)
    },
    Case(.offset, "DELETE /rest/v1/tasks?done=eq.true&offset=1") {
      $0.from("tasks").delete().eq("done", value: true).offset(1)
    },
    Case(.dryRun, "POST /rest/v1/tasks") { $0.from("tasks").insert(["id": 1]).dryRun() },
    Case(.schema("private"), "POST /rest/v1/tasks") { $0.from(schema: "private", "tasks").insert(["id": 1]) },
  ]

  @Test("is sent at once, and past what is queued", arguments: cases)
  func online(_ test: Case) async throws {
    let desk = try await ClientDesk([.offline, .answer(204, "", ["Preference-Applied": "tx=rollback"])])
    _ = try await desk.tasks.insert(WriteOutcomeTests.row).execute()
    #expect(try await test.build(desk.client).execute().isQueued == false)
    #expect(desk.http.lines.last == test.line)
    #expect(try desk.pending.count == 1)
    desk.http.check()
  }

  @Test("throws what kind it is without a connection, and nothing is queued", arguments: cases)
  func offline(_ test: Case) async throws {
    let desk = try await ClientDesk([.offline])
    let error = await #expect(throws: OfflineError.self) { try await test.build(desk.client).execute() }
    guard case .mutationNotQueueable(test.kind, .connectivity)? = error else {
      Issue.record("\(error.map { "\($0)" } ?? "nothing")")
      return
    }
    #expect("\(test.kind)".isEmpty == false && error.map { "\($0)".contains(test.kind.description) } == true)
    #expect(try desk.pending.isEmpty)
    desk.http.check()
  }

  @Test("throws with network access off, and sends nothing", arguments: cases)
  func disabled(_ test: Case) async throws {
    let desk = try await ClientDesk()
    desk.client.disableNetwork()
    let error = await #expect(throws: OfflineError.self) { try await test.build(desk.client).execute() }
    guard case .mutationNotQueueable(test.kind, .networkDisabled)? = error else {
      Issue.record("\(error.map { "\($0)" } ?? "nothing")")
      return
    }
    #expect(desk.http.requests.isEmpty)
  }

  @Test("throws the server's refusal as it is")
  func refused() async throws {
    let desk = try await ClientDesk([.error(400, "21000")])
    let error = await #expect(throws: OfflineError.self) { try await desk.tasks.delete().execute() }
    #expect(error.map(Thrown.init) == .refused(400, "21000"))
  }

  @Test("of a session that does not say whose it is goes out with its token, and offline says so")
  func userless() async throws {
    let nobody = session(of: "", tokenOf: .some(nil))
    let desk = try await ClientDesk([.answer(201, ""), .offline], session: nobody)
    #expect(desk.client.auth.state == .signedIn(user: nil))
    #expect(try await desk.tasks.insert(WriteOutcomeTests.row).execute().isQueued == false)
    #expect(desk.http.requests[0].bearer == nobody.accessToken.revealed)
    let error = await #expect(throws: OfflineError.self) {
      try await desk.tasks.insert(WriteOutcomeTests.row).execute()
    }
    #expect(error.map(Thrown.init) == .notQueueable(.noUser))
    #expect(try desk.pending.isEmpty)
  }

  @Test("that was on its way while the data was cleared is sent at once")
  func cleared() async throws {
    let desk = try await ClientDesk([.answer(201, "")])
    let client = desk.client
    let builder = desk.tasks.insert(WriteOutcomeTests.row)
    let (rows, isList) = try builder.rows()
    let write = builder.write(rows, isList: isList, client.configuration.description(of: "tasks"))
    let before = client.clearings
    try await client.clearLocalData()
    #expect(try client.record(write, client.configuration.description(of: "tasks"), before) == nil)
    #expect(try desk.pending.isEmpty)
  }
}

@Suite("A dry run (spec 1)")
struct DryRunTests {
  @Test("that the server took back is not laid into the cache, and nobody is warned")
  func takenBack() async throws {
    let desk = try await ClientDesk([.answer(201, "[]", ["Preference-Applied": "return=representation, tx=rollback"])])
    _ = try await desk.tasks.insert(WriteOutcomeTests.row).select().dryRun().execute()
    #expect(desk.http.requests[0].fields["Prefer"]?.contains("tx=rollback") == true)
    #expect(desk.warnings.all.isEmpty)
  }

  @Test("that the server committed anyway is a write like any other, with one warning a client")
  func committed() async throws {
    let desk = try await ClientDesk([.answer(201, ""), .answer(201, "", ["Preference-Applied": "tx=commit"])])
    for id in [1, 2] { _ = try await desk.tasks.insert(TaskRow(id: id, title: "x")).dryRun().execute() }
    #expect(desk.warnings.all.count == 1)
    #expect(desk.warnings.all[0].contains("'tasks'"))
  }
}

@Suite("What a write sends (spec 1)")
struct WriteRequestTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let line: String
    let body: String
    let preferences: String
    let build: @Sendable (TableReference) -> WriteBuilder

    init(
      _ name: String, _ line: String, _ body: String, _ preferences: String,
      _ build: @escaping @Sendable (TableReference) -> WriteBuilder
    ) {
      testDescription = name
      self.line = line
      self.body = body
      self.preferences = preferences
      self.build = build
    }
  }

  struct Patch: Encodable, Sendable {
    var title: String
    var notes: String?

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Keys.self)
      try container.encode(title, forKey: .title)
      try container.encode(notes, forKey: .notes)
    }

    enum Keys: CodingKey { case title, notes }
  }

  struct Loose: Codable, Sendable {
    var id: Int
    var notes: String?
  }

  static let cases = [
    Case("an insert of a typed row", "POST /rest/v1/tasks", #"{"done":false,"id":1,"title":"A"}"#, "return=minimal") {
      $0.insert(TaskRow(id: 1, title: "A"))
    },
    Case("an insert of a JSON row", "POST /rest/v1/tasks", #"{"id":1,"notes":null}"#, "return=minimal") {
      $0.insert(["id": 1, "notes": nil])
    },
    Case(
      "an insert of a list", "POST /rest/v1/tasks?columns=%22id%22%2C%22notes%22",
      #"[{"id":1},{"id":2,"notes":"b"}]"#, "return=minimal"
    ) { $0.insert([Loose(id: 1), Loose(id: 2, notes: "b")]) },
    Case(
      "an insert of a list whose left-out columns take their defaults",
      "POST /rest/v1/tasks?columns=%22id%22%2C%22notes%22", #"[{"id":1},{"id":2,"notes":"b"}]"#,
      "return=minimal,missing=default"
    ) { $0.insert([["id": 1], ["id": 2, "notes": "b"]] as OfflineJSON, defaultToNull: false) },
    Case(
      "an upsert", "POST /rest/v1/tasks", #"{"done":false,"id":1,"title":"A"}"#,
      "return=minimal,resolution=merge-duplicates"
    ) { $0.upsert(TaskRow(id: 1, title: "A")) },
    Case(
      "an upsert that leaves what is there", "POST /rest/v1/tasks?on_conflict=user_id%2Cslug&columns=%22id%22",
      #"[{"id":1}]"#, "return=minimal,resolution=ignore-duplicates"
    ) { $0.upsert([["id": 1]] as OfflineJSON, onConflict: "user_id, slug", ignoreDuplicates: true) },
    Case(
      "an update of a typed value, null where the type says so", "PATCH /rest/v1/tasks?id=eq.1",
      #"{"notes":null,"title":"A"}"#, "return=minimal"
    ) { $0.update(Patch(title: "A", notes: nil)).eq("id", value: 1) },
    Case("an update of JSON values", "PATCH /rest/v1/tasks?id=eq.1", #"{"done":true}"#, "return=minimal") {
      $0.update(["done": .bool(true)]).eq("id", value: 1)
    },
    Case(
      "an update that asks some columns back", "PATCH /rest/v1/tasks?select=id%2Cname%3Atitle&id=eq.1",
      #"{"done":true}"#, "return=representation"
    ) { $0.update(["done": true]).eq("id", value: 1).select("id, name:title") },
    Case("a delete", "DELETE /rest/v1/tasks?id=eq.1", "", "return=minimal") { $0.delete().eq("id", value: 1) },
    Case(
      "every operator",
      "DELETE /rest/v1/tasks?a=neq.1&b=gt.1&c=gte.1.5&d=lt.x&e=lte.true&f=like.a%25&g=ilike.%25B%25"
        + "&h=in.%281%2C2%29&i=is.null&j=is.false&k=cs.%7B%22a%22%2C%22b%22%7D&l=cd.%7B1%7D&m=ov.%7B1%7D"
        + "&data-%3E%3Ekind=eq.x&n=eq.a5a5a5a5-0000-4000-8000-000000000000&o=gte.1970-01-01T00%3A00%3A00.500000Z", "",
      "return=minimal"
    ) {
      $0.delete().neq("a", value: 1).gt("b", value: 1).gte("c", value: 1.5).lt("d", value: "x").lte("e", value: true)
        .like("f", pattern: "a%").ilike("g", pattern: "%B%").in("h", values: [1, 2]).is("i", value: nil)
        .is("j", value: false).contains("k", value: ["a", "b"]).containedBy("l", value: [1]).overlaps("m", value: [1])
        .eq("data->>kind", value: "x").eq(
          "n", value: UUID(uuid: (0xA5, 0xA5, 0xA5, 0xA5, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, 0))
        )
        .gte("o", value: Date(timeIntervalSince1970: 0.5))
    },
    Case(
      "odd names and values", "DELETE /rest/v1/my%20table?%22order%22=eq.1&%22a%20b%22=eq.x%2Cy%29%20%22%26", "",
      "return=minimal"
    ) {
      $0.client.from("my table").delete().eq("order", value: 1).eq("a b", value: "x,y) \"&")
    },
  ]

  @Test("at once: exactly what was built", arguments: cases)
  func atOnce(_ test: Case) async throws {
    let answer: ScriptedExchange.Step = .answer(test.preferences.contains("representation") ? 200 : 201, "[]")
    let desk = try await ClientDesk([test.preferences.contains("representation") ? answer : .answer(201, "")])
    _ = try await test.build(desk.tasks).execute()
    #expect(desk.http.lines == [test.line])
    #expect(desk.http.requests[0].text == test.body)
    #expect(desk.http.requests[0].fields["Prefer"] == test.preferences)
    #expect(desk.http.requests[0].fields["Content-Profile"] == "public")
  }

  @Test("survives the queue", arguments: cases)
  func queued(_ test: Case) async throws {
    let desk = try await ClientDesk([.offline])
    let outcome = try await test.build(desk.tasks).execute()
    guard case .queued(let mutation) = outcome else {
      Issue.record("applied")
      return
    }
    #expect(try desk.pending == [mutation])
    let request = mutation.write.requestAsMade.httpRequest(project: desk.client.configuration.project, accessToken: nil)
    #expect(request.line == test.line)
    #expect(request.text == test.body)
    #expect(request.fields["Prefer"] == test.preferences)
  }

  @Test(
    "is refused before anything is sent or queued when no table could take it",
    arguments: [
      (OfflineJSON.string("x"), MutationOperation.insert), (.array([]), .insert), (.array([["id": 1], 2]), .upsert),
      (.null, .upsert), (.array([["id": 1]]), .update), (.object([:]), .update),
    ])
  func invalid(_ body: OfflineJSON, _ operation: MutationOperation) async throws {
    let desk = try await ClientDesk()
    let builder =
      switch operation {
      case .insert: desk.tasks.insert(body)
      case .upsert: desk.tasks.upsert(body)
      case .update, .delete:
        WriteBuilder(
          client: desk.client, schema: "public", table: "tasks", operation: .update, body: .success(body),
          strategy: .queueIfOffline, conditions: [.eq("id", 1)])
      }
    let error = await #expect(throws: OfflineError.self) { try await builder.execute() }
    #expect(error.map(Thrown.init) == .invalidRequest)
    #expect(try desk.pending.isEmpty && desk.http.requests.isEmpty)
  }

  @Test("of a value that JSON cannot hold is refused, naming the member")
  func unencodable() async throws {
    struct Bad: Encodable, Sendable { var size = Double.infinity }
    let desk = try await ClientDesk()
    let error = await #expect(throws: OfflineError.self) { try await desk.tasks.insert(Bad()).execute() }
    #expect(error.map { "\($0)" }?.contains("'size'") == true)
  }

  @Test("with an answer of another shape says where, after the server took the write")
  func undecodable() async throws {
    let desk = try await ClientDesk([.answer(201, #"{"id":42,"title":null,"done":false}"#)])
    let error = await #expect(throws: OfflineError.self) {
      try await desk.tasks.insert(WriteOutcomeTests.row).single().execute(TaskRow.self)
    }
    guard case .decoding(let reason)? = error else {
      Issue.record("\(error.map { "\($0)" } ?? "")")
      return
    }
    #expect(reason == "'title': it is null")
    #expect(try desk.pending.isEmpty)
  }
}
