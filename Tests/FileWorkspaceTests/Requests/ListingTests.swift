import LosslessJSON
import Testing

@testable import FileWorkspace
@testable import OfflineEngine

@Suite("What the lists show") struct ListingTests {
  private func conflict(
    _ operation: MutationOperation, _ values: JSONObject, base: JSONObject, server: JSONObject?,
    disputed: [String] = []
  ) -> ConflictedMutation {
    ConflictedMutation(
      id: 1,
      write: Write(
        table: "tasks", operation: operation, key: RowKey("k"), values: values,
        base: WriteBase(values: base, version: nil), coalesces: false),
      createdAt: WallTime(nanoseconds: 0), conflictedAt: WallTime(nanoseconds: 0), server: server, serverVersion: nil,
      changedOnServer: disputed, conflictingColumns: disputed, message: "")
  }

  @Test("an update shows the columns that it sets, and which of them are disputed")
  func update() {
    let columns = ConflictEntry.columns(
      of: conflict(
        .update, ["title": "Mine", "done": true], base: ["title": "Old", "done": false],
        server: ["title": "Theirs", "done": false, "notes": "new"], disputed: ["title"]))
    #expect(columns.map(\.name) == ["title", "done"])
    #expect(columns.map(\.isDisputed) == [true, false])
    #expect(columns[0].base == "Old")
    #expect(columns[0].mine == "Mine")
    #expect(columns[0].theirs == "Theirs")
  }

  @Test("a delete shows what changed meanwhile, and an edit of a gone row that it is gone")
  func deletes() {
    let deleted = ConflictEntry.columns(
      of: conflict(
        .delete, [:], base: ["title": "Old", "done": false], server: ["title": "Theirs", "done": false]))
    #expect(deleted.map(\.name) == ["title"])
    #expect(deleted[0].mine == nil)
    #expect(deleted[0].theirs == "Theirs")
    let gone = ConflictEntry.columns(of: conflict(.update, ["title": "Mine"], base: ["title": "Old"], server: nil))
    #expect(gone[0].theirs == nil)
    #expect(gone[0].isDisputed)
  }

  @Test(
    "a row is found by all words in its name and texts, whatever their case",
    arguments: [(["MILK"], true), (["milk", "oat"], true), (["milk", "soy"], false), ([], true), (["ÉCLAIR"], true)])
  func words(words: [String], isFound: Bool) {
    let row = ListedRow(
      path: "tasks/a.json", key: nil, title: "Buy milk", values: ["title": "Buy milk", "notes": "oat, e\u{301}clair"],
      state: .same)
    #expect(row.holds(words) == isFound)
  }
}
