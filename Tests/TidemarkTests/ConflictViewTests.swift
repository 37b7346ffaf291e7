import Foundation
import LosslessJSON
import Testing

@testable import FileWorkspace
@testable import OfflineEngine
@testable import tidemark

/// Conflicts of one table, each in one of the forms that there are.
private enum Sample {
  static let long = """
    Buy oat milk at the corner shop, the one with the green door, and ask whether they still have the large cartons. If \
    they do not, take two small ones. Bring the empty bottles back, too.
    """

  static func conflict(
    _ id: Int64, _ operation: MutationOperation = .update, mine: JSONObject, base: JSONObject?, server: JSONObject?,
    disputed: [String], path: String? = "tasks/buy-oat-milk.json", side: String? = "tasks/buy-oat-milk.mine.json",
    message: String = "others changed the same columns"
  ) -> ConflictEntry {
    let write = Write(
      table: "tasks", operation: operation, key: RowKey("8c1f0f0e-6a55-4a0c-9d0e-2f1b5a3b7a10"), values: mine,
      base: base.map { WriteBase(values: $0, version: "2026-10-18T12:00:00+00:00") }, coalesces: false)
    return ConflictEntry(
      mutation: ConflictedMutation(
        id: id, write: write, createdAt: WallTime(seconds: 1_792_324_800),
        conflictedAt: WallTime(seconds: 1_792_324_860),
        server: server, serverVersion: server.map { _ in "2026-10-18T13:00:00+00:00" }, changedOnServer: disputed,
        conflictingColumns: disputed, message: message), path: path, side: side)
  }

  static let all: [(name: String, entries: [ConflictEntry])] = [
    (
      "short",
      [
        conflict(
          3, mine: ["title": "Buy soy milk", "done": true], base: ["title": "Buy oat milk", "done": false],
          server: ["title": "Buy almond milk", "done": false], disputed: ["title"])
      ]
    ),
    (
      "long",
      [
        conflict(
          4,
          mine: [
            "title": "Milk", "notes": .string(long.replacingOccurrences(of: "oat milk", with: "soy cream")),
          ], base: ["title": "Buy milk", "notes": .string(long)],
          server: [
            "title": "Buy milk",
            "notes": .string(
              long.replacingOccurrences(of: "green", with: "blue") + "\nAnd bread:\n- rye\n- wheat\n"),
          ], disputed: ["notes"])
      ]
    ),
    (
      "deleted",
      [
        conflict(
          5, .delete, mine: [:], base: ["title": "Buy oat milk", "notes": .string(long), "done": false],
          server: ["title": "Buy oat milk", "notes": .string(long + " Today."), "done": true], disputed: [],
          side: "tasks/buy-oat-milk.deleted.json", message: "the row was changed by others before your delete")
      ]
    ),
    (
      "gone",
      [
        conflict(
          6, mine: ["title": "Buy soy milk", "notes": .string(long + " Today.")],
          base: ["title": "Buy oat milk", "notes": .string(long)], server: nil, disputed: [],
          message: "the row is gone from the server")
      ]
    ),
    (
      "no-base",
      [
        conflict(
          7, .insert, mine: ["title": "Buy soy milk", "notes": .string(long + " Today.")], base: nil,
          server: ["title": "Buy oat milk", "notes": .string(long)], disputed: ["title", "notes"])
      ]
    ),
    (
      "several",
      [
        conflict(8, mine: ["title": "One"], base: ["title": "Zero"], server: ["title": "Two"], disputed: ["title"]),
        conflict(
          9, mine: ["title": "Three"], base: ["title": .null], server: ["title": "Four"], disputed: ["title"],
          path: nil,
          side: nil),
      ]
    ),
    (
      "hostile",
      [
        conflict(
          10,
          mine: [
            "title": "日本語のタイトル 👩‍👩‍👧 ❤️ e\u{301}\u{301}",
            "notes": .string(
              "\u{1B}[31mred\u{7}\u{202E}gnp.exe\r\n\ttab\u{0}\u{9B}2J end" + String(repeating: "x", count: 90)),
            "tags": ["a", ["b": 1.50]],
          ],
          base: [
            "title": "日本語の題名", "notes": .string("plain\r\n\ttab end" + String(repeating: "x", count: 90)), "tags": [],
          ],
          server: [
            "title": "한국어 제목 e\u{301}", "notes": "שלום עולם, this is a text that is read from right to left in part",
            "tags": ["a", ["b": 2]],
          ], disputed: ["title", "notes", "tags"], path: "tasks/\u{1B}]0;x\u{7}.json", side: nil)
      ]
    ),
  ]
}

