import FileWorkspace
import Foundation
import Testing

@testable import tidemark

@Suite("What is shown of photos") struct PhotoOutputTests {
  static let sizes: [(Int64, String)] = [
    (0, "0 B"), (999, "999 B"), (1000, "1 kB"), (1014, "1 kB"), (1459, "1.5 kB"), (9_949, "9.9 kB"), (9_950, "10 kB"),
    (123_456, "123 kB"), (999_499, "999 kB"), (999_500, "1 MB"), (2_000_000, "2 MB"), (5_000_000_000_000, "5 TB"),
  ]

  @Test("sizes are short and rounded", arguments: sizes)
  func size(bytes: Int64, text: String) { #expect(PhotoLines.size(bytes) == text) }

  static let times: [(String, Int?)] = [
    ("90s", 90), ("30m", 1800), ("1h", 3600), ("7d", 604_800), ("0h", nil), ("-1h", nil), ("h", nil), ("1", nil),
    ("1w", nil), ("", nil), ("4000d", nil), ("99999999999999999999d", nil),
  ]

  @Test("a time is a number and a unit", arguments: times)
  func time(text: String, seconds: Int?) { #expect(PhotoLinks.seconds(text) == seconds) }

  static let terminals: [([String: String], Bool)] = [
    (["TERM": "xterm-kitty"], true), (["TERM": "xterm-ghostty"], true),
    (["TERM": "xterm", "KITTY_WINDOW_ID": "1"], true),
    (["TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm"], true), (["TERM": "xterm-256color"], false), ([:], false),
    (["TERM": "dumb", "KITTY_WINDOW_ID": "1"], false), (["TERM": "screen-256color", "KITTY_WINDOW_ID": "1"], false),
    (["TERM": "xterm-kitty", "TMUX": "/tmp/tmux"], false), (["TERM": "xterm-kitty", "STY": "1.tty"], false),
  ]

  @Test("only a terminal that may know the protocol is asked whether it does", arguments: terminals)
  func terminal(environment: [String: String], isAsked: Bool) {
    #expect(Thumbnail.mayBeShown(environment) == isAsked)
  }

  @Test(
    "a picture goes in pieces, the first with all that there is to say, and only the last says that it is",
    arguments: [0, 1, 2, 3, 3_072, 3_073, 10_000])
  func pieces(count: Int) throws {
    let picture = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    let pieces = Thumbnail.sequences(picture).components(separatedBy: "\u{1B}\\").dropLast()
    var text = ""
    for (index, piece) in pieces.enumerated() {
      let more = index == pieces.count - 1 ? "m=0;" : "m=1;"
      let head = "\u{1B}_G" + (index == 0 ? "a=T,f=100,q=2," : "") + more
      #expect(piece.hasPrefix(head))
      let part = piece.dropFirst(head.count)
      #expect(part.count <= 4096)
      text += part
    }
    #expect(Data(base64Encoded: text) == Data(picture))
  }
}
