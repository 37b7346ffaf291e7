import LosslessJSON
import SQLite

/// Buckets: they are the service key's, and users see those that a policy on `storage.buckets` shows.
extension StorageService {
  func answerBucket(_ request: StandInRequest, _ route: StorageRoute) throws -> StandInAnswer {
    let caller = try tokens.caller(of: request)
    let isService = caller.role == .service
    switch (request.method, route.bucket, route.key) {
    case ("GET", "", ""):
      return .json(200, .array(try buckets(request).filter { isService || isShown($0, to: caller) }))
    case ("POST", "", ""): return try createBucket(request, caller)
    case ("POST", let id, "empty"):
      guard isService else { throw StorageError.serviceOnly }
      return try emptyBucket(id)
    case ("GET", let id, ""), ("PUT", let id, ""), ("DELETE", let id, ""):
      let isRead = request.method == "GET"
      guard isService || isRead && isShown(["id": .string(id)], to: caller) else { throw StorageError.noSuchBucket }
      let bucket = try bucket(id)
      if isRead { return .json(200, .object(bucket.json)) }
      return request.method == "PUT" ? try update(bucket, request) : try delete(bucket)
    default: throw StorageError.noRoute(request.method, String(request.path.dropFirst(Self.prefix.count)))
    }
  }

  private func isShown(_ bucket: JSONValue, to caller: StorageCaller) -> Bool {
    caller.role == .authenticated && bucket["id"]?.stringValue.map(shownBuckets.contains) ?? false
  }

  private func buckets(_ request: StandInRequest) throws -> [JSONValue] {
    let parameters = QueryText.parameters(request.query)
    func parameter(_ name: String) -> String? { parameters.first { $0.name == name }?.value }
    let column = parameter("sortColumn") ?? "name"
    guard ["id", "name", "created_at", "updated_at"].contains(column) else {
      throw StorageError.invalidRequest("querystring/sortColumn must be equal to one of the allowed values")
    }
    let order = parameter("sortOrder") == "desc" ? "DESC" : "ASC"
    let search = parameter("search")?.lowercased() ?? ""
    let limit = parameter("limit").flatMap { Int64($0) } ?? -1
    let offset = parameter("offset").flatMap { Int64($0) } ?? 0
    let rows = try used { database in
      try database.rows(
        """
        SELECT * FROM storage_buckets WHERE instr(lower(name), ?) > 0 OR ? = '' ORDER BY \(column) \(order)
        LIMIT ? OFFSET ?
        """,
        [.text(search), .text(search), .integer(limit), .integer(offset)])
    }
    return rows.map { row in
      var bucket = Bucket(row: row).json
      bucket["type"] = "STANDARD"
      return .object(bucket)
    }
  }

  /// The limits that a body sets; a `null` takes one away.
  private static func setLimits(_ body: JSONObject, of bucket: inout Bucket) throws(StorageError) {
    if let value = body["public"], !value.isNull {
      guard let flag = value.boolValue else { throw .invalidRequest("body/public must be boolean") }
      bucket.isPublic = flag
    }
    if let value = body["file_size_limit"] {
      bucket.fileSizeLimit = value.int64Value ?? value.stringValue.flatMap(ObjectKey.byteCount)
      guard value.isNull || bucket.fileSizeLimit.map({ $0 >= 0 }) == true else {
        throw .invalidRequest("body/file_size_limit must be a number of bytes or a text such as 50MB")
      }
      // A limit of nothing is none.
      if bucket.fileSizeLimit == 0 { bucket.fileSizeLimit = nil }
    }
    if let value = body["allowed_mime_types"] {
      let types = value.arrayValue?.compactMap(\.stringValue)
      guard value.isNull || types?.count == value.arrayValue?.count else {
        throw .invalidRequest("body/allowed_mime_types must be an array of strings")
      }
      if let wrong = types?.first(where: { $0.split(separator: "/", omittingEmptySubsequences: false).count != 2 }) {
        throw .mimeType(wrong)
      }
      bucket.allowedMimeTypes = types
    }
  }

  private func createBucket(_ request: StandInRequest, _ caller: StorageCaller) throws -> StandInAnswer {
    let body = try Self.body(of: request)
    let name = try body.required("name")
    let id = body["id"]?.stringValue.flatMap { $0.isEmpty ? nil : $0 } ?? name
    guard ObjectKey.isBucketName(name), ObjectKey.isBucketName(id) else { throw StorageError.bucketName }
    guard caller.role == .service else { throw StorageError.policy }
    var made = Bucket(
      id: id, name: name, owner: caller.subject ?? "", isPublic: false, fileSizeLimit: nil, allowedMimeTypes: nil,
      now: now)
    try Self.setLimits(body, of: &made)
    if let limit = made.fileSizeLimit, limit > objectBytesMax { throw StorageError.tooLarge }
    let bucket = made
    try used { database in
      try database.transaction {
        let taken = try database.first(
          "SELECT 1 FROM storage_buckets WHERE id = ? OR name = ?", [.text(id), .text(name)])
        guard taken == nil else { throw StorageError.bucketExists }
        try bucket.save(in: database)
      }
    }
    return .json(200, ["name": .string(name)])
  }

  private func update(_ bucket: Bucket, _ request: StandInRequest) throws -> StandInAnswer {
    let body = try Self.body(of: request)
    guard ["public", "file_size_limit", "allowed_mime_types"].contains(where: { body[$0] != nil }) else {
      throw StorageError.invalidRequest("body must have one of public, file_size_limit, allowed_mime_types")
    }
    var changed = bucket
    try Self.setLimits(body, of: &changed)
    if let limit = changed.fileSizeLimit, limit > objectBytesMax { throw StorageError.tooLarge }
    changed.updatedAt = now
    let updated = changed
    try used { try updated.save(in: $0) }
    return .json(200, ["message": "Successfully updated"])
  }

  private func delete(_ bucket: Bucket) throws -> StandInAnswer {
    try used { database in
      try database.transaction {
        let object = try database.first("SELECT 1 FROM storage_objects WHERE bucket_id = ?", [.text(bucket.id)])
        guard object == nil else { throw StorageError.bucketNotEmpty }
        try database.execute("DELETE FROM storage_buckets WHERE id = ?", [.text(bucket.id)])
      }
    }
    return .json(200, ["message": "Successfully deleted"])
  }

  /// Empties it at once, where a project takes its time.
  private func emptyBucket(_ id: String) throws -> StandInAnswer {
    _ = try bucket(id)
    let versions = try durably { database in
      let rows = try database.rows("DELETE FROM storage_objects WHERE bucket_id = ? RETURNING version", [.text(id)])
      return rows.compactMap { $0.text("version") }
    }
    for version in versions { files.remove(version) }
    return .json(200, ["message": "Empty bucket has been queued. Completion may take up to an hour."])
  }
}
