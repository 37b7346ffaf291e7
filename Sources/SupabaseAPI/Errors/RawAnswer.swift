import LosslessJSON

/// An HTTP answer with what both services look at: its body as JSON, where it is JSON.
struct RawAnswer {
  let response: HTTPResponse
  /// The body, or nil where it is empty or not JSON.
  let json: JSONValue?

  init(_ response: HTTPResponse) {
    self.response = response
    json = response.body.isEmpty ? nil : try? JSONValue(parsing: response.body)
  }

  var status: Int { response.status }

  /// The first of the members that is a text.
  func text(_ names: String...) -> String? {
    names.lazy.compactMap { json?[$0]?.stringValue }.first { !$0.isEmpty }
  }

  /// A member as text, JSON where it is neither a text nor null.
  func details(_ name: String) -> String? {
    guard let value = json?[name], !value.isNull else { return nil }
    return value.stringValue ?? value.serialized()
  }

  /// What is wrong with an answer that is no answer, without any of its text but its kind.
  var oddity: String {
    if (300...399).contains(status) { return "a redirect" }
    if response.body.isEmpty { return "nothing" }
    if let json { return "JSON that a project does not send: \(json.kindName)" }
    let type = response.fields["Content-Type"] ?? ""
    return type.hasPrefix("text/html") ? "an HTML page" : "text that is not JSON"
  }

  var notAnAnswer: SupabaseError {
    .notAnAnswer(status: status, reason: oddity, retryAfter: response.retryAfter)
  }
}
