import LosslessJSON
import OfflineEngine
import Testing

@testable import FileWorkspace

@Suite("Reconcile")
struct ReconcileTests {
  struct Row: CustomTestStringConvertible {
    var says: String
    var input: ReconcileInput
    var steps: [ReconcileStep]
    var testDescription: String { says }

    init(_ says: String, _ input: ReconcileInput, _ steps: [ReconcileStep]) {
      self.says = says
      self.input = input
      self.steps = steps
    }
  }

  private static let mine = RowKey(key(1))
  private static let others = RowKey(key(2))
  private static let b: JSONObject = ["title": "b", "notes": "n"]
  private static let f: JSONObject = ["title": "f", "notes": "n"]
  private static let r: JSONObject = ["title": "b", "notes": "r"]
  private static let clash: JSONObject = ["title": "r", "notes": "n"]

  private static func base(_ values: JSONObject = b, version: String? = "1", written: RowKey? = mine) -> FileBase {
    FileBase(key: mine, values: values, version: version, writtenKey: written)
  }

  private static func file(_ values: JSONObject, _ key: RowKey? = mine) -> FileReading {
    .row(FileRow(values: values, key: key))
  }

  private static func row(_ values: JSONObject, _ version: String? = "1") -> RowReading {
    .present(values: values, version: version)
  }

