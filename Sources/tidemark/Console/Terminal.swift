import FoundationEssentials
import Glibc
import LosslessJSON

/// Where a command writes: results to standard output, the rest to standard error.
struct Terminal: Sendable {
  /// Whether results are one JSON document.
  var isJSON = false
  /// Whether standard output is a terminal that takes colour.
  let isColored: Bool
  /// How many cells a line of the result may take: the terminal's, or what `COLUMNS` says, or 80.
  let width: Int

  init(isJSON: Bool, environment: [String: String]) {
    self.isJSON = isJSON
    width = Self.size() ?? environment["COLUMNS"].flatMap(Int.init).flatMap { $0 > 0 ? $0 : nil } ?? 80
    isColored =
      !isJSON && isatty(STDOUT_FILENO) == 1 && environment["NO_COLOR", default: ""].isEmpty
      && environment["TERM"] != "dumb"
  }

  private static func size() -> Int? {
    var size = winsize()
    guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
    return Int(size.ws_col)
  }

  /// A line of the result.
  func print(_ line: String) { Self.write(line + "\n", to: STDOUT_FILENO) }

  /// Lines of the result, written together: a call of the system for each of ten thousand takes longer than making them.
  func print(lines: [String]) {
    if !lines.isEmpty { print(lines.joined(separator: "\n")) }
  }

  /// The result as one JSON document.
  func print(_ json: JSONValue) { print(json.serialized(.pretty)) }

  /// A line for the person, not part of the result.
  func note(_ line: String) { Self.write(line + "\n", to: STDERR_FILENO) }

  /// A question to the person, on standard error without a line's end.
  static func prompt(_ text: String) { write(text, to: STDERR_FILENO) }

  /// A text in bold, where that can be shown.
  func bold(_ text: String) -> String { isColored ? "\u{1B}[1m\(text)\u{1B}[0m" : text }

  /// A text in a muted colour, where that can be shown.
  func dim(_ text: String) -> String { isColored ? "\u{1B}[2m\(text)\u{1B}[0m" : text }

  /// The text with everything escaped that could move a cursor, start a line or turn the reading direction.
  static func safe(_ text: String) -> String {
    // Most texts are plain, and a category takes a look into a table.
    if text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) { return text }
    var shown = ""
    for scalar in text.unicodeScalars {
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned:
        shown += "\\u{\(String(scalar.value, radix: 16))}"
      default: shown.unicodeScalars.append(scalar)
      }
    }
    return shown
  }

  private static func write(_ text: String, to descriptor: Int32) {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let written = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if written < 0 {
        if errno == EINTR { continue }
        return  // Nobody reads any more; there is no one to tell.
      }
      bytes = bytes.dropFirst(written)
    }
  }
}
