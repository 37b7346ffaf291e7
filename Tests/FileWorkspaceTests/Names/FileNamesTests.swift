import Randomness
import Testing

@testable import FileWorkspace

@Suite("Names that Tidemark chooses") struct FileNamesTests {
  static let id = "8c1f0f0e-6a55-4a0c-9d0e-2f1b5a3b7a10"

  private func name(_ title: String?, id: String = Self.id, taken: Set<String> = []) -> String {
    FileNames.fileName(title: title, id: id) { taken.contains($0) }
  }

  static let whole = id + ".json"

  @Test(
    "a title becomes a plain name",
    arguments: [
      ("Buy oat milk", "buy-oat-milk.json"), ("  Call  the plumber!  ", "call-the-plumber.json"),
      ("Don’t forget: Zoë's café", "dont-forget-zoës-café.json"), ("Cafe\u{301}", "café.json"),
      ("日本語 タイトル", "日本語-タイトル.json"), ("हिन्दी", "हिन्दी.json"), ("ΣΊΣΥΦΟΣ", "σίσυφοσ.json"),
      ("Straße 7", "straße-7.json"), ("v1.2 release", "v1-2-release.json"), ("🎉 Party 🎉", "party.json"),
      ("x.mine", "x-mine.json"), ("x.refused.json", "x-refused-json.json"), ("#hashtag", "hashtag.json"),
      (".hidden", "hidden.json"), ("a/b\\c", "a-b-c.json"), ("-rf *", "rf.json"), ("٤٢", "٤٢.json"),
      ("a\u{200D}b\u{202E}c\u{FE0F}", "abc.json"), ("m² of x¹", "m-of-x.json"), ("İstanbul", "i̇stanbul.json"),
      ("4913", "4913.json"), ("tidemark", "tidemark.json"),
    ])
  func plain(_ title: String, _ expected: String) {
    #expect(Array(name(title).utf8) == Array(expected.utf8), "\(name(title))")
  }

  @Test(
    "a hostile title never leaves the folder, and one without letters takes its name from the id",
    arguments: [
      ("..", whole), ("../x", "x.json"), ("/etc/x", "etc-x.json"), ("a\u{0}b", "a-b.json"),
      (".git/hooks/post-checkout", "git-hooks-post-checkout.json"),
      (".tidemark/state.sqlite", "tidemark-state-sqlite.json"),
      ("../../.ssh/authorized_keys", "ssh-authorized-keys.json"), ("CON", "con-5a3b7a10.json"),
      ("nul", "nul-5a3b7a10.json"), ("Com1", "com1-5a3b7a10.json"), ("lpt¹", "lpt.json"), ("con.txt", "con-txt.json"),
      ("", whole), ("...", whole), ("   ", whole), ("🎉", whole), ("\u{301}\u{302}", whole), ("\r\n", whole),
      ("\u{1B}[31mred\u{1B}[0m", "31mred-0m.json"), ("<img onerror=x>", "img-onerror-x.json"), ("a\nb", "a-b.json"),
      ("<<<<<<< HEAD", "head.json"),
    ])
  func hostile(_ title: String, _ expected: String) {
    #expect(name(title) == expected)
    #expect(FileNames.isSafe(name(title)))
  }

  @Test("a row without a title is named by its id, whatever that is")
  func withoutTitle() {
    #expect(name(nil) == Self.whole)
    #expect(name(nil, id: Self.id.uppercased()) == Self.whole)
    #expect(name(nil, id: "42") == "42.json")
    for id in ["../x", "", "CON", "con", "a/b", String(repeating: "x", count: 300), "ÄÖ", "A1", ".", "\u{0}"] {
      let name = name(nil, id: id)
      #expect(FileNames.isSafe(name))
      #expect(FileNames.isRowFile(name))
      #expect(name.utf8.count == 21)
    }
    #expect(name(nil, id: "A1") != name(nil, id: "a1"))
  }

  @Test("a taken name gets the end of the row's id, then all of it")
  func collisions() {
    var taken: Set<String> = ["buy-milk.json"]
    #expect(name("Buy milk", taken: taken) == "buy-milk-5a3b7a10.json")
    taken.insert("buy-milk-5a3b7a10.json")
    #expect(name("Buy milk", taken: taken) == "buy-milk-\(Self.id).json")
    taken.insert("buy-milk-\(Self.id).json")
    #expect(name("Buy milk", taken: taken) == Self.whole)
    taken.insert(Self.whole)
    #expect(name("Buy milk", taken: taken) == "\(Self.id)-2.json")
    #expect(name("Buy milk", id: "7", taken: ["buy-milk.json"]) == "buy-milk-7.json")
  }

