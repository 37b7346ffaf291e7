import LosslessJSON

/// What a service of the project said when it refused.
///
/// Its description leaves out everything that can hold a row's value or a filter's: details, hint, and the message of
/// a value that did not fit. The members hold them, for the one place that shows a person their own refused write.
public struct ServerError: Error, Sendable, Hashable {
  /// The HTTP status.
  public var status: Int
  /// PostgREST's code (`PGRST205`), the database's (`23514`) or Auth's (`weak_password`).
  public var code: String
  /// The sentence of the service; empty where an answer to HEAD had no room for one.
  public var message: String
  /// More about it; text that is not a string is JSON.
  public var details: String?
  /// What the service proposes.
  public var hint: String?

  /// Makes an error of a service.
  public init(status: Int, code: String, message: String, details: String? = nil, hint: String? = nil) {
    self.status = status
    self.code = code
    self.message = message
    self.details = details
    self.hint = hint
  }
}

extension ServerError: CustomStringConvertible, CustomReflectable {
  /// Status, code and, where no value can be in it, the message.
  public var description: String {
    let text = PrintableText.of(sentence ?? message)
    return "HTTP \(status), \(PrintableText.of(code))" + (text.isEmpty ? "" : ": \(text)")
  }

  /// Shows what the description shows, so that no dump holds a value.
  public var customMirror: Mirror { Mirror(self, children: ["error": description]) }

  /// Our own words for errors whose messages quote a value; nil where the service's message is safe.
  private var sentence: String? {
    // Class 22 is "data exception": `invalid input syntax for type uuid: "…"`. PGRST100 quotes the filter.
    if code == "PGRST100" { return "the server could not read the query" }
    guard code.utf8.count == 5, code.hasPrefix("22") else { return nil }
    return switch code {
    case "22001": "a value is too long for its column"
    case "22003": "a number is out of range for its column"
    case "22007", "22008": "a value is not a date or time"
    case "22P02": "a value does not fit the type of its column"
    default: "a value does not fit its column"
    }
  }
}
