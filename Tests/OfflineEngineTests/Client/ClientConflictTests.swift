import LosslessJSON
import SupabaseAPI
import Synchronization
import Testing

@testable import OfflineEngine

@Suite("Two phones, one task (spec 5)")
struct TwoPhonesTests {
  /// The samples' resolver: a title that both sides changed waits for a person.
  static let holdTitles: ConflictResolver = { conflict in
    if conflict.conflictingColumns.contains("title") { return .hold }
    return conflict.server == nil ? .keepServer : .keepLocal
  }

  private struct Scene {
    let world: World
    let a: Phone
    let b: Phone
    let id = key(42).text

    init(resolver: @escaping ConflictResolver = holdTitles) async throws {
      world = try World()
      let session = try await world.signUp("a@example.com")
      a = try await Phone(world, session, resolver: resolver)
      b = try await Phone(world, session, resolver: resolver)
      _ = try await a.tasks.insert(["id": .string(id), "title": "Buy milk", "notes": nil]).execute()
      for phone in [a, b] { _ = try await phone.read() }
    }

    func version() throws -> String { try world.rows()[0]["updated_at"]?.stringValue ?? "" }
    func title() throws -> String { try world.rows()[0]["title"]?.stringValue ?? "" }
  }

  @Test("the running example: renamed on both, held, kept mine, and everybody agrees")
  func runningExample() async throws {
    let scene = try await Scene()
    let first = try scene.version()
    let queued = try await scene.a.offline {
      $0.update(["title": "Buy oat milk", "done": true]).eq("id", value: scene.id)
    }
    #expect(queued?.baseVersion == first)
    #expect(queued?.write.base?.values == ["title": "Buy milk", "done": false])
    _ = try await scene.b.tasks.update(["title": "Buy almond milk", "done": true]).eq("id", value: scene.id).execute()
    let second = try scene.version()
    scene.a.http.forget()
    let report = try await scene.a.sync()
    #expect(Counts(report) == Counts(conflicted: 1))
    let encoded = first.replacing(":", with: "%3A").replacing("+", with: "%2B")
    #expect(
      scene.a.http.lines[0]
        == "PATCH /rest/v1/tasks?select=id%2Cupdated_at%2Cdone%2Ctitle&id=eq.\(scene.id)&updated_at=eq.\(encoded)")
    #expect(scene.a.http.lines[1].hasPrefix("GET /rest/v1/tasks?select=id%2Cupdated_at%2Cdone%2Ctitle"))
    let entry = try #require(try scene.a.conflicts.first)
    #expect(Set(entry.changedOnServer) == ["title", "done"] && entry.conflictingColumns == ["title"])
    #expect(entry.serverVersion == second && entry.server?["title"] == "Buy almond milk")
    #expect(scene.a.client.syncStatus.conflictedMutationCount == 1)
    #expect(scene.a.client.syncStatus.pendingMutationCount == 0)
    let shown = try await scene.a.read("*", .cacheOnly)
    #expect(shown[0]["title"] == "Buy almond milk" && shown[0]["updated_at"] == .string(first))
    try scene.a.client.resolveConflictedMutation(id: entry.id, resolution: .keepLocal)
    let requeued = try scene.a.client.pendingMutationList()
    if let again = requeued.first { #expect(again.id > entry.id && again.baseVersion == second) }
    let last = try await scene.a.sync()
    #expect(last.conflictsResolved == 0)
    await scene.a.allSent()
    #expect(try scene.title() == "Buy oat milk")
    #expect(try await scene.a.read("*", .cacheOnly)[0]["title"] == "Buy oat milk")
    #expect(try scene.a.conflicts.isEmpty)
  }

  @Test("kept theirs: the entry goes, and the server's side stands on the device")
  func keptTheirs() async throws {
    let scene = try await Scene()
    try await scene.a.offline { $0.update(["title": "Mine"]).eq("id", value: scene.id) }
    _ = try await scene.b.tasks.update(["title": "Theirs"]).eq("id", value: scene.id).execute()
    _ = try await scene.a.sync()
    let id = try #require(try scene.a.conflicts.first).id
    try scene.a.client.resolveConflictedMutation(id: id, resolution: .keepServer)
    #expect(try scene.title() == "Theirs")
    #expect(try await scene.a.read("*", .cacheOnly)[0]["title"] == "Theirs")
    #expect(try scene.a.conflicts.isEmpty && scene.a.client.pendingMutationList().isEmpty)
  }