  @Test("names are unique whatever their case and composition")
  func folding() {
    #expect(FileNames.folded("Cafe\u{301}.json").utf8.elementsEqual(FileNames.folded("CAFÉ.JSON").utf8))
    #expect(FileNames.folded("STRASSE.json") == FileNames.folded("straße.json"))
    #expect(name("BUY", taken: [FileNames.folded("Buy.json")]) == "buy-5a3b7a10.json")
    #expect(name("Straße", taken: [FileNames.folded("STRASSE.json")]) == "straße-5a3b7a10.json")
  }

  @Test("a long title is cut at a character, 80 bytes at most")
  func long() {
    #expect(name(String(repeating: "a", count: 300)) == String(repeating: "a", count: 75) + ".json")
    #expect(name(String(repeating: "日", count: 300)) == String(repeating: "日", count: 25) + ".json")
    let taken: Set<String> = [String(repeating: "日", count: 25) + ".json"]
    #expect(
      name(String(repeating: "日", count: 300), taken: taken) == String(repeating: "日", count: 22) + "-5a3b7a10.json")
    #expect(name("a" + String(repeating: "\u{301}", count: 300)) == Self.whole)
    #expect(name(String(repeating: "a ", count: 300)).hasSuffix("a.json"))
  }

  @Test("an empty file takes its title from its name")
  func titles() {
    #expect(FileNames.title(fromFileName: "Call the plumber.json") == "Call the plumber")
    #expect(FileNames.title(fromFileName: "buy-milk.json") == "buy-milk")
    #expect(FileNames.title(fromFileName: " a\nb .json") == "a b")
    #expect(FileNames.title(fromFileName: "v1.2.json") == "v1.2")
    #expect(FileNames.title(fromFileName: " .json") == nil)
    #expect(FileNames.title(fromFileName: "x.txt") == nil)
  }

  @Test(
    "what is no safe component",
    arguments: [
      "", ".", "..", "a/b", "a\\b", "a\u{0}", "a\nb", ".x", "#x", "x.", "x ", " x", "CON", "con.json", "Aux.txt",
      "COM¹",
      "LPT9.json", "a:b", "a?b", "a*b", "a\"b", "a<b", "a|b", "e\u{301}", "a\u{202E}b", "a\u{200B}b",
      String(repeating: "x", count: 256),
    ])
  func unsafe(_ name: String) {
    #expect(!FileNames.isSafe(name))
  }

  @Test("what is a safe component", arguments: ["tasks", "a b", "é", "x.json", "com10", "console", "日本", "a-b_c"])
  func safe(_ name: String) {
    #expect(FileNames.isSafe(name))
  }

  @Test("whatever the title and the id, the name is one safe component of a row's file", arguments: UInt64(1)...8)
  func always(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    for _ in 0..<150 {
      let title = random.text(piecesMax: 30)
      let id = random.pick([Self.id, "7", "", random.text(piecesMax: 4), "con"])
      var taken: Set<String> = []
      for round in 0..<5 {
        let name = FileNames.fileName(title: title, id: id) { taken.contains($0) }
        #expect(FileNames.isSafe(name), "\(title.debugDescription)")
        #expect(FileNames.isRowFile(name))
        #expect(name.utf8.count <= FileNames.bytesMax)
        #expect(!name.contains("/"))
        #expect(taken.insert(FileNames.folded(name)).inserted, "round \(round)")
      }
      let photo = FileNames.fileName(title: title, id: id, fileExtension: random.text(piecesMax: 3)) { _ in false }
      #expect(FileNames.isSafe(photo))
    }
  }

  @Test("a title of ASCII gets the name that it gets beside other characters", arguments: UInt64(1)...4)
  func asciiAlike(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let letters = Array("aZ9 -_'.!\t\"#~".unicodeScalars)
    for _ in 0..<200 {
      var title = String.UnicodeScalarView()
      for _ in 0..<random.pick([1, 5, 20, 60]) { title.append(random.pick(letters)) }
      #expect(name(String(title)) == name("🎉" + String(title) + "🎉"), "\(String(title).debugDescription)")
    }
  }

  @Test("20,000 rows of one title get names without long searches")
  func manyAlike() {
    var random = SeededRandom(seed: 5)
    var taken: Set<String> = []
    var asked = 0
    for _ in 0..<20_000 {
      let name = FileNames.fileName(title: "Same", id: random.uuid()) {
        asked += 1
        return taken.contains($0)
      }
      taken.insert(name)
    }
    #expect(taken.count == 20_000)
    #expect(asked < 41_000)
  }
}