  static let rows: [Row] = [
    Row("b b b: nothing", ReconcileInput(base: base(), file: file(b), row: row(b)), []),
    Row(
      "b f b: an update of the changed columns", ReconcileInput(base: base(), file: file(f), row: row(b)),
      [.update(columns: ["title": "f"])]),
    Row(
      "b b r: the file is rewritten", ReconcileInput(base: base(), file: file(b), row: row(r, "2")),
      [.writeFile(values: r, version: "2")]),
    Row(
      "b b r while an editor has the file: it waits",
      ReconcileInput(base: base(), file: file(b), row: row(r, "2"), mayWrite: false), []),
    Row(
      "b b b at another version: only remembered", ReconcileInput(base: base(), file: file(b), row: row(b, "2")),
      [.recordBase(base(version: "2"))]),
    Row(
      "b f r in other columns: both, still guarded on the base",
      ReconcileInput(base: base(), file: file(f), row: row(r, "2")),
      [
        .update(columns: ["title": "f"]), .writeFile(values: ["title": "f", "notes": "r"], version: "1"),
      ]),
    Row(
      "b f r in the same column: the update, which will meet the change",
      ReconcileInput(base: base(), file: file(f), row: row(clash, "2")), [.update(columns: ["title": "f"])]),
    Row("b absent b: a delete", ReconcileInput(base: base(), file: .absent, row: row(b)), [.delete]),
    Row("b absent r: a delete, guarded", ReconcileInput(base: base(), file: .absent, row: row(r, "2")), [.delete]),
    Row("b absent, row gone: forgotten", ReconcileInput(base: base(), file: .absent, row: .gone), [.forget]),
    Row(
      "b absent, refused insert: a delete of it",
      ReconcileInput(base: base(), file: .absent, row: .refusedInsert(entry: 3, values: b)), [.delete]),
    Row("b b gone: to the trash", ReconcileInput(base: base(), file: file(b), row: .gone), [.trashFile]),
    Row(
      "b b gone while an edit is unanswered: left alone until it is",
      ReconcileInput(base: base(), file: file(b), row: .goneUnanswered), []),
    Row(
      "b f gone while an edit is unanswered: the further one waits, too",
      ReconcileInput(base: base(), file: file(f), row: .goneUnanswered), []),
    Row(
      "b absent, row gone while an edit is unanswered: left alone until it is",
      ReconcileInput(base: base(), file: .absent, row: .goneUnanswered), []),
    Row(
      "— f with the id of a row that is gone while an edit is unanswered: a problem",
      ReconcileInput(base: nil, file: file(f), row: .goneUnanswered), [.problem(.deletedKey(mine))]),
    Row(
      "b f gone: an edit that is held", ReconcileInput(base: base(), file: file(f), row: .gone),
      [.holdEdit(columns: ["title": "f"])]),
    Row(
      "— f without id: an insert under a new key", ReconcileInput(base: nil, file: file(f, nil), row: .unknown),
      [.insert(values: f, key: nil)]),
    Row(
      "— f without id that lay elsewhere: a move",
      ReconcileInput(base: nil, file: file(f, nil), row: .unknown, owner: .absent(path: "tasks/a.json")),
      [.moveFrom(path: "tasks/a.json")]),
    Row(
      "— f with an id that is unknown: an insert under it", ReconcileInput(base: nil, file: file(f), row: .unknown),
      [.insert(values: f, key: mine)]),
    Row(
      "— f with the id of a deleted row: a problem", ReconcileInput(base: nil, file: file(f), row: .gone),
      [.problem(.deletedKey(mine))]),
    Row(
      "— f with the id of a row whose delete is sent: a problem",
      ReconcileInput(base: nil, file: file(f), row: .deletedHere(mayBeSent: true)), [.problem(.deletedKey(mine))]),
    Row(
      "— f with the id of a row whose delete is not sent: the delete is taken back",
      ReconcileInput(base: nil, file: file(f), row: .deletedHere(mayBeSent: false)), [.takeBackDelete(mine)]),
    Row(
      "— f with the id of another file: a copy",
      ReconcileInput(base: nil, file: file(f), row: row(b), owner: .present(path: "tasks/a.json")),
      [.insert(values: f, key: nil)]),
    Row(
      "— f with the id of a file that is gone: a move",
      ReconcileInput(base: nil, file: file(f), row: row(b), owner: .absent(path: "tasks/a.json")),
      [.moveFrom(path: "tasks/a.json")]),
    Row(
      "— f equal to its row: just remembered", ReconcileInput(base: nil, file: file(f), row: row(f)),
      [.recordBase(base(f))]),
    Row(
      "— f different from its row: nothing can judge", ReconcileInput(base: nil, file: file(f), row: row(clash)),
      [.holdDifference(key: mine, columns: ["title": "f"])]),
    Row(
      "— f with a refused insert: it is tried again",
      ReconcileInput(base: nil, file: file(f), row: .refusedInsert(entry: 3, values: b)),
      [.retryInsert(entry: 3, values: f)]),
    Row(
      "b f without id: the same row", ReconcileInput(base: base(), file: file(f, nil), row: row(b)),
      [.update(columns: ["title": "f"])]),
    Row(
      "b f without id that lay elsewhere as another row's file: a rename of that row",
      ReconcileInput(base: base(), file: file(f, nil), row: row(b), owner: .absent(path: "tasks/o.json")),
      [.moveFrom(path: "tasks/o.json")]),
    Row(
      "b f with the id of another row whose path is gone: a rename of that row",
      ReconcileInput(
        base: base(), file: file(f, others), row: row(b), otherRow: row(f), owner: .absent(path: "tasks/o.json")),
      [.moveFrom(path: "tasks/o.json")]),
    Row(
      "b f with the id of another row whose file is there: an update of this path's row",
      ReconcileInput(
        base: base(), file: file(f, others), row: row(b), otherRow: row(f), owner: .present(path: "tasks/o.json")),
      [.update(columns: ["title": "f"])]),
    Row(
      "b f with an id unknown to everyone: a problem",
      ReconcileInput(base: base(), file: file(f, others), row: row(b)), [.problem(.foreignKey(others))]),
    Row(
      "b f with the id that its copy still shows: its own row",
      ReconcileInput(base: base(written: others), file: file(f, others), row: row(b)),
      [.update(columns: ["title": "f"])]),
    Row("b unreadable b: left alone", ReconcileInput(base: base(), file: .unreadable, row: row(b)), []),
    Row("b unreadable r: the change waits", ReconcileInput(base: base(), file: .unreadable, row: row(r, "2")), []),
    Row("b unreadable gone: left alone", ReconcileInput(base: base(), file: .unreadable, row: .gone), []),
    Row("— unreadable: left alone", ReconcileInput(base: nil, file: .unreadable, row: .unknown), []),
    Row(
      "— absent r: the row gets its file", ReconcileInput(base: nil, file: .absent, row: row(r)),
      [
        .writeFile(values: r, version: "1")
      ]),
    Row("— absent —: nothing", ReconcileInput(base: nil, file: .absent, row: .unknown), []),
    Row(
      "b f, its insert was dropped: offered again", ReconcileInput(base: base(), file: file(f), row: .unknown),
      [
        .insert(values: f, key: mine)
      ]),
    Row("b b, its insert was dropped: the file stays", ReconcileInput(base: base(), file: file(b), row: .unknown), []),
    Row(
      "b f, its insert was refused: tried again with all that the file says",
      ReconcileInput(base: base(), file: file(f), row: .refusedInsert(entry: 3, values: ["title": "b"])),
      [.retryInsert(entry: 3, values: f)]),
    Row(
      "b b, its insert was refused: nothing until it is saved",
      ReconcileInput(base: base(), file: file(b), row: .refusedInsert(entry: 3, values: b)), []),
    Row(
      "a member that is absent says nothing",
      ReconcileInput(base: base(), file: file(["title": "b"]), row: row(b)), []),
    Row(
      "null clears a column", ReconcileInput(base: base(), file: file(["title": "b", "notes": nil]), row: row(b)),
      [.update(columns: ["notes": nil])]),
    Row(
      "null in a column that was never there says nothing",
      ReconcileInput(base: base(["title": "b"]), file: file(["title": "b", "notes": nil]), row: row(["title": "b"])),
      []),
    Row(
      "a value that the server filled in is only remembered",
      ReconcileInput(base: base(["title": "b"]), file: file(["title": "b"]), row: row(b)), [.recordBase(base())]),
    Row(
      "a column that the file shows and the row does not say yet stays known",
      ReconcileInput(base: base(), file: file(b), row: row(["title": "b"])), []),
  ]

  @Test("every row of the table", arguments: rows)
  func everyRow(row: Row) {
    #expect(reconcile(row.input) == row.steps)
  }
}