@Suite("Conflicts as lines of a terminal")
struct ConflictViewTests {
  @Test("each form of a conflict is laid out as its golden says", arguments: Sample.all.map(\.name), [40, 80, 120])
  func golden(name: String, width: Int) throws {
    let entries = try #require(Sample.all.first { $0.name == name }).entries
    let view = ConflictView(width: width, isColored: false)
    try expectGolden(entries.flatMap { view.lines(of: $0) + [""] }.joined(separator: "\n"), "conflict-\(name)-\(width)")
  }

  @Test("colours take the place of brackets, and end on every line", arguments: ["long", "deleted", "hostile"])
  func colours(name: String) throws {
    let entries = try #require(Sample.all.first { $0.name == name }).entries
    let lines = entries.flatMap { ConflictView(width: 100, isColored: true).lines(of: $0) }
    let shown = lines.map { $0.replacingOccurrences(of: "\u{1B}", with: "\\e") }.joined(separator: "\n") + "\n"
    try expectGolden(shown, "conflict-\(name)-coloured")
    for line in lines {
      let parts = line.components(separatedBy: "\u{1B}[")
      #expect(parts.count == 1 || parts.last?.hasPrefix("0m") ?? false, "\(line)")
    }
  }

  @Test(
    "no line is wider than the terminal, and none holds what could move its cursor", arguments: Sample.all.map(\.name))
  func fits(name: String) throws {
    let entries = try #require(Sample.all.first { $0.name == name }).entries
    for width in [48, 63, 80, 200] {
      for line in entries.flatMap({ ConflictView(width: width, isColored: false).lines(of: $0) }) {
        #expect(line == Terminal.safe(line))
        // The heading is a path and a time of any length; a terminal wraps it.
        guard line.hasPrefix("     ") else { continue }
        #expect(TextWidth.of(line) <= width, "\(line)")
      }
    }
  }

  @Test("what a script reads has the members that the documentation lists, and no others")
  func json() throws {
    let entries = Sample.all.filter { ["short", "deleted", "gone", "no-base"].contains($0.name) }.flatMap(\.entries)
    let json: JSONValue = ["conflicts": .array(entries.map { .object($0.json) })]
    try expectGolden(json.serialized(.pretty) + "\n", "conflicts-json")
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let text = try String(contentsOf: root.appendingPathComponent("Documentation/Conflicts.md"), encoding: .utf8)
    let table = try #require(
      text.components(separatedBy: "## What scripts read").last?.components(separatedBy: "\n## ").first)
    let documented = Set(
      table.split(separator: "\n").filter { $0.hasPrefix("| `") }.compactMap {
        $0.split(separator: "`").dropFirst().first
      })
    var found: Set<Substring> = []
    for entry in entries {
      for (name, value) in entry.json.members {
        found.insert(Substring(name))
        for column in name == "columns" ? value.arrayValue ?? [] : [] {
          found.formUnion((column.objectValue?.names ?? []).map { "columns[].\($0)" })
        }
      }
    }
    #expect(documented == found)
  }
}

@Suite("How wide a text is on a terminal")
struct TextWidthTests {
  @Test(
    "characters take the cells that terminals give them",
    arguments: [
      ("", 0), ("abc", 3), ("é", 1), ("e\u{301}", 1), ("\u{301}", 0), ("日本", 4), ("한", 2),
      ("\u{1112}\u{1161}\u{11AB}", 2),
      ("😀", 2), ("❤\u{FE0F}", 2), ("❤", 1), ("🇩🇪", 4), ("1\u{FE0F}\u{20E3}", 2), ("ｱ", 1), ("Ａ", 2), ("…", 1), ("│", 1),
      ("ะก", 2), ("नि", 2),
    ])
  func width(text: String, cells: Int) { #expect(TextWidth.of(text) == cells) }
}
