import FileWorkspace
import LosslessJSON
import OfflineEngine
import Testing

@Suite("What the settings say about a conflict") struct PolicyDecisionTests {
  /// Both sides changed title and notes, and neither `done`.
  private static let base: JSONObject = ["title": "Milk", "notes": "one\ntwo\nthree\n", "done": false]

  private static func collection(
    _ general: ConflictPolicy = .hold, title: ConflictPolicy? = nil, notes: ConflictPolicy? = nil
  ) -> CollectionSettings {
    CollectionSettings(
      folder: "tasks", table: "tasks", version: "updated_at", name: "title",
      columns: [
        CollectionColumn("id", .uuid), CollectionColumn("title", .text, conflicts: title),
        CollectionColumn("notes", .text, conflicts: notes), CollectionColumn("done", .boolean),
      ], conflicts: general)
  }

  /// An update as the engine shows it to a resolver.
  private static func update(_ local: JSONObject, _ server: JSONObject?, base: JSONObject = base) -> MutationConflict {
    let row = server.map { base.overlaid(with: $0) }
    let changed = row.map { row in local.names.filter { row[$0] != base[$0] } } ?? []
    return MutationConflict(
      mutationID: 1, table: "tasks", operation: .update, rowKey: RowKey("k"), base: base, local: local,
      server: row, changedOnServer: changed, conflictingColumns: changed.filter { row?[$0] != local[$0] })
  }

  struct Case: Sendable, CustomTestStringConvertible {
    var what: String
    var collection: CollectionSettings
    var conflict: MutationConflict
    var resolution: ConflictResolution
    var mine: [String] = []
    var theirs: [String] = []
    var merged: [String] = []
    var testDescription: String { what }
  }

  private static let mine: JSONObject = ["title": "Oat milk", "notes": "ONE\ntwo\nthree\n"]
  private static let theirs: JSONObject = ["title": "Soy milk", "notes": "one\ntwo\nTHREE\n"]
  private static let overlapping: JSONObject = ["title": "Soy milk", "notes": "1\ntwo\nthree\n"]

  static let cases: [Case] = [
    Case(what: "nothing said: held", collection: collection(), conflict: update(mine, theirs), resolution: .hold),
    Case(
      what: "mine for all: sent as it is", collection: collection(.mine), conflict: update(mine, theirs),
      resolution: .keepLocal, mine: ["title", "notes"]),
    Case(
      what: "theirs for all: the server's row", collection: collection(.theirs), conflict: update(mine, theirs),
      resolution: .keepServer, theirs: ["title", "notes"]),
    Case(
      what: "theirs, and a column that did not conflict is sent",
      collection: collection(.theirs), conflict: update(mine.overlaid(with: ["done": true]), theirs),
      resolution: .apply(["done": true]), theirs: ["title", "notes"]),
    Case(
      what: "one column to hold holds all", collection: collection(.mine, notes: .hold),
      conflict: update(mine, theirs), resolution: .hold),
    Case(
      what: "a column to hold that is not in conflict holds nothing", collection: collection(.mine, notes: .hold),
      conflict: update(["title": "Oat milk"], theirs), resolution: .keepLocal, mine: ["title"]),
    Case(
      what: "a column's word goes before the collection's", collection: collection(.theirs, title: .mine),
      conflict: update(mine, theirs), resolution: .apply(["title": "Oat milk"]), mine: ["title"], theirs: ["notes"]),
    Case(
      what: "lines are merged", collection: collection(.mine, notes: .merge), conflict: update(mine, theirs),
      resolution: .apply(["title": "Oat milk", "notes": "ONE\ntwo\nTHREE\n"]), mine: ["title"], merged: ["notes"]),
    Case(
      what: "lines are merged beside theirs", collection: collection(.theirs, notes: .merge),
      conflict: update(mine, theirs), resolution: .apply(["notes": "ONE\ntwo\nTHREE\n"]), theirs: ["title"],
      merged: ["notes"]),
    Case(
      what: "lines that overlap hold all", collection: collection(.mine, notes: .merge),
      conflict: update(mine, overlapping), resolution: .hold),
    Case(
      what: "a merge that comes out as the server's sends nothing", collection: collection(.hold, notes: .merge),
      conflict: update(["notes": "ONE\ntwo\nthree\n"], ["notes": "ONE\ntwo\nTHREE\n"]), resolution: .keepServer,
      merged: ["notes"]),
    Case(
      what: "a merge that comes out as mine is sent as it is", collection: collection(.hold, notes: .merge),
      conflict: update(["notes": "ONE\ntwo\nTHREE\n"], ["notes": "one\ntwo\nTHREE\n"]), resolution: .keepLocal,
      merged: ["notes"]),
    Case(
      what: "a text that one side took away cannot be merged", collection: collection(.mine, notes: .merge),
      conflict: update(["notes": .null], theirs), resolution: .hold),
    Case(
      what: "two first texts cannot be merged", collection: collection(.mine, notes: .merge),
      conflict: update(["notes": "a\n"], ["notes": "b\n"], base: ["notes": .null]), resolution: .hold),
    Case(
      what: "without what the writer saw nothing is merged", collection: collection(.mine, notes: .merge),
      conflict: update(["notes": "a\n"], ["notes": "b\n"], base: [:]), resolution: .hold),
    Case(
      what: "without what the writer saw neither side is newer", collection: collection(.mine),
      conflict: update(["title": "Oat milk"], ["title": "Soy milk"], base: [:]), resolution: .hold),
    Case(
      what: "both changed it alike: no conflict", collection: collection(),
      conflict: update(["title": "Soy milk"], ["title": "Soy milk"]), resolution: .keepLocal),
    Case(what: "an edit of a gone row: held", collection: collection(), conflict: update(mine, nil), resolution: .hold),
    Case(
      what: "an edit of a gone row, theirs: dropped", collection: collection(.theirs), conflict: update(mine, nil),
      resolution: .keepServer),
    Case(
      what: "an edit of a gone row, mine: not an update any more", collection: collection(.mine),
      conflict: update(mine, nil), resolution: .hold),
    Case(
      what: "an edit of a gone row asks the collection, not its columns",
      collection: collection(.hold, title: .theirs, notes: .theirs), conflict: update(mine, nil), resolution: .hold),
  ]

  @Test("each policy with each outcome", arguments: cases)
  func settled(_ one: Case) {
    let decision = PolicyDecision(one.conflict, one.collection)
    #expect(decision.resolution == one.resolution)
    guard one.resolution != .hold else { return }
    #expect(decision.mine == one.mine)
    #expect(decision.theirs == one.theirs)
    #expect(decision.merged == one.merged)
  }

  @Test(
    "a delete that met a change follows the collection's word",
    arguments: [(ConflictPolicy.hold, ConflictResolution.hold), (.mine, .keepLocal), (.theirs, .keepServer)])
  func delete(policy: ConflictPolicy, resolution: ConflictResolution) {
    let conflict = MutationConflict(
      mutationID: 1, table: "tasks", operation: .delete, rowKey: RowKey("k"), base: Self.base, local: nil,
      server: Self.base.overlaid(with: Self.theirs), changedOnServer: [], conflictingColumns: [])
    #expect(PolicyDecision(conflict, Self.collection(policy, title: .mine)).resolution == resolution)
  }
}