  @Test("different columns: both survive, without asking anybody")
  func merged() async throws {
    let scene = try await Scene(resolver: { _ in
      Issue.record("asked")
      return .hold
    })
    try await scene.a.offline { $0.update(["done": true]).eq("id", value: scene.id) }
    _ = try await scene.b.tasks.update(["title": "Theirs"]).eq("id", value: scene.id).execute()
    #expect(Counts(try await scene.a.sync()) == Counts(synced: 1))
    #expect(try scene.world.rows()[0]["done"] == true && scene.title() == "Theirs")
  }

  @Test("writes queued one after another do not conflict with each other")
  func chained() async throws {
    let scene = try await Scene()
    for title in ["One", "Two", "Three"] {
      try await scene.a.offline { $0.update(["title": .string(title)]).eq("id", value: scene.id) }
    }
    #expect(Counts(try await scene.a.sync()) == Counts(synced: 3))
    #expect(try scene.title() == "Three")
  }

  @Test("a change elsewhere between two queued writes of one device is met, not passed over")
  func between() async throws {
    let scene = try await Scene()
    try await scene.a.offline { $0.update(["done": true]).eq("id", value: scene.id) }
    try await scene.a.offline { $0.update(["title": "Mine"]).eq("id", value: scene.id) }
    _ = try await scene.b.tasks.update(["title": "Theirs"]).eq("id", value: scene.id).execute()
    #expect(Counts(try await scene.a.sync()) == Counts(synced: 1, conflicted: 1))
    #expect(try scene.title() == "Theirs")
  }

  @Test("an update of a row that was deleted elsewhere is dropped by default, and its row leaves the lists")
  func gone() async throws {
    let scene = try await Scene()
    try await scene.a.offline { $0.update(["title": "Mine"]).eq("id", value: scene.id) }
    _ = try await scene.b.tasks.delete().eq("id", value: scene.id).execute()
    #expect(Counts(try await scene.a.sync()) == Counts(keptServer: 1))
    #expect(try await scene.a.read("*", .cacheOnly).isEmpty)
  }

  @Test("a delete of a row that was edited elsewhere is a conflict; by default it deletes")
  func deleted() async throws {
    let scene = try await Scene()
    try await scene.a.offline { $0.delete().eq("id", value: scene.id) }
    _ = try await scene.b.tasks.update(["title": "Theirs"]).eq("id", value: scene.id).execute()
    #expect(Counts(try await scene.a.sync()) == Counts(synced: 1, resolved: 1))
    #expect(try scene.world.rows().isEmpty)
  }

  @Test("a resolver may send other columns: they are sent against the version it saw")
  func applied() async throws {
    let scene = try await Scene(resolver: { conflict in
      #expect(conflict.base?["title"] == "Buy milk" && conflict.base?["updated_at"]?.stringValue != nil)
      let mine = conflict.local?["title"]?.stringValue ?? ""
      let theirs = conflict.server?["title"]?.stringValue ?? ""
      return .apply(["title": .string("\(theirs) / \(mine)")])
    })
    try await scene.a.offline { $0.update(["title": "Mine"]).eq("id", value: scene.id) }
    _ = try await scene.b.tasks.update(["title": "Theirs"]).eq("id", value: scene.id).execute()
    #expect(Counts(try await scene.a.sync()) == Counts(synced: 1, resolved: 1))
    #expect(try scene.title() == "Theirs / Mine")
  }

  @Test("a report of Realtime never moves the base of a queued write")
  func reported() async throws {
    let scene = try await Scene()
    try await scene.a.offline { $0.update(["title": "Mine"]).eq("id", value: scene.id) }
    _ = try await scene.b.tasks.update(["title": "Theirs"]).eq("id", value: scene.id).execute()
    let row = try scene.world.rows()[0]
    try scene.a.client.applyServerRecord(
      table: "tasks", record: Dictionary(row.members.map { ($0.name, $0.value) }) { first, _ in first })
    #expect(Counts(try await scene.a.sync()) == Counts(conflicted: 1))
    #expect(try scene.title() == "Theirs")
  }

