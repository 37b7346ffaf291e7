import LosslessJSON
import SupabaseAPI
import Testing

@testable import OfflineEngine

/// The behaviour matrix of one-shot reads (spec 3), row by row.
@Suite struct ReadMatrixTests {
  /// What a read comes to.
  enum Outcome: Equatable {
    case server
    case cache
    case miss
    case thrown(Thrown)
  }

  /// What is so when the read is made.
  enum Condition: String, CaseIterable {
    case onlineWarm, onlineCold, onlineOld, onlineStale
    case offlineWarm, offlineCold, offlineOld, offlineStale
    case downWarm, downCold
    case busyWarm, busyCold, busyOnce
    case refusedWarm
    case offWarm, offCold
    case sessionEnded

    var isWarm: Bool { ![.onlineCold, .offlineCold, .downCold, .busyCold, .offCold].contains(self) }
    var isOld: Bool { self == .onlineOld || self == .offlineOld }
    var isStale: Bool { self == .onlineStale || self == .offlineStale }
  }

  struct Case: CustomTestStringConvertible {
    let condition: Condition
    let strategy: String
    let outcome: Outcome
    let requests: Int
    let waits: [Int]

    init(_ condition: Condition, _ strategy: String, _ outcome: Outcome, requests: Int, waits: [Int] = []) {
      self.condition = condition
      self.strategy = strategy
      self.outcome = outcome
      self.requests = requests
      self.waits = waits
    }

    var testDescription: String { "\(condition.rawValue), \(strategy)" }
  }

  static let strategies: [String: ReadStrategy] = [
    "networkOnly": .networkOnly, "networkFirst": .networkFirst(maxAge: .seconds(3600)),
    "cacheFirst": .cacheFirst(maxAge: .seconds(3600)), "cacheOnly": .cacheOnly(maxAge: .seconds(3600)),
  ]

  static let cases: [Case] = [
    Case(.onlineWarm, "networkOnly", .server, requests: 1),
    Case(.onlineWarm, "networkFirst", .server, requests: 1),
    Case(.onlineWarm, "cacheFirst", .cache, requests: 0),
    Case(.onlineWarm, "cacheOnly", .cache, requests: 0),
    Case(.onlineCold, "networkOnly", .server, requests: 1),
    Case(.onlineCold, "networkFirst", .server, requests: 1),
    Case(.onlineCold, "cacheFirst", .server, requests: 1),
    Case(.onlineCold, "cacheOnly", .miss, requests: 0),
    Case(.onlineOld, "cacheFirst", .server, requests: 1),
    Case(.onlineOld, "cacheOnly", .miss, requests: 0),
    Case(.onlineStale, "cacheFirst", .server, requests: 1),
    Case(.onlineStale, "cacheOnly", .cache, requests: 0),
    Case(.offlineWarm, "networkOnly", .thrown(.connectivity), requests: 4, waits: [1, 2, 4]),
    Case(.offlineWarm, "networkFirst", .cache, requests: 1),
    Case(.offlineWarm, "cacheFirst", .cache, requests: 0),
    Case(.offlineWarm, "cacheOnly", .cache, requests: 0),
    Case(.offlineOld, "networkFirst", .thrown(.connectivity), requests: 4, waits: [1, 2, 4]),
    Case(.offlineOld, "cacheFirst", .thrown(.connectivity), requests: 4, waits: [1, 2, 4]),
    Case(.offlineOld, "cacheOnly", .miss, requests: 0),
    Case(.offlineStale, "networkFirst", .cache, requests: 1),
    Case(.offlineStale, "cacheFirst", .cache, requests: 1),
    Case(.offlineCold, "networkOnly", .thrown(.connectivity), requests: 4, waits: [1, 2, 4]),
    Case(.offlineCold, "networkFirst", .thrown(.connectivity), requests: 4, waits: [1, 2, 4]),
    Case(.offlineCold, "cacheFirst", .thrown(.connectivity), requests: 4, waits: [1, 2, 4]),
    Case(.offlineCold, "cacheOnly", .miss, requests: 0),
    Case(.downWarm, "networkOnly", .thrown(.connectivity), requests: 1),
    Case(.downWarm, "networkFirst", .cache, requests: 1),
    Case(.downCold, "networkOnly", .thrown(.connectivity), requests: 1),
    Case(.downCold, "networkFirst", .thrown(.connectivity), requests: 1),
    Case(.downCold, "cacheFirst", .thrown(.connectivity), requests: 1),
    Case(.busyWarm, "networkFirst", .thrown(.unavailable(503)), requests: 4, waits: [1, 2, 4]),
    Case(.busyWarm, "networkOnly", .thrown(.unavailable(503)), requests: 4, waits: [1, 2, 4]),
    Case(.busyCold, "networkFirst", .thrown(.unavailable(503)), requests: 4, waits: [1, 2, 4]),
    Case(.busyOnce, "networkFirst", .server, requests: 2, waits: [1]),
    Case(.refusedWarm, "networkFirst", .thrown(.refused(403, "42501")), requests: 1),
    Case(.refusedWarm, "networkOnly", .thrown(.refused(403, "42501")), requests: 1),
    Case(.offWarm, "networkOnly", .thrown(.networkDisabled), requests: 0),
    Case(.offWarm, "networkFirst", .cache, requests: 0),
    Case(.offWarm, "cacheFirst", .cache, requests: 0),
    Case(.offWarm, "cacheOnly", .cache, requests: 0),
    Case(.offCold, "networkFirst", .thrown(.networkDisabled), requests: 0),
    Case(.offCold, "cacheFirst", .thrown(.networkDisabled), requests: 0),
    Case(.offCold, "cacheOnly", .miss, requests: 0),
  ]

