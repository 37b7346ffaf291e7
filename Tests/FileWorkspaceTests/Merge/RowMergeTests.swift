import LosslessJSON
import Randomness
import Testing

@testable import FileWorkspace

private func merge(
  _ base: String, _ mine: String, _ theirs: String, collection: CollectionSettings? = nil
) -> (text: String, isClean: Bool)? {
  RowMerge(
    base: Array(base.utf8), mine: Array(mine.utf8), theirs: Array(theirs.utf8),
    markers: ConflictMarkers(mine: "ours", base: "base", theirs: "theirs"), collection: collection
  ).map { (String(decoding: $0.bytes, as: UTF8.self), $0.isClean) }
}

@Suite("Two changes of one row's file, column by column")
struct RowMergeTests {
  static let base = """
    {
      "id": "1",
      "title": "Milk",
      "notes": "one\\ntwo\\nthree",
      "done": false
    }

    """

  private func changed(_ change: (String, String)..., in text: String = base) -> String {
    change.reduce(text) { $0.replacing($1.0, with: $1.1) }
  }

  @Test("different columns never conflict")
  func columns() throws {
    let merged = try #require(
      merge(Self.base, changed(("\"Milk\"", "\"Oat milk\"")), changed(("false", "true"))))
    #expect(merged.text == changed(("\"Milk\"", "\"Oat milk\""), ("false", "true")))
    #expect(merged.isClean)
  }

  @Test("the formatting of the side that changed it stays, whichever it is")
  func formatting() throws {
    let compact = #"{"done":false, "title" : "Milk","id":"1", "$mine": 1, "notes":"one\ntwo\nthree"}"#
    let edited = changed(("\"Milk\"", "\"Oat milk\""))
    for (mine, theirs) in [(compact, edited), (edited, compact)] {
      let merged = try #require(merge(Self.base, mine, theirs))
      #expect(merged.text == compact.replacing("\"Milk\"", with: "\"Oat milk\""))
    }
    let windows = "\u{FEFF}" + Self.base.replacing("\n", with: "\r\n")
    let merged = try #require(
      merge(windows, windows.replacing("Milk", with: "Oat"), windows.replacing("false", with: "true")))
    #expect(merged.text == windows.replacing("Milk", with: "Oat").replacing("false", with: "true"))
  }

  @Test("members come and go with the side that added or removed them, in their places")
  func members() throws {
    let added = changed(("  \"done\"", "  \"$note\": {\"a\": 1},\n  \"done\""))
    let removed = changed(("  \"title\": \"Milk\",\n", ""))
    for (mine, theirs) in [(added, removed), (removed, added)] {
      let merged = try #require(merge(Self.base, mine, theirs))
      #expect(merged.isClean)
      #expect(merged.text == added.replacing("  \"title\": \"Milk\",\n", with: ""))
    }
  }

  @Test("a text changed on both sides is merged line by line where that leaves no doubt")
  func texts() throws {
    let merged = try #require(
      merge(Self.base, changed(("one", "1")), changed(("three", "3"))))
    #expect(merged.text == changed(("one", "1"), ("three", "3")))
    #expect(merged.isClean)
  }

  @Test("what both changed stands there three times, between markers of git")
  func conflict() throws {
    let merged = try #require(
      merge(Self.base, changed(("\"Milk\"", "\"Oat milk\"")), changed(("\"Milk\"", "\"Soy milk\""), ("false", "true"))))
    #expect(!merged.isClean)
    #expect(
      merged.text == """
        {
          "id": "1",
        <<<<<<< ours
          "title": "Oat milk",
        ||||||| base
          "title": "Milk",
        =======
          "title": "Soy milk",
        >>>>>>> theirs
          "notes": "one\\ntwo\\nthree",
          "done": true
        }

        """)
  }

  @Test("a text on one line is broken where a conflict is, and a removed last member takes its comma with it")
  func oneLine() throws {
    let merged = try #require(
      merge(#"{"a": 1, "b": 2, "c": 3}"#, #"{"a": 1, "b": 4, "c": 5}"#, #"{"a": 1, "b": 6}"#))
    #expect(
      merged.text == """
        {"a": 1,
        <<<<<<< ours
          "b": 4
        ||||||| base
          "b": 2
        =======
          "b": 6
        >>>>>>> theirs
        <<<<<<< ours
         , "c": 5
        ||||||| base
         , "c": 3
        =======
        >>>>>>> theirs
        }
        """)
  }

  @Test("files that were added on both sides agree where they say the same, and two rows are never mixed")
  func bothAdded() throws {
    let collection = CollectionSettings(
      folder: "tasks", table: "tasks", columns: [CollectionColumn("id", .uuid), CollectionColumn("title", .text)])
    let one = #"{"id": "8C1F0F0E-6a55-4a0c-9d0e-2f1b5a3b7a10", "title": "Milk"}"#
    let same = try #require(
      merge("", one, #"{"title": "Milk", "id": "8c1f0f0e-6a55-4a0c-9d0e-2f1b5a3b7a10"}"#, collection: collection))
    #expect(same.isClean && same.text == one)
    let other = #"{"id": "00000000-6a55-4a0c-9d0e-2f1b5a3b7a10", "title": "Milk"}"#
    let mixed = try #require(merge("", one, other, collection: collection))
    #expect(!mixed.isClean)
    #expect(mixed.text == "<<<<<<< ours\n\(one)\n||||||| base\n=======\n\(other)\n>>>>>>> theirs\n")
  }

  @Test("texts that are not JSON objects are merged line by line, and bytes that are no text not at all")
  func noObjects() throws {
    let merged = try #require(merge("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n"))
    #expect(merged.text == "A\nb\nC\n" && merged.isClean)
    let half = try #require(merge(Self.base, changed(("Milk", "Oat")), changed(("\"Milk\",", "\"Soy\""))))
    #expect(!half.isClean && half.text.contains("<<<<<<< ours\n  \"title\": \"Oat\",\n"))
    #expect(RowMerge(base: [0x61], mine: [0xFF], theirs: [0xFE]) == nil)
    #expect(RowMerge(base: [0xFE], mine: [0xFF], theirs: [0xFE])?.bytes == [0xFF])
  }

  @Test("a marker is a problem of a row's file, with its place")
  func problem() throws {
    let collection = CollectionSettings(folder: "t", table: "t", columns: [CollectionColumn("id", .text)])
    let text = "\u{FEFF}{\r\n<<<<<<< HEAD\r\n\"id\": \"1\"\r\n=======\r\n\"id\": \"2\"\r\n>>>>>>> other\r\n}"
    let problem = #expect(throws: RowFileProblem.self) { try RowFile.read(Array(text.utf8), collection) }
    #expect(problem?.position.line == 2)
    #expect(problem?.message.contains("conflict marker") ?? false)
  }
}

