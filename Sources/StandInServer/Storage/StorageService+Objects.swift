import LosslessJSON
import SQLite

extension StorageService {
  // MARK: Reading

  /// The object that a reading route names, if the caller may read it.
  func readable(_ request: StandInRequest, _ route: StorageRoute) throws -> StoredObject {
    let kind = route.words.last
    guard let bucket = try used({ try Bucket.find(route.bucket, in: $0) }) else { throw StorageError.noSuchBucket }
    var caller: StorageCaller?
    switch kind {
    case "public":
      guard bucket.isPublic else { throw StorageError.noSuchBucket }
    case "authenticated": caller = try tokens.caller(of: request)
    default:
      // The short form goes on as nobody where the token is bad.
      caller = try? tokens.caller(of: request)
      guard bucket.isPublic || caller != nil else { throw StorageError.noSuchBucket }
    }
    guard let object = try used({ try StoredObject.find(route.bucket, route.key, in: $0) }),
      bucket.isPublic || caller?.may(.select, object, policies) == true
    else { throw StorageError.noSuchKey }
    return object
  }

  func download(_ request: StandInRequest, _ route: StorageRoute) throws -> StandInAnswer {
    let object = try readable(request, route)
    return try ObjectDownload(object, request).answer(files, caching: ("Cache-Control", object.cacheControl))
  }

  func downloadSigned(_ request: StandInRequest, _ route: StorageRoute) throws -> StandInAnswer {
    let (object, claims) = try signedObject(request, route)
    let expiry = claims["exp"]?.int64Value ?? 0
    return try ObjectDownload(object, request).answer(files, caching: ("Expires", HTTPDate.text(unixSeconds: expiry)))
  }

  /// The object that a signed URL names, with the claims of its token.
  func signedObject(
    _ request: StandInRequest, _ route: StorageRoute
  ) throws -> (object: StoredObject, claims: JSONObject) {
    guard let token = QueryText.parameters(request.query).first(where: { $0.name == "token" })?.value else {
      throw StorageError.invalidRequest("querystring must have required property 'token'")
    }
    let claims = try tokens.signedClaims(token, .download, "\(route.bucket)/\(route.key)")
    guard let object = try used({ try StoredObject.find(route.bucket, route.key, in: $0) }) else {
      throw StorageError.noSuchKey
    }
    return (object, claims)
  }

  // MARK: Moving and copying

  private struct Destination {
    let sourceBucket: String
    let sourceKey: String
    let bucket: String
    let key: String

    init(_ body: JSONObject) throws(StorageError) {
      sourceBucket = try body.required("bucketId")
      sourceKey = try body.required("sourceKey")
      key = try body.required("destinationKey")
      bucket = body["destinationBucket"]?.stringValue ?? sourceBucket
      guard ObjectKey.isKey(key) else { throw .key(key) }
    }
  }

  func move(_ request: StandInRequest) throws -> StandInAnswer {
    let caller = try tokens.caller(of: request)
    let destination = try Destination(try Self.body(of: request))
    let now = now
    try used { database in
      try database.transaction {
        for id in [destination.sourceBucket, destination.bucket] where try Bucket.find(id, in: database) == nil {
          throw StorageError.noSuchBucket
        }
        guard
          var object = try StoredObject.find(destination.sourceBucket, destination.sourceKey, in: database),
          caller.may(.select, object, self.policies)
        else { throw StorageError.noSuchKey }
        guard caller.may(.update, object, self.policies),
          caller.may(.update, destination.bucket, destination.key, ownerID: object.ownerID, self.policies)
        else { throw StorageError.policy }
        let other = try StoredObject.find(destination.bucket, destination.key, in: database)
        guard other == nil else { throw StorageError.keyExists }
        object.bucket = destination.bucket
        object.name = destination.key
        object.updatedAt = now
        try object.save(in: database)
      }
    }
    return .json(200, ["message": "Successfully moved"])
  }

