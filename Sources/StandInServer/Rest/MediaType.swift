/// The forms of an answer.
enum MediaType: Equatable {
  case array
  case arrayWithoutNulls
  case object
  case objectWithoutNulls
  case csv

  /// What `Content-Type` says.
  var contentType: String {
    switch self {
    case .array: "application/json; charset=utf-8"
    case .arrayWithoutNulls: "application/vnd.pgrst.array+json;nulls=stripped; charset=utf-8"
    case .object: "application/vnd.pgrst.object+json; charset=utf-8"
    case .objectWithoutNulls: "application/vnd.pgrst.object+json;nulls=stripped; charset=utf-8"
    case .csv: "text/csv; charset=utf-8"
    }
  }

  /// Whether the answer is one row and not a list.
  var isSingular: Bool { self == .object || self == .objectWithoutNulls }

  /// Whether members that are null are left out.
  var leavesOutNulls: Bool { self == .arrayWithoutNulls || self == .objectWithoutNulls }

  /// Chooses from the `Accept` fields: the first known of the highest quality.
  static func negotiated(_ accept: [String]) throws(RestError) -> MediaType {
    if accept == ["application/json"] { return .array }
    let ranges = accept.flatMap { $0.split(separator: ",") }.map { MediaRange(String($0)) }
    guard !ranges.isEmpty else { return .array }
    for range in ranges.enumerated().sorted(by: { ($1.element.quality, $0.offset) < ($0.element.quality, $1.offset) }) {
      if let type = range.element.mediaType { return type }
      // PostgREST knows this one and leaves it to an extension of the database, which a plain one lacks.
      if range.element.text == "application/geo+json" {
        throw RestError(
          404, "42883", "function st_asgeojson(record) does not exist",
          hint: "No function matches the given name and argument types. You might need to add explicit type casts.")
      }
    }
    let asked = ranges.map(\.text).joined(separator: ", ")
    throw RestError(406, "PGRST107", "None of these media types are available: \(asked)")
  }
}

/// One entry of an `Accept` field.
private struct MediaRange {
  /// The entry without its quality, as messages show it.
  let text: String
  let mediaType: MediaType?
  let quality: Double

  init(_ entry: String) {
    let parts = entry.split(separator: ";").map { part in
      String(decoding: trimmedBytes(String(part)), as: UTF8.self)
    }
    let name = (parts.first ?? "").lowercased()
    var quality = 1.0
    var kept: [String] = []
    for parameter in parts.dropFirst() {
      if parameter.lowercased().hasPrefix("q=") {
        quality = Double(parameter.dropFirst(2)) ?? 1
      } else {
        kept.append(parameter)
      }
    }
    self.quality = quality
    // Of a plan PostgREST's message says what it is a plan for.
    let isPlan = name.hasPrefix("application/vnd.pgrst.plan") && kept.isEmpty
    text = ([name] + kept).joined(separator: ";") + (isPlan ? "; for=\"application/json\"" : "")
    let strips = kept.contains("nulls=stripped")
    switch name {
    case "*/*", "application/json": mediaType = .array
    case "application/vnd.pgrst.array", "application/vnd.pgrst.array+json":
      mediaType = strips ? .arrayWithoutNulls : .array
    case "application/vnd.pgrst.object", "application/vnd.pgrst.object+json":
      mediaType = strips ? .objectWithoutNulls : .object
    case "text/csv": mediaType = .csv
    default: mediaType = nil
    }
  }
}