  @Test(arguments: cases) func `a read comes to what the matrix says`(_ row: Case) async throws {
    let desk = try await ReadDesk()
    if row.condition.isWarm { try await desk.warm() }
    if row.condition.isOld { desk.clock.advance(by: .seconds(7200)) }
    if row.condition.isStale {
      try desk.client.store.transaction(user: Desk.user) { try $0.markListsStale("tasks", schema: "public") }
    }
    switch row.condition {
    case .downWarm, .downCold: await desk.say(.offline, .offline)
    case .offWarm, .offCold: desk.client.disableNetwork()
    default: break
    }
    desk.clock.forget()
    let before = desk.http.requests.count
    desk.http.add(Self.steps(row.condition, row.requests))

    #expect(await Self.outcome(desk, try #require(Self.strategies[row.strategy])) == row.outcome)
    #expect(desk.http.requests.count - before == row.requests)
    #expect(desk.clock.waits == row.waits.map { .seconds($0) })
    desk.check()
  }

  private static func steps(_ condition: Condition, _ count: Int) -> [ScriptedExchange.Step] {
    let step: ScriptedExchange.Step =
      switch condition {
      case .offlineWarm, .offlineCold, .offlineOld, .offlineStale, .downWarm, .downCold: .offline
      case .busyWarm, .busyCold: .error(503, "PGRST000")
      case .refusedWarm: .error(403, "42501")
      default: .rows(#"[{"id":2,"title":"Fresh","done":false}]"#)
      }
    if condition == .busyOnce { return [.error(520, "520"), step] }
    return Array(repeating: step, count: count)
  }

  private static func outcome(_ desk: ReadDesk, _ strategy: ReadStrategy) async -> Outcome {
    do {
      let response = try await desk.tasks.select(readStrategy: strategy).execute([TaskRow].self)
      #expect(response.fetchedAt != nil)
      #expect(response.value.map(\.title) == (response.isFromCache ? ["Milk"] : ["Fresh"]))
      return response.isFromCache ? .cache : .server
    } catch OfflineError.cacheMiss {
      return .miss
    } catch {
      return .thrown(Thrown(error))
    }
  }
}

@Suite struct OneShotReadTests {
  @Test func `every strategy's answer is kept, with the time it came`() async throws {
    let desk = try await ReadDesk()
    try await desk.warm()
    let sent = desk.clock.now()
    desk.clock.advance(by: .seconds(60))
    let response = try await desk.tasks.select(readStrategy: .cacheOnly).execute([TaskRow].self)
    #expect(response.value == [TaskRow(id: 1, title: "Milk")])
    #expect(response.fetchedAt == sent.date)
    #expect(response.isFromCache)
  }

