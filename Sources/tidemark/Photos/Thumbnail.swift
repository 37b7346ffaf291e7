import Glibc
import Images

/// A small picture in a terminal that speaks the graphics protocol of kitty
/// (https://sw.kovidgoyal.net/kitty/graphics-protocol); others get nothing.
enum Thumbnail {
  /// The escape sequences that show a photo, or `nil` where they would not show one.
  ///
  /// - Parameter path: The photo's file.
  static func text(of path: String, in context: CommandContext) async throws -> String? {
    guard mayBeShown(context.terminal, context.environment), let terminal = AskedTerminal(), terminal.showsPictures()
    else { return nil }
    let rendition = ImageRendition(width: 320, height: 240, resize: .contain, format: .png)
    // A photo that cannot be made small is still told of in words.
    guard let picture = try? rendition.make(from: path) else { return nil }
    return sequences(picture.bytes)
  }

  /// Whether it is worth asking: both ends are a terminal, and nothing in between would swallow what is asked.
  static func mayBeShown(_ terminal: Terminal, _ environment: [String: String]) -> Bool {
    guard !terminal.isJSON, isatty(STDIN_FILENO) == 1, isatty(STDOUT_FILENO) == 1 else { return false }
    return mayBeShown(environment)
  }

  /// Whether the environment speaks of a terminal that may know the protocol.
  static func mayBeShown(_ environment: [String: String]) -> Bool {
    let name = environment["TERM", default: ""]
    // Multiplexers answer for themselves, and draw over what they do not know of.
    if name.isEmpty || name == "dumb" || name.hasPrefix("screen") || name.hasPrefix("tmux") { return false }
    if !environment["TMUX", default: ""].isEmpty || !environment["STY", default: ""].isEmpty { return false }
    let program = environment["TERM_PROGRAM", default: ""].lowercased()
    return name.contains("kitty") || name.contains("ghostty") || environment["KITTY_WINDOW_ID"] != nil
      || ["kitty", "ghostty", "wezterm", "konsole"].contains(program) || environment["KONSOLE_VERSION"] != nil
  }

  /// The sequences that transmit and show a PNG, in pieces of at most 4,096 characters of Base64.
  static func sequences(_ png: [UInt8]) -> String {
    let text = Array(base64(png).utf8)
    var result = ""
    var place = 0
    repeat {
      let piece = text[place..<min(place + 4096, text.count)]
      let head = place == 0 ? "a=T,f=100,q=2," : ""
      place += piece.count
      result += "\u{1B}_G\(head)m=\(place < text.count ? 1 : 0);\(String(decoding: piece, as: UTF8.self))\u{1B}\\"
    } while place < text.count
    return result
  }

  private static func base64(_ bytes: [UInt8]) -> String {
    let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count + 2) / 3 * 4)
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let group = bytes[start..<min(start + 3, bytes.count)]
      let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
      for index in 0..<4 {
        text.append(index <= group.count ? letters[bits >> (18 - 6 * index) & 63] : UInt8(ascii: "="))
      }
    }
    return String(decoding: text, as: UTF8.self)
  }
}

/// The terminal on standard input and output, switched so that its answers can be read; as it was, when this goes.
private final class AskedTerminal {
  private var before = termios()

  init?() {
    guard tcgetattr(STDIN_FILENO, &before) == 0 else { return nil }
    var asked = before
    asked.c_lflag &= ~tcflag_t(ECHO | ICANON)
    guard tcsetattr(STDIN_FILENO, TCSANOW, &asked) == 0 else { return nil }
  }

  deinit { tcsetattr(STDIN_FILENO, TCSAFLUSH, &before) }

  /// Asks whether it knows the protocol, and then what every terminal answers, so that there is an end to wait for.
  func showsPictures() -> Bool {
    let question = Array("\u{1B}_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\u{1B}\\\u{1B}[c".utf8)
    guard question.withUnsafeBytes({ write(STDOUT_FILENO, $0.baseAddress, $0.count) }) == question.count else {
      return false
    }
    var answer: [UInt8] = []
    var waiting = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
    // A terminal answers in a moment, one behind a slow line in a second.
    while answer.last != UInt8(ascii: "c"), answer.count < 1024, poll(&waiting, 1, 1000) > 0 {
      var byte: UInt8 = 0
      guard read(STDIN_FILENO, &byte, 1) == 1 else { break }
      answer.append(byte)
    }
    return String(decoding: answer, as: UTF8.self).contains("_Gi=31;OK")
  }
}
