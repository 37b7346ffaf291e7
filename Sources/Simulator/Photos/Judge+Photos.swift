import LosslessJSON
import SupabaseAPI

/// What a request may take from the server, as it was before.
struct EndangeredPhotos {
  /// The rows of the device's user, by key.
  var rows: [String: JSONObject]
  /// Their objects, by key.
  var objects: [String: [UInt8]]
}

extension Judge {
  private static let photoRows = "\(SimulatedServer.origin)/rest/v1/task_photos?"
  private static let storage = "\(SimulatedServer.origin)/storage/v1/"

  /// What is there before a request that may take some of it away; nil for any other.
  func endangeredPhotos(_ request: HTTPRequest) -> EndangeredPhotos? {
    guard world.day.hasPhotos, !["GET", "HEAD"].contains(request.method),
      request.url.hasPrefix(Self.photoRows) || request.url.hasPrefix(Self.storage)
    else { return nil }
    let user = device.user.id
    return EndangeredPhotos(rows: world.server.photoRows(of: user), objects: world.server.objects(of: user))
  }

  /// Looks at what a request took away: a row whose picture nobody removed, an object that a row names, or its bytes.
  func judge(_ request: HTTPRequest, before: EndangeredPhotos) {
    let user = device.user.id
    let (rows, objects) = (world.server.photoRows(of: user), world.server.objects(of: user))
    for (id, row) in before.rows.sorted(by: { $0.key < $1.key }) where rows[id] == nil {
      guard let bytes = row["object_path"]?.stringValue.flatMap({ before.objects[$0] }),
        let number = world.pictures.number(of: bytes)
      else { continue }
      if world.pictures.isUntouched(number) {
        world.complain("\(device.name): the row of picture \(number) is deleted although nobody removed it")
      }
      if let accident = device.photoAccident, accident.rowCount == before.rows.count, accident.pictures.contains(number)
      {
        world.complain("\(device.name): picture \(number), one of many that went at once, is deleted unasked")
      }
    }
    let named = Set(rows.values.compactMap { $0["object_path"]?.stringValue })
    world.pictures.noteNamed(named)
    for (key, bytes) in before.objects.sorted(by: { $0.key < $1.key }) where objects[key] != bytes {
      if objects[key] != nil { world.complain("\(device.name): \(key) got other bytes") }
      if named.contains(key) { world.complain("\(device.name): \(key) is removed although a row names it") }
    }
  }

  /// Whether a refusal is one that Storage gives where nothing is wrong: an object that is not there, or is there already.
  func isExpected(_ answer: HTTPResponse, to request: HTTPRequest) -> Bool {
    guard request.url.hasPrefix(Self.storage), let body = try? JSONValue(parsing: answer.body) else { return false }
    return ["NoSuchKey", "KeyAlreadyExists"].contains(body["code"]?.stringValue ?? "")
      // How Storage says 401.
      || body["statusCode"] == "403" && body["message"]?.stringValue?.contains("exp") == true
  }
}
