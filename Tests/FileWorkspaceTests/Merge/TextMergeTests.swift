import FileWorkspace
import Randomness
import Testing

@Suite struct TextMergeTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var what: String
    var base: String
    var mine: String
    var theirs: String
    /// The merged text; `nil` where changes overlap.
    var merged: String?
    var testDescription: String { what }

    init(_ what: String, _ base: String, _ mine: String, _ theirs: String, _ merged: String?) {
      (self.what, self.base, self.mine, self.theirs, self.merged) = (what, base, mine, theirs, merged)
    }
  }

  static let cases: [Case] = [
    Case("nothing at all", "", "", "", ""),
    Case("nobody changed anything", "a\nb\n", "a\nb\n", "a\nb\n", "a\nb\n"),
    Case("I changed a line", "a\nb\n", "A\nb\n", "a\nb\n", "A\nb\n"),
    Case("they changed a line", "a\nb\n", "a\nb\n", "a\nB\n", "a\nB\n"),
    Case("both made the same change", "a\nb\nc\n", "a\nB\nc\n", "a\nB\nc\n", "a\nB\nc\n"),
    Case("lines with one between them", "a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n", "A\nb\nC\n"),
    Case("lines that touch overlap", "a\nb\n", "A\nb\n", "a\nB\n", nil),
    Case("the same line changed to two", "a\n", "x\n", "y\n", nil),
    Case("a line taken out and one changed elsewhere", "a\nb\nc\nd\n", "b\nc\nd\n", "a\nb\nc\nD\n", "b\nc\nD\n"),
    Case("a line taken out that the other changed", "a\nb\nc\n", "a\nc\n", "a\nB\nc\n", nil),
    Case("both put something at the end", "a\n", "a\nmine\n", "a\ntheirs\n", nil),
    Case("both put the same at the end", "a\n", "a\nb\n", "a\nb\n", "a\nb\n"),
    Case("one before and one behind an unchanged line", "a\n", "0\na\n", "a\nz\n", "0\na\nz\n"),
    Case("all of it new on both sides", "", "x\n", "y\n", nil),
    Case("one side emptied", "a\nb\n", "", "a\nb\n", ""),
    Case("one side emptied what the other changed", "a\nb\n", "", "a\nB\n", nil),
    Case("no newline at the end, and it stays so", "a\nb\nc", "A\nb\nc", "a\nb\nc", "A\nb\nc"),
    Case("I gave the last line its newline, they changed the first", "a\nb\nc", "a\nb\nc\n", "A\nb\nc", "A\nb\nc\n"),
    Case("one line without an end changed on both sides", "a", "b", "c", nil),
    Case("windows line ends stay", "a\r\nb\r\nc\r\n", "A\r\nb\r\nc\r\n", "a\r\nb\r\nC\r\n", "A\r\nb\r\nC\r\n"),
    Case("turning the line ends is a change of every line", "a\nb\nc\n", "a\r\nb\r\nc\r\n", "a\nb\nC\n", nil),
    Case("a lone carriage return ends no line", "a\rb\n", "A\rb\n", "a\rB\n", nil),
    Case(
      "accents written in two ways are two texts", "e\u{301}\nb\nc\n", "\u{E9}\nb\nc\n", "e\u{301}\nb\nC\n",
      "\u{E9}\nb\nC\n"),
  ]

  @Test(arguments: cases) func mergesLineByLine(_ one: Case) {
    let merge = TextMerge(base: one.base, mine: one.mine, theirs: one.theirs)
    #expect(merge.merged.map { Array($0.utf8) } == one.merged.map { Array($0.utf8) })
    #expect(merge.overlaps == (one.merged == nil))
    let other = TextMerge(base: one.base, mine: one.theirs, theirs: one.mine)
    #expect(other.merged.map { Array($0.utf8) } == one.merged.map { Array($0.utf8) })
  }

  @Test func anOverlapShowsItsThreeVersionsAmongWhatIsSettled() {
    let merge = TextMerge(
      base: "one\ntwo\nthree\nfour\nfive\n", mine: "one\nTWO\nthree\nfour\n5\n", theirs: "one\n2\nthree\nfour\nfive\n")
    #expect(
      merge.hunks == [
        .settled("one\n"), .overlapping(base: "two\n", mine: "TWO\n", theirs: "2\n"), .settled("three\nfour\n5\n"),
      ])
    #expect(
      merge.marked(mine: "yours", base: "before", theirs: "server") == """
        one
        <<<<<<< yours
        TWO
        ||||||| before
        two
        =======
        2
        >>>>>>> server
        three
        four
        5

        """)
  }

  // MARK: Any texts

  /// Texts of few different lines, so that they meet in every way; some with other line ends, some without the last.
  private static func texts(_ seed: UInt64) -> (base: String, mine: String, theirs: String) {
    var random = SeededRandom(seed: seed)
    let words = (0..<random.pick([2, 4, 8, 40])).map { "line \($0)" } + [""]
    let ends = random.pick([["\n"], ["\n"], ["\r\n"], ["\n", "\r\n"]])
    func line() -> String { random.pick(words) + random.pick(ends) }
    func cut(_ text: String) -> String {
      guard Int.random(in: 0..<4, using: &random) == 0, text.hasSuffix("\n") || text.hasSuffix("\r\n") else {
        return text
      }
      return String(decoding: text.utf8.dropLast(), as: UTF8.self)
    }
    let lines = (0..<Int.random(in: 0...random.pick([3, 12, 60]), using: &random)).map { _ in line() }
    func changed() -> String {
      var changed = lines
      for _ in 0..<Int.random(in: 0...random.pick([1, 4, 12]), using: &random) {
        let place = Int.random(in: 0...changed.count, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: changed.insert(line(), at: place)
        case 1 where place < changed.count: changed.remove(at: place)
        case 2 where place < changed.count: changed[place] = line()
        default:
          let end = min(changed.count, place + Int.random(in: 0...4, using: &random))
          let moved = Array(changed[place..<end])
          changed.removeSubrange(place..<end)
          changed.insert(contentsOf: moved, at: Int.random(in: 0...changed.count, using: &random))
        }
      }
      return cut(changed.joined())
    }
    return (cut(lines.joined()), changed(), changed())
  }

  @Test func anUnchangedSideGivesTheOtherAndBothAlikeGiveThat() {
    for seed in 0..<UInt64(500 * testEffort) {
      let (base, mine, theirs) = Self.texts(seed)
      for (merge, expected) in [
        (TextMerge(base: base, mine: mine, theirs: base), mine),
        (TextMerge(base: base, mine: base, theirs: theirs), theirs),
        (TextMerge(base: base, mine: mine, theirs: mine), mine),
      ] {
        #expect(merge.merged.map { Array($0.utf8) } == Array(expected.utf8), "seed \(seed)")
        #expect(merge.hunks.count <= 1)
      }
    }
  }

  @Test func theSidesAreWorthTheSame() {
    for seed in 0..<UInt64(500 * testEffort) {
      let (base, mine, theirs) = Self.texts(seed)
      let mirrored = TextMerge(base: base, mine: theirs, theirs: mine).hunks.map { hunk -> TextMerge.Hunk in
        guard case .overlapping(let base, let mine, let theirs) = hunk else { return hunk }
        return .overlapping(base: base, mine: theirs, theirs: mine)
      }
      #expect(TextMerge(base: base, mine: mine, theirs: theirs).hunks == mirrored, "seed \(seed)")
    }
  }

  @Test func everyNewLineOfEitherSideIsInTheHunks() {
    func lines(_ text: String) -> Set<[UInt8]> { Set(text.utf8.split(separator: UInt8(ascii: "\n")).map { Array($0) }) }
    for seed in 0..<UInt64(300 * testEffort) {
      let (base, mine, theirs) = Self.texts(seed)
      let hunks = TextMerge(base: base, mine: mine, theirs: theirs).hunks.map { hunk in
        switch hunk {
        case .settled(let text): text
        case .overlapping(_, let mine, let theirs): mine + "\n" + theirs
        }
      }
      let typed = lines(mine).union(lines(theirs)).subtracting(lines(base))
      #expect(typed.subtracting(lines(hunks.joined(separator: "\n"))).isEmpty, "seed \(seed)")
    }
  }

  @Test func comesOutAsGitMergeFileMakesIt() throws {
    let folder = try TemporaryFolder()
    var overlapping = 0
    for seed in 0..<UInt64(150 * testEffort) {
      let (base, mine, theirs) = Self.texts(seed)
      let merge = TextMerge(base: base, mine: mine, theirs: theirs)
      let git = try GitMergeFile(base: base, mine: mine, theirs: theirs, in: folder)
      #expect(merge.overlaps == (git.overlapCount > 0), "seed \(seed)")
      #expect(Array(merge.marked().utf8) == Array(git.marked.utf8), "seed \(seed)")
      if merge.overlaps { overlapping += 1 }
    }
    #expect(overlapping > 20 * testEffort, "texts that never meet would show little")
  }

  // MARK: Long texts

  /// A mebibyte on each side, in the forms that are the worst for a comparison: without a bound each would take hours.
  @Test(.timeLimit(.minutes(5)), arguments: ["few words", "all different", "the same line", "shifted"])
  func longTextsAreMergedInBoundedTime(
    _ form: String
  ) {
    var random = SeededRandom(seed: 7)
    func text(_ salt: Int) -> String {
      var text = ""
      var line = 0
      while text.utf8.count < 1 << 20 {
        switch form {
        case "few words":
          text += random.pick(["Buy oat milk, two litres\n", "Call the plumber today\n", "Nothing at all\n", "\n"])
        case "all different": text += "line \(line) of \(salt)\n"
        case "the same line": text += "a\n"
        default: text += "line \(line + salt * 1_000)\n"
        }
        line += 1
      }
      return text
    }
    let (base, mine) = (text(0), text(1))
    let merge = TextMerge(base: base, mine: mine, theirs: base)
    #expect(merge.merged.map { Array($0.utf8) } == Array(mine.utf8))
  }
}
