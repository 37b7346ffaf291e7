import Daemon
import LosslessJSON

/// Links to photos, as the options of a command want them.
struct PhotoLinks {
  static let options: [OptionDescription] = [
    .value("--width", "PIXELS", "A smaller copy of each, made by the server (default: as large as it is)."),
    .value("--expires", "TIME", "How long the link works: 90s, 30m, 12h or 7d (default: 1h)."),
  ]

  private let width: Int?
  private let seconds: Int

  init(_ arguments: Arguments) throws(UsageError) {
    width = try arguments.number("--width", in: 1...2500)
    let text = arguments.value("--expires") ?? "1h"
    guard let seconds = Self.seconds(text) else {
      throw UsageError(message: "option '--expires' needs a time such as 30m, 12h or 7d, not '\(Terminal.safe(text))'")
    }
    self.seconds = seconds
  }

  /// The seconds of a time such as `90s`, up to ten years.
  static func seconds(_ text: String) -> Int? {
    let units: [Character: Int] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
    guard let unit = text.last.flatMap({ units[$0] }), let count = Int(text.dropLast()), count > 0,
      count <= 3650 * 86_400 / unit
    else { return nil }
    return count * unit
  }

  /// Prints a link to each photo.
  func share(_ paths: [String], in context: CommandContext) async throws -> ExitStatus {
    var arguments: JSONObject = [
      "paths": .array(paths.map(JSONValue.string)), "seconds": .integer(Int64(seconds)),
    ]
    if let width { arguments["width"] = .integer(Int64(width)) }
    let answer = try await context.ask(ControlRequest("photos-share", arguments))
    if context.terminal.isJSON {
      context.terminal.print(answer)
    } else {
      for link in answer["links"]?.arrayValue ?? [] {
        context.terminal.print(Terminal.safe(link["url"]?.stringValue ?? ""))
      }
    }
    return .success
  }
}