  @Test func `queued writes are laid over the cache and over the server's answer, and leave the age as it was`()
    async throws
  {
    let desk = try await ReadDesk()
    try await desk.warm()
    let sent = desk.clock.now()
    try await desk.queue(desk.tasks.update(["done": true]).eq("id", value: 1))
    let kept = try await desk.tasks.select(readStrategy: .cacheOnly).execute([TaskRow].self)
    #expect(kept.value == [TaskRow(id: 1, title: "Milk", done: true)])
    #expect(kept.hasPendingMutations)
    #expect(kept.fetchedAt == sent.date)
    desk.http.add([.rows(ReadDesk.rows)])
    let fresh = try await desk.tasks.select().execute([TaskRow].self)
    #expect(fresh.value == [TaskRow(id: 1, title: "Milk", done: true)])
    #expect(fresh.hasPendingMutations)
    #expect(!fresh.isFromCache)
  }

  @Test func `a query is kept apart from others, and from the same table of another schema`() async throws {
    let desk = try await ReadDesk()
    try await desk.warm()
    for other in [
      desk.tasks.select("id", readStrategy: .cacheOnly),
      desk.tasks.select(readStrategy: .cacheOnly).eq("done", value: false),
      desk.tasks.select(readStrategy: .cacheOnly).order("id"), desk.tasks.select(readStrategy: .cacheOnly).limit(1),
      desk.client.from(schema: "other", "tasks").select(readStrategy: .cacheOnly),
    ] {
      await #expect(throws: OfflineError.self) { try await other.execute([TaskRow].self) }
    }
  }

  @Test func `what one user's reads kept is read by nobody and no other user, and by that user again`() async throws {
    let desk = try await ReadDesk()
    try await desk.warm()
    let kept = { try await desk.tasks.select(readStrategy: .cacheOnly).execute([TaskRow].self) }
    desk.http.add([.answer(204, "")])
    try await desk.client.auth.signOut()
    await #expect(throws: OfflineError.self) { try await kept() }
    desk.http.add([.offline])
    await desk.say(.offline, .offline)
    await #expect(throws: OfflineError.self) { try await desk.tasks.select().execute([TaskRow].self) }
    for user in ["00000000-0000-4000-8000-000000000001", Desk.user] {
      desk.http.add([.answer(200, session(of: user).json.serialized())])
      try await desk.client.auth.signIn(email: "somebody@example.com", password: Secret("p"))
      guard user != Desk.user else { break }
      await #expect(throws: OfflineError.self) { try await kept() }
      desk.http.add([.rows("[]")])
      #expect(try await desk.tasks.select(readStrategy: .networkOnly).execute([TaskRow].self).value.isEmpty)
    }
    #expect(try await kept().value.map(\.title) == ["Milk"])
    desk.check()
  }

