import LosslessJSON

/// An error as PostgREST answers it.
struct RestError: Error {
  let status: Int
  let code: String
  let message: String
  var details: String?
  /// Details that are no text; they stand in the place of `details`.
  var structuredDetails: JSONValue?
  var hint: String?
  /// Further fields of the answer.
  var fields: [(name: String, value: String)] = []
  /// Whether `Proxy-Status` names the code; PostgREST leaves it out where an answer turns into an error late.
  var namesCode = true

  init(
    _ status: Int, _ code: String, _ message: String, details: String? = nil, hint: String? = nil,
    fields: [(name: String, value: String)] = []
  ) {
    self.status = status
    self.code = code
    self.message = message
    self.details = details
    self.hint = hint
    self.fields = fields
  }

  /// An error of the database, with the status that PostgREST chooses for its code.
  init(_ fault: DatabaseFault, as role: Role) {
    let status = Self.status(of: fault, as: role)
    self.init(
      status, fault.code, fault.message, details: fault.details, hint: fault.hint,
      fields: status == 401 ? [("WWW-Authenticate", "Bearer")] : status == 503 ? [("Retry-After", "0")] : [])
  }

  /// A query string that cannot be read.
  static func unreadable(_ what: String, _ text: String, at place: Int, details: String) -> RestError {
    RestError(400, "PGRST100", "\"failed to parse \(what) (\(text))\" (line 1, column \(place + 1))", details: details)
  }

  /// A token that cannot be trusted.
  static func badToken(_ code: String, _ message: String, details: String? = nil) -> RestError {
    let challenge = "Bearer error=\"invalid_token\", error_description=\"\(message)\""
    return RestError(401, code, message, details: details, fields: [("WWW-Authenticate", challenge)])
  }

  /// Something of PostgREST that the stand-in does not do.
  static func notImplemented(_ what: String) -> RestError {
    RestError(
      400, "PGRST127", "Feature not implemented", details: "The stand-in server does not do \(what).",
      hint: "Use a Supabase project or PostgREST itself for it.")
  }

  /// The answer, with the body's members in PostgREST's order.
  var answer: StandInAnswer {
    var body: [UInt8] = []
    append("{\"code\":", code, to: &body)
    if let structuredDetails {
      body.append(contentsOf: ",\"details\":".utf8)
      body.append(contentsOf: structuredDetails.serializedBytes())
    } else {
      append(",\"details\":", details, to: &body)
    }
    append(",\"hint\":", hint, to: &body)
    append(",\"message\":", message, to: &body)
    body.append(UInt8(ascii: "}"))
    return StandInAnswer(
      status: status,
      fields: [("Content-Type", "application/json; charset=utf-8")]
        + (namesCode ? [("Proxy-Status", "PostgREST; error=\(code)")] : []) + fields,
      body: body)
  }

  private func append(_ name: String, _ text: String?, to body: inout [UInt8]) {
    body.append(contentsOf: name.utf8)
    if let text { JSONText.append(text, to: &body) } else { body.append(contentsOf: "null".utf8) }
  }

  /// The table of PostgREST's documentation, "Status codes"; the first match counts.
  private static func status(of fault: DatabaseFault, as role: Role) -> Int {
    switch fault.code {
    case let code where code.hasPrefix("PT") && Int(code.dropFirst(2)).map({ (200...599).contains($0) }) == true:
      Int(code.dropFirst(2)) ?? 500
    case "42501": role == .anon ? 401 : 403
    case "23503", "23505": 409
    case "42883", "42P01": 404
    case "42P17": 500
    case "21000": fault.message.hasSuffix("requires a WHERE clause") ? 400 : 500
    case "22023": fault.message.hasPrefix("role ") ? 401 : 400
    case "25006": 405
    case "P0001": 400
    case "53400": 500
    case "57P01": 503
    default:
      switch fault.code.prefix(2) {
      case "08", "53": 503
      case "09", "25", "2D", "38", "39", "3B", "40", "54", "55", "57", "58", "F0", "HV", "P0", "XX": 500
      case "0L", "0P", "28": 403
      default: 400
      }
    }
  }
}
