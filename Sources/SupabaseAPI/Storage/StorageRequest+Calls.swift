import LosslessJSON

/// The calls of Storage, as the other clients make them.
extension StorageRequest {
  /// Stores an object whose bytes are the body, or come from a file.
  static func upload(_ path: ObjectPath, _ options: UploadOptions, replaces: Bool, body: [UInt8]?) -> StorageRequest {
    var fields = uploadFields(options)
    // PUT replaces by itself.
    if !replaces { fields.add("x-upsert", options.upsert ? "true" : "false") }
    return StorageRequest(replaces ? "PUT" : "POST", "object/\(path.encoded)", fields: fields, body: body)
  }

  private static func uploadFields(_ options: UploadOptions) -> HTTPFields {
    var fields: HTTPFields = [
      "Content-Type": options.contentType, "Cache-Control": "max-age=\(options.cacheSeconds)",
    ]
    if !options.userMetadata.isEmpty {
      fields.add("x-metadata", Base64.encode(Array(JSONValue.object(options.userMetadata).serialized().utf8)))
    }
    return fields
  }

  /// Reads an object.
  ///
  /// - Parameter isSignedIn: Whether a token goes along. With one the route is named that says when the token is no
  ///   longer good; the short one would go on as nobody and answer that the bucket is not there.
  static func download(
    _ path: ObjectPath, isSignedIn: Bool, transform: ImageTransformation?, fields: HTTPFields
  ) -> StorageRequest {
    let query = (transform?.members ?? []).map { Parameter(name: $0.name, value: Self.text($0.value)) }
    let route = transform != nil ? "render/image/authenticated" : isSignedIn ? "object/authenticated" : "object"
    return StorageRequest("GET", "\(route)/\(path.encoded)", query: query, fields: fields)
  }

  static func text(_ value: JSONValue) -> String { value.stringValue ?? value.serialized() }

  /// Asks what the server knows of an object.
  static func info(_ path: ObjectPath, isSignedIn: Bool) -> StorageRequest {
    StorageRequest("GET", "object/info/\(isSignedIn ? "authenticated/" : "")\(path.encoded)")
  }

  /// Lists a folder.
  static func list(_ bucket: String, folder: String, _ options: ListOptions) -> StorageRequest {
    var body: JSONObject = [
      "limit": .integer(Int64(options.limit)), "offset": .integer(Int64(options.offset)),
      "sortBy": ["column": .string(options.column.rawValue), "order": options.isDescending ? "desc" : "asc"],
    ]
    body["search"] = options.search.map(JSONValue.string)
    body["prefix"] = .string(folder)
    return StorageRequest("POST", "object/list/\(PercentEncoding.segment(bucket))", json: .object(body))
  }

  /// Moves or copies an object.
  static func transfer(_ verb: String, _ from: ObjectPath, _ to: ObjectPath, upserts: Bool) -> StorageRequest {
    var body: JSONObject = [
      "bucketId": .string(from.bucket), "sourceKey": .string(from.key), "destinationKey": .string(to.key),
    ]
    if to.bucket != from.bucket { body["destinationBucket"] = .string(to.bucket) }
    var request = StorageRequest("POST", "object/\(verb)", json: .object(body))
    if upserts { request.fields.add("x-upsert", "true") }
    return request
  }

  /// Removes objects by their keys.
  static func remove(_ bucket: String, _ paths: [ObjectPath]) -> StorageRequest {
    StorageRequest(
      "DELETE", "object/\(PercentEncoding.segment(bucket))",
      json: ["prefixes": .array(paths.map { .string($0.key) })])
  }

  /// Asks for a URL that opens an object for anybody.
  static func sign(_ path: ObjectPath, seconds: Int, transform: ImageTransformation?) -> StorageRequest {
    var body: JSONObject = ["expiresIn": .integer(Int64(seconds))]
    if let transform { body["transform"] = .object(JSONObject(transform.members)) }
    return StorageRequest("POST", "object/sign/\(path.encoded)", json: .object(body))
  }

  /// Asks for URLs of several objects.
  static func sign(_ bucket: String, _ paths: [ObjectPath], seconds: Int) -> StorageRequest {
    StorageRequest(
      "POST", "object/sign/\(PercentEncoding.segment(bucket))",
      json: ["expiresIn": .integer(Int64(seconds)), "paths": .array(paths.map { .string($0.key) })])
  }

  /// Asks for leave to upload an object.
  static func signUpload(_ path: ObjectPath, upserts: Bool) -> StorageRequest {
    StorageRequest("POST", "object/upload/sign/\(path.encoded)", fields: upserts ? ["x-upsert": "true"] : [:])
  }

  /// Uploads with such leave.
  static func uploadSigned(
    _ path: ObjectPath, _ token: Secret, _ options: UploadOptions, body: [UInt8]?
  ) -> StorageRequest {
    StorageRequest(
      "PUT", "object/upload/sign/\(path.encoded)", query: [Parameter(name: "token", value: token.revealed)],
      fields: uploadFields(options), body: body)
  }
}
