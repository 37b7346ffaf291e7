import FileWorkspace
import LosslessJSON

/// Photos as lines of text; nothing here touches a disk.
enum PhotoLines {
  /// A line for each photo.
  static func lines(_ photos: [ListedPhoto]) -> [String] {
    TextTable.lines(
      photos.map { photo in
        [mark(photo.state), photo.path, photo.size.map(size) ?? "", state(photo)]
      })
  }

  /// What is known of one photo.
  ///
  /// - Parameter server: What the server said; `null` where it has nothing to say.
  static func info(_ photo: ListedPhoto, _ server: JSONValue, isHere: Bool) -> [String] {
    var rows: [(String, String?)] = [
      ("photo", photo.path), ("of", photo.row), ("state", state(photo).isEmpty ? "in step" : state(photo)),
      ("here", isHere ? photo.size.map(size) ?? "yes" : "no"), ("type", photo.contentType),
      ("pixels", photo.width.flatMap { width in photo.height.map { "\(width) × \($0)" } }), ("taken", photo.takenAt),
    ]
    if server["object"] != nil {
      rows += [
        ("server", serverState(server)), ("etag", server["etag"]?.stringValue),
        ("changed", server["lastModified"]?.stringValue), ("bucket", server["bucket"]?.stringValue),
        ("object", server["object"]?.stringValue), ("public", server["publicURL"]?.stringValue),
        ("signed in", server["authenticatedURL"]?.stringValue),
      ]
    } else {
      rows.append(("server", "nothing is there yet"))
    }
    return TextTable.lines(rows.compactMap { name, value in value.map { [name, $0] } })
  }

  private static func serverState(_ server: JSONValue) -> String {
    switch server["isInBucket"]?.boolValue {
    case true?: "in the bucket" + (server["bytes"]?.int64Value.map { ", \(size($0))" } ?? "")
    case false?: "not in the bucket"
    case nil: "not known: \(server["trouble"]?.stringValue ?? "it was not asked")"
    }
  }

  private static func mark(_ state: ListedPhoto.State) -> String {
    switch state {
    case .same: "-"
    case .waiting, .uploading: "^"
    case .server, .expected, .downloading: "v"
    case .failed, .held, .problem: "!"
    }
  }

  private static func state(_ photo: ListedPhoto) -> String {
    let reason = photo.reason.map { ": \($0)" } ?? ""
    let percent = photo.percent.map { " \($0) %" } ?? ""
    return switch photo.state {
    case .same: photo.reason ?? ""
    case .waiting: "waiting\(reason)"
    case .uploading: "uploading\(percent)"
    case .server: "on the server only\(reason)"
    case .expected: "to be fetched\(reason)"
    case .downloading: "fetching\(percent)"
    case .failed: "failed\(reason)"
    case .held: "held\(reason)"
    case .problem: photo.reason ?? "problem"
    }
  }

  /// Bytes in the largest unit that leaves at least one of it, as files' sizes are mostly shown.
  static func size(_ bytes: Int64) -> String {
    let units = ["kB", "MB", "GB", "TB"]
    guard bytes >= 1000 else { return "\(bytes) B" }
    var value = Double(bytes) / 1000
    var unit = 0
    while value >= 999.5, unit < units.count - 1 {
      value /= 1000
      unit += 1
    }
    let tenths = Int((value * 10).rounded())
    return tenths < 100 && tenths % 10 != 0
      ? "\(tenths / 10).\(tenths % 10) \(units[unit])" : "\(Int(value.rounded())) \(units[unit])"
  }
}
