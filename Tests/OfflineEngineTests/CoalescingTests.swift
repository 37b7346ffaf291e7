import LosslessJSON
import Randomness
import SupabaseAPI
import Synchronization
import Testing

@testable import OfflineEngine

@Suite("Coalescing")
struct CoalescingTests {
  private static let seen = WriteBase(values: ["title": "A", "notes": "N"], version: t1)

  private static func update(_ values: JSONObject, seen: JSONObject = seen.values, _ version: String? = t1) -> Write {
    .update(
      "tasks", key: Desk.key, values: values, base: WriteBase(values: seen.picking(values.names), version: version),
      coalesces: true)
  }

  private static let insert = Write.insert(into: "tasks", key: Desk.key, values: ["id": 42, "title": "A"])
  private static let delete = Write.delete(from: "tasks", key: Desk.key, base: seen, coalesces: true)

  struct Folding: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let writes: [Write]
    /// What then waits, as operation, values, base values and base version.
    let left: [Write]

    init(_ name: String, _ writes: [Write], _ left: [Write]) {
      testDescription = name
      self.writes = writes
      self.left = left
    }
  }

  static let foldings: [Folding] = [
    Folding(
      "an update joins its unsent insert", [insert, update(["title": "B"]), update(["notes": "x"])],
      [.insert(into: "tasks", key: Desk.key, values: ["id": 42, "title": "B", "notes": "x"])]),
    Folding("a delete cancels its unsent insert", [insert, update(["title": "B"]), delete], []),
    Folding(
      "the newest value wins over the first base",
      [
        update(["title": "B"]), update(["title": "C"], seen: ["title": "B"]),
      ], [update(["title": "C"])]),
    Folding(
      "a new column brings the base of its own save",
      [
        update(["title": "B"]), update(["notes": "M"], seen: ["notes": "N2"], t2),
      ],
      [
        .update(
          "tasks", key: Desk.key, values: ["title": "B", "notes": "M"],
          base: WriteBase(values: ["title": "A", "notes": "N2"], version: t1), coalesces: true)
      ]),
    Folding(
      "a column back at its base drops out",
      [
        update(["title": "B", "notes": "M"]), update(["title": "A"], seen: ["title": "B"]),
      ],
      [
        .update(
          "tasks", key: Desk.key, values: ["notes": "M"],
          base: WriteBase(values: ["title": "A", "notes": "N"], version: t1), coalesces: true)
      ]),
    Folding(
      "nothing left is cancelled",
      [
        update(["title": "B"]), update(["title": "A"], seen: ["title": "B"]),
      ], []),
    Folding(
      "a save after a delete stands by itself", [delete, update(["title": "B"])], [delete, update(["title": "B"])]),
    Folding(
      "a delete after an update stands by itself", [update(["title": "B"]), delete], [update(["title": "B"]), delete]),
    Folding(
      "a guarded write keeps its guard",
      [
        .update("tasks", key: Desk.key, values: ["title": "B"], base: nil), update(["notes": "M"]),
      ], [.update("tasks", key: Desk.key, values: ["title": "B"], base: nil), update(["notes": "M"])]),
    Folding(
      "a write that does not ask for it is not folded",
      [
        update(["title": "B"]), .update("tasks", key: Desk.key, values: ["title": "C"], base: seen),
      ], [update(["title": "B"]), .update("tasks", key: Desk.key, values: ["title": "C"], base: seen)]),
  ]

  @Test("of one row's writes", arguments: foldings)
  func folds(_ folding: Folding) async throws {
    let desk = try Desk()
    try desk.client.transaction { transaction in
      for write in folding.writes { try transaction.enqueue(write) }
    }
    let left = try desk.pending.map(\.write)
    #expect(left == folding.left)
    #expect(left.map { $0.base?.version } == folding.left.map { $0.base?.version })
  }

  @Test(
    "is blocked by an insert or delete that was queued behind, not by an update",
    arguments: [
      (MutationOperation.insert, 3), (.delete, 3), (.update, 2),
    ])
  func blocked(by operation: MutationOperation, left: Int) throws {
    let desk = try Desk()
    let other = RowKey([43])
    try desk.client.transaction { transaction in
      try transaction.enqueue(Self.update(["title": "B"]))
      switch operation {
      case .insert, .upsert:
        try transaction.enqueue(.insert(into: "photos", key: other, values: ["id": 43, "task_id": 42]))
      case .update: try transaction.enqueue(.update("photos", key: other, values: ["place": 1], base: nil))
      case .delete: try transaction.enqueue(.delete(from: "photos", key: other, base: nil))
      }
      try transaction.enqueue(Self.update(["title": "C"], seen: ["title": "B"]))
    }
    #expect(try desk.pending.count == left)
  }

  @Test("never folds into a write that was sent or is in doubt", arguments: [MutationOperation.insert, .update])
  func inDoubt(_ operation: MutationOperation) async throws {
    let desk = try Desk([.cut])
    try desk.client.transaction { transaction in
      _ = try transaction.enqueue(operation == .insert ? Self.insert : Self.update(["title": "B"]))
    }
    _ = await desk.sync()
    try desk.client.transaction { transaction in
      try transaction.enqueue(Self.update(["title": "C"], seen: ["title": "B"]))
      try transaction.enqueue(Self.update(["title": "D"], seen: ["title": "C"]))
    }
    #expect(try desk.pending.map(\.write.values["title"]) == [operation == .insert ? "A" : "B", "D"])
    try desk.client.transaction { transaction in
      _ = try transaction.enqueue(Self.delete)
    }
    #expect(try desk.pending.count == 3)
  }

  @Test("folds into a write that certainly never left")
  func certainlyUnsent() async throws {
    let desk = try Desk([.offline])
    try desk.client.transaction { _ = try $0.enqueue(Self.update(["title": "B"])) }
    _ = await desk.sync()
    try desk.client.transaction { _ = try $0.enqueue(Self.update(["title": "C"], seen: ["title": "B"])) }
    #expect(try desk.pending.map(\.write) == [Self.update(["title": "C"])])
  }

  @Test("a save while its row's write is on the wire is sent after it")
  func onTheWire() async throws {
    let desk = try Desk()
    desk.http.add([
      ScriptedExchange.Step { _ in
        try? desk.client.transaction { _ = try $0.enqueue(Self.update(["title": "C"], seen: ["title": "B"])) }
        return HTTPResponse(status: 200, body: Array(Desk.json("B", t2).utf8))
      },
      .rows(Desk.json("C", t3)),
    ])
    try desk.client.transaction { _ = try $0.enqueue(Self.update(["title": "B"])) }
    let report = await desk.sync()
    #expect(Counts(report) == Counts(synced: 2))
    #expect(desk.http.lines[1].contains("updated_at=eq.2026-10-18T13%3A04"))
    desk.checkScript()
  }

  @Test("stays with its user")
  func otherUser() throws {
    let desk = try Desk()
    try desk.client.transaction { _ = try $0.enqueue(Self.update(["title": "B"])) }
    try desk.store.transaction(user: "somebody-else") { transaction in
      _ = try transaction.enqueue(Self.update(["title": "C"], seen: ["title": "B"]))
      _ = try transaction.enqueue(.insert(into: "tasks", key: RowKey([43]), values: ["id": 43]))
    }
    try desk.client.transaction { _ = try $0.enqueue(Self.update(["title": "D"], seen: ["title": "B"])) }
    #expect(try desk.pending.map(\.write) == [Self.update(["title": "D"])])
  }

  // MARK: Any sequence

  @Test("any sequence of saves leaves the server as sending them one by one would", arguments: 0..<60 as Range<UInt64>)
  func anySequence(seed: UInt64) async throws {
    var random = SeededRandom(seed: seed)
    let world = try World()
    let session = try await world.signUp("a@example.com")
    let folding = try world.replica(session)
    let single = try world.replica(session)
    let columns = ["title", "notes", "done"]
    let values: [String: [JSONValue]] = [
      "title": ["A", "B", "C"], "notes": [nil, "x", "y"], "done": [true, false],
    ]
    // The folding device and the other work on rows of their own that begin alike.
    let (one, two) = (key(1), key(2))
    let isNew = Bool.random(using: &random)
    for (replica, key) in [(folding, one), (single, two)] {
      try replica.insert(key, ["title": "A"])
      if !isNew {
        _ = await replica.sync()
        try await replica.pull()
      }
    }
    for _ in 0..<Int.random(in: 1...8, using: &random) {
      if Int.random(in: 0..<12, using: &random) == 0 {
        try folding.delete(one, coalesces: true)
        try single.delete(two)
        break
      }
      let shown = try folding.row(one).values ?? [:]
      var edit = JSONObject()
      for column in columns where Bool.random(using: &random) {
        let value = random.pick(values[column] ?? [])
        if shown[column] ?? .null != value { edit[column] = value }
      }
      guard !edit.isEmpty else { continue }
      try folding.update(one, edit, coalesces: true)
      try single.update(two, edit)
      if Int.random(in: 0..<5, using: &random) == 0 { _ = await folding.sync() }
    }
    let reports = [await folding.sync(), await single.sync()]
    for report in reports {
      #expect(report.stoppedBy == nil && report.rejected.isEmpty && report.conflicted.isEmpty)
    }
    let rows = try world.rows()
    let (mine, other) = (rows.first { $0["id"] == one.values[0] }, rows.first { $0["id"] == two.values[0] })
    #expect(mine?.picking(columns) == other?.picking(columns))
  }
}
