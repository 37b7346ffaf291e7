import FoundationEssentials

/// When a photo was taken, as its row says it.
struct PhotoTime: Sendable, Hashable {
  let secondsSince1970: Int64

  /// Reads RFC 3339, as PostgreSQL writes a `timestamptz`; nil for anything else.
  init?(_ text: String) {
    let style = Date.ISO8601FormatStyle(includingFractionalSeconds: text.contains("."))
    guard let date = try? style.parse(text.replacing(" ", with: "T")) else { return nil }
    secondsSince1970 = Int64(date.timeIntervalSince1970.rounded(.down))
  }

  /// The time as a file's; nil within the first day of 1970, by which copy tools mark what is not whole.
  var fileTime: FileTime? {
    (0..<86_400).contains(secondsSince1970) ? nil : FileTime(seconds: secondsSince1970, nanoseconds: 0)
  }
}
