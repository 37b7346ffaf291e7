import LosslessJSON
import StandInServer

extension SimulatedServer {
  private static let bucket = "photos"

  /// The rows of a user's photos by key.
  func photoRows(of user: String) -> [String: JSONObject] {
    let rows = service("GET", "/rest/v1/task_photos?select=*&user_id=eq.\(user)&limit=100000").json?.arrayValue ?? []
    return Dictionary(rows.compactMap(\.objectValue).map { ($0["id"]?.stringValue ?? "", $0) }) { first, _ in first }
  }

  /// The bytes of a user's objects by key.
  func objects(of user: String) -> [String: [UInt8]] {
    let list = service(
      "POST", "/storage/v1/object/list/\(Self.bucket)", ["prefix": .string("\(user)/"), "limit": 10_000])
    var found: [String: [UInt8]] = [:]
    for object in list.json?.arrayValue ?? [] {
      guard let name = object["name"]?.stringValue else { continue }
      let key = "\(user)/\(name)"
      found[key] = service("GET", "/storage/v1/object/\(Self.bucket)/\(key)").wholeBody
    }
    return found
  }

  /// Changes the row of a photo.
  func updatePhoto(_ id: String, _ columns: JSONObject) {
    _ = service("PATCH", "/rest/v1/task_photos?id=eq.\(id)", .object(columns))
  }

  /// Deletes the row of a photo, then its object.
  func deletePhoto(_ id: String, object: String) {
    _ = service("DELETE", "/rest/v1/task_photos?id=eq.\(id)")
    _ = service("DELETE", "/storage/v1/object/\(Self.bucket)", ["prefixes": [.string(object)]])
  }

  private func service(_ method: String, _ target: String, _ body: JSONValue? = nil) -> StandInAnswer {
    standIn.answer(
      StandInRequest(
        method: method, target: target,
        fields: [
          ("Host", "127.0.0.1"), ("apikey", standIn.serviceKey), ("Authorization", "Bearer \(standIn.serviceKey)"),
          ("Content-Type", "application/json"), ("Prefer", "return=representation"),
        ], body: body.map { Array($0.serialized().utf8) } ?? []))
  }
}

extension StandInAnswer {
  fileprivate var json: JSONValue? { try? JSONValue(parsing: body) }

  /// The body, also where it lies in a file.
  var wholeBody: [UInt8] {
    guard let file else { return body }
    return [UInt8](unsafeUninitializedCapacity: file.count) { buffer, count in
      while count < buffer.count {
        let rest = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[count...])
        let read = file.read(at: count, into: rest)
        if read <= 0 { break }
        count += read
      }
    }
  }
}
