import LosslessJSON
import Testing

@testable import OfflineEngine

@Suite("Cached rows and the overlay")
struct OverlayTests {
  private static let key = Desk.key

  @Test("queued writes are laid over the server's row in their order")
  func overlaid() throws {
    let desk = try Desk()
    try desk.cache()
    try desk.rename(["title": "B"])
    try desk.rename(["title": "C", "done": true])
    let row = try desk.client.read { try $0.row("tasks", Self.key) }
    #expect(row.values == Desk.row("C", done: true, t1))
    #expect(row.server?.values == Desk.row("Buy milk", t1))
    #expect(row.pending.count == 2)
    try desk.delete()
    #expect(try desk.client.read { try $0.row("tasks", Self.key) }.values == nil)
    #expect(try desk.client.read { try $0.row("tasks", Self.key) }.isGone == false)
    try desk.insert()
    #expect(try desk.client.read { try $0.row("tasks", Self.key) }.values == ["id": 42, "title": "Buy milk"])
  }

  @Test("a row that the server never showed has no overlay of an update")
  func unknownRow() throws {
    let desk = try Desk()
    try desk.rename()
    let row = try desk.client.read { try $0.row("tasks", Self.key) }
    #expect(row.values == nil && row.server == nil && !row.isGone)
  }

  @Test("an answer that holds parts of a row does not vouch for the others")
  func partialAnswer() throws {
    let desk = try Desk()
    try desk.cache()
    let answer: JSONObject = ["id": 42, "updated_at": .string(t3), "title": "C"]
    try desk.client.transaction { try $0.mergeAnswer(Desk.tasks, Self.key, answer, guardedWith: t2) }
    #expect(try desk.cached?.isStale == true)
    #expect(try desk.cached?.version == nil)
  }

  @Test("an answer at the row's own version makes a whole row, to be read again where no cursor shows what else moved")
  func wholeAnswer() throws {
    let desk = try Desk()
    let answer: JSONObject = ["id": 42, "updated_at": .string(t3), "title": "C"]
    var table = Desk.tasks
    for cursor in ["updated_at", nil] {
      table.cursorColumn = cursor
      try desk.cache()
      try desk.client.transaction { [table] in try $0.mergeAnswer(table, Self.key, answer, guardedWith: t1) }
      #expect(try desk.cached == CachedRow(values: Desk.row("C", t3), version: t3, isStale: cursor == nil))
    }
    try desk.client.transaction { [table] in
      try $0.mergeAnswer(table, Self.key, Desk.row("D", t2), guardedWith: t3)
    }
    #expect(try desk.cached == CachedRow(values: Desk.row("D", t2), version: t2, isStale: false))
  }

  @Test("changes are noted once a row, and a row that is as it was is none")
  func changes() throws {
    let desk = try Desk()
    try desk.cache()
    let changed = { try desk.client.read { try $0.changedKeys("tasks", limit: 10) } }
    var keys = try changed()
    #expect(keys == ["42"])
    try desk.client.transaction { try $0.clearChange("tasks", "42") }
    try desk.cache()
    keys = try changed()
    #expect(keys.isEmpty)
    try desk.cache(Desk.row("B", t2))
    try desk.client.transaction { try $0.setGone("tasks", Self.key) }
    keys = try changed()
    #expect(keys == ["42"])
    #expect(try desk.client.read { try $0.cachedRowCount("tasks") } == 0)
    #expect(try desk.client.read { try $0.row("tasks", Self.key) }.isGone)
  }

  @Test("a failed transaction leaves nothing")
  func rollsBack() throws {
    struct Failed: Error {}
    let desk = try Desk()
    #expect(throws: Failed.self) {
      try desk.client.transaction { transaction in
        try transaction.enqueue(.insert(into: "tasks", key: Self.key, values: ["id": 42]))
        throw Failed()
      }
    }
    #expect(try desk.pending.isEmpty)
  }

  @Test("keys of one and of several columns have one text each")
  func keys() {
    let table = TableDescription(name: "t", keyColumns: ["a", "b"], columns: [])
    #expect(table.key(of: ["a": 1, "b": "x"]) == RowKey([1, "x"]))
    #expect(table.key(of: ["a": 1, "b": nil]) == nil)
    #expect(RowKey([1, "x"]).text == #"[1,"x"]"#)
    #expect(RowKey([1]).text == "1")
    #expect(RowKey("x").text == "x")
  }
}