  @Test func `a single row, a count, a head and other shapes are never kept and never come from the cache`()
    async throws
  {
    let desk = try await ReadDesk()
    try await desk.warm()
    func reads(_ strategy: ReadStrategy) -> [ReadBuilder] {
      [
        desk.tasks.select(readStrategy: strategy).single(), desk.tasks.select(count: .exact, readStrategy: strategy),
        desk.tasks.select("id", head: true, count: .exact, readStrategy: strategy),
        desk.tasks.select(readStrategy: strategy).maybeSingle(), desk.tasks.select(readStrategy: strategy).stripNulls(),
      ]
    }
    func texts(_ strategy: ReadStrategy) -> [@Sendable () async throws -> String] {
      let read = desk.tasks.select(readStrategy: strategy)
      return [
        { try await read.executeCSV().value }, { try await read.executeGeoJSON().value.serialized() },
        { try await read.executeExplain().value },
        { try await read.executeExplain(analyze: true, isJSON: true, options: ["verbose"]).value },
      ]
    }
    let lists = {
      try desk.client.store.read(user: Desk.user) { try $0.cachedLists("tasks", schema: "public").map(\.query.text) }
    }
    let kept = try lists()
    for read in reads(.cacheOnly) {
      await #expect { try await read.execute() } throws: {
        if case OfflineError.cacheMiss = $0 { true } else { false }
      }
    }
    for read in texts(.cacheOnly) {
      await #expect { try await read() } throws: { if case OfflineError.cacheMiss = $0 { true } else { false } }
    }
    await desk.say(.offline, .offline)
    for read in reads(.networkFirst) {
      desk.http.add([.offline])
      await #expect { try await read.execute() } throws: { Thrown($0) == .connectivity }
    }
    for read in texts(.networkFirst) {
      desk.http.add([.offline])
      await #expect { try await read() } throws: { Thrown($0) == .connectivity }
    }
    desk.http.add([
      .answer(200, ReadDesk.milk), .answer(206, ReadDesk.rows, ["Content-Range": "0-0/12"]),
      .answer(200, "", ["Content-Range": "*/12"]),
    ])
    #expect(try await reads(.networkFirst)[0].execute(TaskRow.self).value == TaskRow(id: 1, title: "Milk"))
    let counted = try await reads(.networkFirst)[1].execute([TaskRow].self)
    #expect(counted.count == 12 && counted.fetchedAt == nil && !counted.isFromCache)
    #expect(try await reads(.networkFirst)[2].execute().count == 12)
    desk.http.add([
      .rows(ReadDesk.rows), .rows(ReadDesk.rows), .answer(200, "id,title\n1,Milk", ["Content-Type": "text/csv"]),
      .answer(
        200, #"{"type":"FeatureCollection","features":[]}"#, ["Content-Type": "application/geo+json; charset=utf-8"]),
      .answer(200, "Seq Scan on tasks", ["Content-Type": #"application/vnd.pgrst.plan+text; for="application/json""#]),
      .answer(200, "[]", ["Content-Type": #"application/vnd.pgrst.plan+json; for="application/json""#]),
    ])
    #expect(try await reads(.networkFirst)[3].execute(TaskRow?.self).value == TaskRow(id: 1, title: "Milk"))
    #expect(try await reads(.networkFirst)[4].execute([TaskRow].self).value == [TaskRow(id: 1, title: "Milk")])
    for (read, answer) in zip(
      texts(.networkFirst),
      ["id,title\n1,Milk", #"{"type":"FeatureCollection","features":[]}"#, "Seq Scan on tasks", "[]"])
    {
      #expect(try await read() == answer)
    }
    #expect(
      desk.http.requests.suffix(5).map { $0.fields["Accept"] } == [
        "application/vnd.pgrst.array+json;nulls=stripped", "text/csv", "application/geo+json",
        #"application/vnd.pgrst.plan+text; for="application/json""#,
        #"application/vnd.pgrst.plan+json; for="application/json"; options=analyze|verbose"#,
      ])
    #expect(try lists() == kept)
    // A gateway's page is none of them.
    for read in texts(.networkFirst) {
      desk.http.add([.answer(200, "<html>", ["Content-Type": "text/html"])])
      await #expect { try await read() } throws: { if case OfflineError.notAnAnswer = $0 { true } else { false } }
    }
    desk.check()
  }

  @Test func `one row or none comes by itself, and several are refused as the server refuses them`() async throws {
    let desk = try await ReadDesk()
    let read = desk.tasks.select().maybeSingle()
    desk.http.add([.rows(ReadDesk.rows), .rows("[]"), .rows("[]"), .rows("[\(ReadDesk.milk),\(ReadDesk.milk)]")])
    #expect(try await read.execute(TaskRow?.self).value == TaskRow(id: 1, title: "Milk"))
    #expect(try await read.execute(TaskRow?.self).value == nil)
    #expect(try await read.limit(1).execute(TaskRow?.self).value == nil)
    await #expect { try await read.execute(TaskRow?.self) } throws: { Thrown($0) == .refused(406, "PGRST116") }
    #expect(desk.http.lines.map { $0.hasSuffix("limit=1") } == [false, false, true, false])
    #expect(desk.http.lines.allSatisfy { $0.contains("limit=") })
    desk.check()
  }

  @Test func `an answer asked for before a write was accepted does not bring the old value back`() async throws {
    let desk = try await ReadDesk()
    try await desk.warm()
    let (asked, mayAnswer) = (Gate(), Gate())
    desk.http.add([
      .init { _ in
        asked.open()
        await mayAnswer.opened()
        return HTTPResponse(status: 200, body: Array(ReadDesk.rows.utf8))
      }, .answer(204, ""),
    ])
    async let old = desk.tasks.select(readStrategy: .networkOnly).execute([TaskRow].self)
    await asked.opened()
    #expect(try await !desk.tasks.update(["done": true]).eq("id", value: 1).execute().isQueued)
    mayAnswer.open()
    #expect(try await old.value == [TaskRow(id: 1, title: "Milk", done: true)])
    let kept = try await desk.tasks.select(readStrategy: .cacheOnly).execute([TaskRow].self)
    #expect(kept.value == [TaskRow(id: 1, title: "Milk", done: true)])
    desk.http.add([.rows(ReadDesk.rows.replacing("false", with: "true"))])
    let next = try await desk.tasks.select(readStrategy: .cacheFirst).execute([TaskRow].self)
    #expect(!next.isFromCache, "what was laid over an older answer is fetched again")
    desk.check()
  }

  // MARK: While the stored session is restored

  private static let expired = session(of: Desk.user, expiresAt: 1)

  /// The Auth service's answer to a refresh, once a gate opens.
  private static func refresh(_ gate: Gate, _ asked: Gate) -> ScriptedExchange.Step {
    .init { _ in
      asked.open()
      await gate.opened()
      let fresh = session(of: Desk.user, mark: "fresh")
      let body: JSONValue = [
        "access_token": .string(fresh.accessToken.revealed), "refresh_token": "refresh-2", "expires_in": 3600,
        "token_type": "bearer", "user": ["id": .string(Desk.user)],
      ]
      return HTTPResponse(status: 200, body: Array(body.serialized().utf8))
    }
  }

  @Test func `a read of a user whose session is being restored asks again once it is settled, and keeps that answer`()
    async throws
  {
    let (gate, asked) = (Gate(), Gate())
    let desk = try await ReadDesk([Self.refresh(gate, asked)], session: Self.expired)
    await asked.opened()
    desk.http.add([
      .init { _ in
        gate.open()
        return HTTPResponse(status: 200, body: Array("[]".utf8))
      }, .rows(ReadDesk.rows), .rows(ReadDesk.rows), .rows(ReadDesk.rows), .rows(ReadDesk.rows),
    ])
    let response = try await desk.tasks.select().execute([TaskRow].self)
    #expect(response.value.map(\.title) == ["Milk"])
    let first = try #require(desk.http.requests.first { $0.method == "GET" })
    #expect(first.bearer != token(of: Desk.user, mark: "fresh").revealed)
    let kept = try await desk.tasks.select(readStrategy: .cacheOnly).execute([TaskRow].self)
    #expect(kept.value.map(\.title) == ["Milk"])
  }

  @Test func `a session that never settles gives the anonymous answer, kept nowhere, with a warning`() async throws {
    let (gate, asked) = (Gate(), Gate())
    let desk = try await ReadDesk([Self.refresh(gate, asked)], session: Self.expired)
    await asked.opened()
    desk.http.add(Array(repeating: .rows("[]"), count: 4))
    let response = try await desk.tasks.select().execute([TaskRow].self)
    #expect(response.value.isEmpty)
    #expect(response.fetchedAt == nil)
    #expect(desk.http.requests.filter { $0.method == "GET" }.count == 4)
    #expect(desk.clock.waits.suffix(3) == [.milliseconds(300), .milliseconds(900), .milliseconds(2_400)])
    #expect(desk.warnings.all.count == 1)
    await #expect(throws: OfflineError.self) {
      try await desk.tasks.select(readStrategy: .cacheOnly).execute([TaskRow].self)
    }
    gate.open()
  }

  @Test func `that there is no such row is said at once`() async throws {
    let (gate, asked) = (Gate(), Gate())
    let desk = try await ReadDesk([Self.refresh(gate, asked)], session: Self.expired)
    await asked.opened()
    desk.http.add([.rows("[]")])
    #expect(try await desk.tasks.select().maybeSingle().execute(TaskRow?.self).value == nil)
    #expect(desk.http.requests.filter { $0.method == "GET" }.count == 1)
    gate.open()
  }

  @Test func `a read that the stored user's cache can answer sends nothing meanwhile`() async throws {
    let (gate, asked) = (Gate(), Gate())
    let desk = try await ReadDesk([Self.refresh(gate, asked)], session: Self.expired)
    await asked.opened()
    let query = try #require(ListQuery(TableRequest.select("tasks")))
    try desk.client.store.transaction(user: Desk.user) {
      try $0.keep(
        [["id": 1, "title": "Milk", "done": false]], for: query, TableDescription(name: "tasks", columns: []),
        fetchedAt: $0.now, isStale: false)
    }
    for strategy in [ReadStrategy.cacheFirst, .cacheOnly] {
      #expect(try await desk.tasks.select(readStrategy: strategy).execute([TaskRow].self).isFromCache)
    }
    #expect(desk.http.requests.filter { $0.method == "GET" }.isEmpty)
    gate.open()
  }
}
