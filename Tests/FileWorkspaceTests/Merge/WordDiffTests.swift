import Randomness
import Testing

@testable import FileWorkspace

@Suite("What became of a text, word by word")
struct WordDiffTests {
  typealias Piece = WordDiff.Piece

  @Test("words that changed are told from those that stayed")
  func words() {
    #expect(
      WordDiff(from: "Buy oat milk", to: "Buy soy milk").pieces == [
        .kept("Buy "), .removed("oat"), .added("soy"), .kept(" milk"),
      ])
    #expect(WordDiff(from: "same", to: "same").pieces == [.kept("same")])
    #expect(WordDiff(from: "", to: "").pieces.isEmpty)
    #expect(WordDiff(from: "", to: "new").pieces == [.added("new")])
    #expect(WordDiff(from: "old", to: "").pieces == [.removed("old")])
    #expect(WordDiff(from: "a", to: "a\n").pieces == [.kept("a"), .added("\n")])
  }

  @Test("two words that changed one after the other are one change")
  func neighbours() {
    #expect(
      WordDiff(from: "the oat milk now", to: "the soy cream now").pieces == [
        .kept("the "), .removed("oat milk"), .added("soy cream"), .kept(" now"),
      ])
    // A line's end is no mere gap.
    #expect(
      WordDiff(from: "oat\nmilk", to: "soy\ncream").pieces == [
        .removed("oat"), .added("soy"), .kept("\n"), .removed("milk"), .added("cream"),
      ])
  }

  @Test("scripts without spaces are compared character by character")
  func scripts() {
    #expect(
      WordDiff(from: "牛乳を買う", to: "豆乳を買う").pieces == [.removed("牛"), .added("豆"), .kept("乳を買う")])
  }

  @Test("a letter is never torn from its marks, and two spellings of it differ")
  func spellings() {
    #expect(WordDiff(from: "caf\u{E9}", to: "cafe\u{301}").pieces == [.removed("caf\u{E9}"), .added("cafe\u{301}")])
    #expect(WordDiff(from: "a\r\nb", to: "a\nb").pieces == [.kept("a"), .removed("\r\n"), .added("\n"), .kept("b")])
  }

  @Test("kept and removed make the old text, kept and added the new one", arguments: 0..<8)
  func property(seed: Int) {
    var random = SeededRandom(seed: UInt64(seed))
    for _ in 0..<40 * testEffort {
      let old = random.text(piecesMax: 40)
      // Half of the texts share much with the old one.
      var new = random.text(piecesMax: 40)
      if Bool.random(using: &random) {
        var words = WordDiff.words(old).map(String.init)
        for _ in 0..<3 where !words.isEmpty {
          words[Int.random(in: 0..<words.count, using: &random)] = random.pick(["", "x", " ", "\n"])
        }
        new = words.joined()
      }
      let pieces = WordDiff(from: old, to: new).pieces
      let made = { (isIn: (Piece) -> Bool) in Array(pieces.filter(isIn).map(\.text).joined().utf8) }
      #expect(made { if case .added = $0 { false } else { true } } == Array(old.utf8))
      #expect(made { if case .removed = $0 { false } else { true } } == Array(new.utf8))
      for (first, second) in zip(pieces, pieces.dropFirst()) {
        let isInOrder =
          switch (first, second) {
          case (.kept, .kept), (.removed, .removed), (.added, .added), (.added, .removed): false
          default: true
          }
        #expect(isInOrder, "\(pieces)")
      }
      #expect(pieces.allSatisfy { !$0.text.isEmpty })
    }
  }

  @Test("long and very different texts are compared in bounded time")
  func bounded() {
    let old = (0..<20_000).map { "word\($0 % 5_000)" }.joined(separator: " ")
    let new = (0..<20_000).map { "word\(($0 * 7) % 4_999)" }.joined(separator: " ")
    let pieces = WordDiff(from: old, to: new).pieces
    #expect(pieces.filter { if case .removed = $0 { false } else { true } }.map(\.text).joined() == new)
  }
}