  func copy(_ request: StandInRequest) throws -> StandInAnswer {
    let caller = try tokens.caller(of: request)
    let body = try Self.body(of: request)
    let destination = try Destination(body)
    let target = try target(
      destination.bucket, destination.key, caller: caller, upserts: request.field("x-upsert") == "true")
    let (now, id) = (now, newID())
    let source = try used { database in
      guard try Bucket.find(destination.sourceBucket, in: database) != nil else { throw StorageError.noSuchBucket }
      guard let found = try StoredObject.find(destination.sourceBucket, destination.sourceKey, in: database),
        caller.may(.select, found, self.policies)
      else { throw StorageError.noSuchKey }
      _ = try self.check(target, in: database)
      return found
    }
    guard source.size <= target.sizeLimit else { throw StorageError.tooLarge }
    var description = source.description
    if body["copyMetadata"]?.boolValue == false {
      let metadata = body["metadata"]?.objectValue ?? [:]
      description = ObjectDescription(
        mimeType: metadata["mimetype"]?.stringValue ?? source.mimeType,
        cacheControl: metadata["cacheControl"]?.stringValue ?? source.cacheControl)
    }
    guard target.takes(description.mimeType) else { throw StorageError.mimeType(description.mimeType) }
    try files.link(source.version, as: target.version)
    do {
      let copied = description
      let (object, old) = try durably { database in
        let old = try self.check(target, in: database)
        var object =
          old
          ?? StoredObject(
            id: id, bucket: target.bucket, name: target.key, ownerID: caller.subject, version: target.version,
            size: source.size, etag: source.etag, description: copied, now: now)
        object.replace(version: target.version, size: source.size, etag: source.etag, copied, now: now)
        object.ownerID = caller.subject
        try object.save(in: database)
        return (object, old)
      }
      if let old { files.remove(old.version) }
      var answer = object.row
      answer["Id"] = .string(object.id)
      answer["Key"] = .string("\(object.bucket)/\(object.name)")
      return .json(200, .object(answer))
    } catch {
      files.remove(target.version)
      throw error
    }
  }

  // MARK: Removing

  func removeOne(_ request: StandInRequest, _ route: StorageRoute) throws -> StandInAnswer {
    let caller = try tokens.caller(of: request)
    _ = try bucket(route.bucket)
    guard try !remove([route.key], from: route.bucket, as: caller).isEmpty else { throw StorageError.noSuchKey }
    return .json(200, ["message": "Successfully deleted"])
  }

  func removeMany(_ request: StandInRequest, _ bucket: String) throws -> StandInAnswer {
    let caller = try tokens.caller(of: request)
    let keys = try Self.texts("prefixes", in: try Self.body(of: request), atMost: 1_000)
    return .json(200, .array(try remove(keys, from: bucket, as: caller).map { .object($0.row) }))
  }

  /// Removes what is there and what the caller may remove, and gives it.
  func remove(_ keys: [String], from bucket: String, as caller: StorageCaller) throws -> [StoredObject] {
    let removed = try durably { database in
      var removed: [StoredObject] = []
      for key in keys {
        guard let object = try StoredObject.find(bucket, key, in: database),
          caller.may(.select, object, self.policies), caller.may(.delete, object, self.policies)
        else { continue }
        try database.execute("DELETE FROM storage_objects WHERE id = ?", [.text(object.id)])
        removed.append(object)
      }
      return removed
    }
    for object in removed { files.remove(object.version) }
    return removed
  }

  // MARK: Bodies

  /// The request's JSON object.
  static func body(of request: StandInRequest) throws(StorageError) -> JSONObject {
    guard let value = try? JSONValue(parsing: request.body), let object = value.objectValue else {
      throw .invalidRequest("body must be object")
    }
    return object
  }

  /// A list of at least one text.
  static func texts(_ name: String, in body: JSONObject, atMost limit: Int) throws(StorageError) -> [String] {
    guard let value = body[name] else { throw .invalidRequest("body must have required property '\(name)'") }
    guard let elements = value.arrayValue else { throw .invalidRequest("body/\(name) must be array") }
    let texts = elements.compactMap(\.stringValue)
    guard texts.count == elements.count else { throw .invalidRequest("body/\(name) must be strings") }
    guard !texts.isEmpty else { throw .invalidRequest("body/\(name) must NOT have fewer than 1 items") }
    guard texts.count <= limit else { throw .invalidRequest("body/\(name) must NOT have more than \(limit) items") }
    return texts
  }

  /// A whole number, which some clients write as a text.
  static func number(_ name: String, in body: JSONObject) throws(StorageError) -> Int64? {
    guard let value = body[name], !value.isNull else { return nil }
    guard let number = value.int64Value ?? value.stringValue.flatMap({ Int64($0) }) else {
      throw .invalidRequest("body/\(name) must be integer")
    }
    return number
  }
}

extension StoredObject {
  /// What an upload of it would say.
  var description: ObjectDescription {
    ObjectDescription(
      mimeType: mimeType, cacheControl: cacheControl, robots: robots, userMetadata: userMetadata)
  }
}

extension JSONObject {
  /// A text that must be there.
  func required(_ name: String) throws(StorageError) -> String {
    guard let value = self[name] else { throw .invalidRequest("body must have required property '\(name)'") }
    guard let text = value.stringValue else { throw .invalidRequest("body/\(name) must be string") }
    return text
  }
}