@Suite("Whatever two people do to a file, its merge loses nothing")
struct RowMergePropertyTests {
  /// Takes one version of everything between markers.
  private func taken(_ side: Int, _ text: String) -> String {
    var taken = ""
    var part: Int?
    let lines = text.replacing("\r\n", with: "\n").split(separator: "\n", omittingEmptySubsequences: false)
    for line in lines.map({ $0 + "\n" }) {
      switch line.prefix(8) {
      case "<<<<<<< ": part = 0
      case "||||||| ": part = 1
      case "=======\n": part = 2
      case ">>>>>>> ": part = nil
      default: if part == nil || part == side { taken += line }
      }
    }
    return String(taken.dropLast())
  }

  private func value(_ random: inout SeededRandom) -> JSONValue {
    random.pick([
      .null, true, 1, 2.5, "", "Milk", "Oat milk", "one\ntwo\nthree", "one\n2\nthree", "1\ntwo\nthree",
      "\"\\ü\u{1F600}",
      ["a", 1], ["k": "v", "l": [1, 2]],
    ])
  }

  private func laidOut(_ members: [(name: String, value: JSONValue)], _ random: inout SeededRandom) -> String {
    let object = JSONValue.object(JSONObject(members))
    switch Int.random(in: 0..<5, using: &random) {
    case 0: return object.serialized()
    case 1: return object.serialized(.oneLine) + "\n"
    case 2: return object.serialized(JSONStyle(indent: "\t", lineEnd: "\r\n")) + "\r\n"
    case 3: return "\u{FEFF}" + object.serialized(.pretty)
    default: return object.serialized(.pretty) + "\n"
    }
  }

  @Test("one version of every conflict, with what was merged, is JSON with that side's values", arguments: 0..<8)
  func sides(seed: Int) throws {
    var random = SeededRandom(seed: UInt64(seed))
    for _ in 0..<150 * testEffort {
      let names = ["id", "title", "notes", "done", "tags", "$own"]
      var versions: [[(name: String, value: JSONValue)]] = []
      let first = names.map { (name: $0, value: $0 == "id" ? .string("1") : value(&random)) }
      for _ in 0..<3 {
        var version = first
        for _ in 0..<Int.random(in: 0...3, using: &random) where !version.isEmpty {
          let place = Int.random(in: 1..<max(2, version.count), using: &random)
          guard version.indices.contains(place) else { continue }
          switch Int.random(in: 0..<5, using: &random) {
          case 0: version.remove(at: place)
          case 1: version.shuffle(using: &random)
          default: version[place].value = version[place].name == "id" ? "1" : value(&random)
          }
        }
        versions.append(version)
      }
      let texts = versions.map { laidOut($0, &random) }
      let objects = versions.map { JSONObject($0) }
      let merge = try #require(
        RowMerge(base: Array(texts[0].utf8), mine: Array(texts[1].utf8), theirs: Array(texts[2].utf8)))
      let text = String(decoding: merge.bytes, as: UTF8.self)
      #expect(merge.isClean == !text.contains("<<<<<<< "))
      for side in [0, 2] {
        let found = try #require(
          try? JSONValue(parsing: taken(side, text)).objectValue, "\(texts)\n\(text)\n\(taken(side, text))")
        for name in names {
          let (base, mine, theirs) = (objects[0][name], objects[1][name], objects[2][name])
          let own = side == 0 ? mine : theirs
          if mine == base { #expect(found[name] == theirs) }
          if theirs == base { #expect(found[name] == mine) }
          if mine != base, theirs != base, mine != theirs, own?.stringValue == nil || base?.stringValue == nil {
            #expect(found[name] == own, "\(name) in\n\(text)")
          }
        }
      }
      // A clean merge is the same whichever side begins.
      if merge.isClean {
        let back = try #require(
          RowMerge(base: Array(texts[0].utf8), mine: Array(texts[2].utf8), theirs: Array(texts[1].utf8)))
        #expect(back.isClean)
        #expect(try JSONValue(parsing: back.bytes) == JSONValue(parsing: merge.bytes))
      }
    }
  }
}
