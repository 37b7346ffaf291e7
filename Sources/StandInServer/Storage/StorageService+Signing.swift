import LosslessJSON

extension StorageService {
  /// How long a URL for an upload stays good, as on hosted projects.
  private static let uploadSeconds: Int64 = 7_200

  private static func lifetime(_ body: JSONObject) throws(StorageError) -> Int64 {
    guard let seconds = try number("expiresIn", in: body) else {
      throw .invalidRequest("body must have required property 'expiresIn'")
    }
    guard seconds >= 1 else { throw .invalidRequest("body/expiresIn must be >= 1") }
    return seconds
  }

  func signOne(_ request: StandInRequest, _ route: StorageRoute) throws -> StandInAnswer {
    let caller = try tokens.caller(of: request)
    let body = try Self.body(of: request)
    let lifetime = try Self.lifetime(body)
    _ = try bucket(route.bucket)
    guard let object = try used({ try StoredObject.find(route.bucket, route.key, in: $0) }),
      caller.may(.select, object, policies)
    else { throw StorageError.noSuchKey }
    let path = "\(route.bucket)/\(route.key)"
    var more: JSONObject = [:]
    var base = "object"
    if let transform = body["transform"]?.objectValue, !transform.isEmpty {
      more["transformations"] = .object(transform)
      base = "render/image"
    }
    let token = tokens.sign(.download, path, seconds: lifetime, more)
    return .json(200, ["signedURL": .string("/\(base)/sign/\(path)?token=\(token)")])
  }

  func signMany(_ request: StandInRequest, _ bucket: String) throws -> StandInAnswer {
    let caller = try tokens.caller(of: request)
    let body = try Self.body(of: request)
    let lifetime = try Self.lifetime(body)
    let keys = try Self.texts("paths", in: body, atMost: 1_000)
    let readable = try used { database in
      try keys.map { key in
        try StoredObject.find(bucket, key, in: database).map { caller.may(.select, $0, self.policies) } ?? false
      }
    }
    let answers = zip(keys, readable).map { key, isReadable -> JSONValue in
      guard isReadable else {
        return [
          "error": "Either the object does not exist or you do not have access to it", "path": .string(key),
          "signedURL": .null,
        ]
      }
      let token = tokens.sign(.download, "\(bucket)/\(key)", seconds: lifetime)
      return [
        "error": .null, "path": .string(key), "signedURL": .string("/object/sign/\(bucket)/\(key)?token=\(token)"),
      ]
    }
    return .json(200, .array(answers))
  }

  func signUpload(_ request: StandInRequest, _ route: StorageRoute) throws -> StandInAnswer {
    let caller = try tokens.caller(of: request)
    let target = try target(
      route.bucket, route.key, caller: caller, upserts: request.field("x-upsert") == "true")
    if let refusal = refusal(of: target) { throw refusal }
    let path = "\(route.bucket)/\(route.key)"
    var more: JSONObject = ["upsert": .bool(target.upserts)]
    more["owner"] = caller.subject.map(JSONValue.string)
    let token = tokens.sign(.upload, path, seconds: Self.uploadSeconds, more)
    return .json(
      200, ["url": .string("/object/upload/sign/\(path)?token=\(token)"), "token": .string(token)])
  }
}
