/// What a request's `Prefer` fields ask for.
///
/// Names and values are compared with their case; of two values of one kind the first counts.
struct Preferences {
  enum Return: String {
    case representation
    case minimal
    case headersOnly = "headers-only"
  }

  enum Resolution: String {
    case mergeDuplicates = "merge-duplicates"
    case ignoreDuplicates = "ignore-duplicates"
  }

  enum Missing: String {
    case useDefault = "default"
    case useNull = "null"
  }

  private(set) var returned: Return?
  private(set) var resolution: Resolution?
  private(set) var missing: Missing?
  /// `exact`, `planned` or `estimated`; the stand-in always counts exactly.
  private(set) var count: String?
  private(set) var isStrict: Bool?
  private(set) var rollsBack: Bool?
  private(set) var affectedMax: Int?
  /// The zone in which times without one are read, and all are written.
  private(set) var timeZone: TimeZoneRules?
  /// What was asked for and is not known.
  private(set) var unknown: [String] = []

  init(_ fields: [String]) {
    for entry in fields.flatMap({ $0.split(separator: ",") }) {
      let text = String(decoding: trimmedBytes(String(entry)), as: UTF8.self)
      guard !text.isEmpty else { continue }
      let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
      guard parts.count == 2, take(parts[0], parts[1]) else {
        unknown.append(text)
        continue
      }
    }
  }

  /// Refuses unknown preferences where the request wants them refused.
  func check() throws(RestError) {
    guard isStrict == true, !unknown.isEmpty else { return }
    throw RestError(
      400, "PGRST122", "Invalid preferences given with handling=strict",
      details: "Invalid preferences: \(unknown.joined(separator: ", "))")
  }

  /// What the answer names as done, in PostgREST's order.
  ///
  /// - Parameters:
  ///   - method: Some preferences do nothing for some methods and are not named then.
  ///   - allowsRollback: Whether `tx` is honoured.
  ///   - function: The function that is called, if one is.
  func applied(to method: String, allowsRollback: Bool, function: StoredFunction? = nil) -> String? {
    let method = function == nil ? method : "CALL"
    let writes = method != "GET" && method != "HEAD" && method != "CALL"
    var applied: [String] = []
    if method == "POST", let resolution { applied.append("resolution=\(resolution.rawValue)") }
    if method == "POST" || method == "PATCH", let missing { applied.append("missing=\(missing.rawValue)") }
    if writes, let returned { applied.append("return=\(returned.rawValue)") }
    if let count { applied.append("count=\(count)") }
    if allowsRollback, let rollsBack { applied.append("tx=\(rollsBack ? "rollback" : "commit")") }
    if let isStrict { applied.append("handling=\(isStrict ? "strict" : "lenient")") }
    if let timeZone { applied.append("timezone=\(timeZone.name)") }
    if isStrict == true, method == "PATCH" || method == "DELETE" || method == "CALL", let affectedMax {
      applied.append("max-affected=\(affectedMax)")
    }
    return applied.isEmpty ? nil : applied.joined(separator: ", ")
  }

  /// Takes a preference that is known; a later one of a kind is passed over.
  private mutating func take(_ name: String, _ value: String) -> Bool {
    switch name {
    case "return":
      guard let found = Return(rawValue: value) else { return false }
      returned = returned ?? found
    case "resolution":
      guard let found = Resolution(rawValue: value) else { return false }
      resolution = resolution ?? found
    case "missing":
      guard let found = Missing(rawValue: value) else { return false }
      missing = missing ?? found
    case "count":
      guard ["exact", "planned", "estimated"].contains(value) else { return false }
      count = count ?? value
    case "handling":
      guard value == "strict" || value == "lenient" else { return false }
      isStrict = isStrict ?? (value == "strict")
    case "tx":
      guard value == "rollback" || value == "commit" else { return false }
      rollsBack = rollsBack ?? (value == "rollback")
    case "timezone":
      guard let zone = TimeZoneRules.named(value) else { return false }
      timeZone = timeZone ?? zone
    case "max-affected":
      // A number that is none is passed over even under strict handling.
      affectedMax = affectedMax ?? Int(value)
    default: return false
    }
    return true
  }
}