  @Test("a guard from the first send leaves a row that moved queued, and a pass settles it")
  func guardedFirst() async throws {
    let scene = try await Scene()
    _ = try await scene.b.tasks.update(["title": "Theirs"]).eq("id", value: scene.id).execute()
    let outcome = try await scene.a.tasks.update(["title": "Mine"]).eq("id", value: scene.id).guarded().execute()
    #expect(outcome.isQueued)
    await scene.a.allSent()
    #expect(try scene.title() == "Theirs")
    #expect(try scene.a.conflicts.count == 1)
  }
}

@Suite("What the queue records (spec 5)")
struct BaseTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let isGuarded: Bool
    let columns: String?
    let build: @Sendable (TableReference, String) -> WriteBuilder

    init(
      _ name: String, _ isGuarded: Bool, columns: String? = "*",
      _ build: @escaping @Sendable (TableReference, String) -> WriteBuilder
    ) {
      testDescription = name
      self.isGuarded = isGuarded
      self.columns = columns
      self.build = build
    }
  }

  static let cases = [
    Case("an update that pins one key of a cached row", true) { $0.update(["title": "x"]).eq("id", value: $1) },
    Case("a delete that pins one key of a cached row", true) { $0.delete().eq("id", value: $1) },
    Case("another condition beside the key", true) {
      $0.update(["title": "x"]).eq("id", value: $1).eq("done", value: false)
    },
    Case("a list read with the version among its columns", true, columns: "id,updated_at") {
      $0.update(["title": "x"]).eq("id", value: $1)
    },
    Case("a list read without the version", false, columns: "id,title") {
      $0.update(["title": "x"]).eq("id", value: $1)
    },
    Case("a row that no cached list holds", false, columns: nil) { $0.update(["title": "x"]).eq("id", value: $1) },
    Case("a filter that pins no key", false) { table, _ in table.update(["title": "x"]).eq("done", value: false) },
    Case("a filter that names the version", false) {
      $0.update(["title": "x"]).eq("id", value: $1).eq("updated_at", value: "2026-10-18T13:00:00+00:00")
    },
    Case("a key by membership", false) { $0.update(["title": "x"]).in("id", values: [$1]) },
    Case("an upsert", false) { $0.upsert(["id": .string($1), "title": "x"]) },
  ]

  @Test("guards exactly the writes that the chart guards", arguments: cases)
  func recorded(_ test: Case) async throws {
    let world = try World()
    let phone = try await Phone(world, try await world.signUp("a@example.com"))
    let id = key(1).text
    _ = try await phone.tasks.insert(["id": .string(id), "title": "A"]).execute()
    if let columns = test.columns { _ = try await phone.read(columns) }
    let queued = try #require(try await phone.offline { test.build($0, id) })
    #expect((queued.baseVersion != nil) == test.isGuarded)
    if test.isGuarded { #expect(try queued.baseVersion == world.rows()[0]["updated_at"]?.stringValue) }
  }

  @Test("a table without a version column keeps the rule it had: the last write wins")
  func unversioned() async throws {
    let world = try World()
    let session = try await world.signUp("a@example.com")
    let a = try await Phone(world, session, change: { $0.versionColumns = [:] })
    let b = try await Phone(world, session)
    let id = key(1).text
    _ = try await a.tasks.insert(["id": .string(id), "title": "A"]).execute()
    _ = try await a.read()
    let queued = try await a.offline { $0.update(["title": "Mine"]).eq("id", value: id) }
    #expect(queued?.baseVersion == nil)
    _ = try await b.tasks.update(["title": "Theirs"]).eq("id", value: id).execute()
    #expect(Counts(try await a.sync()) == Counts(synced: 1))
    #expect(try world.rows()[0]["title"] == "Mine")
  }
}

extension Phone {
  /// Returns once nothing waits and no pass runs.
  func allSent() async {
    for await status in client.syncStatuses() where status.pendingMutationCount == 0 && !status.isSyncing { return }
  }
}
