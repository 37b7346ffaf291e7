import LosslessJSON

/// Calls a project's Storage; it waits for nothing and sends nothing twice.
///
/// A refusal is `SupabaseError.refused` with the status that Storage means and its stable code: `NoSuchKey`,
/// `KeyAlreadyExists`, `EntityTooLarge`, `InvalidMimeType`, `AccessDenied`.
public struct StorageClient: Sendable {
  /// The project.
  public let project: Project
  let http: any HTTPExchange

  /// Makes a client of one project.
  public init(project: Project, http: any HTTPExchange) {
    self.project = project
    self.http = http
  }

  // MARK: Objects

  /// Stores an object.
  ///
  /// - Parameters:
  ///   - body: Where its bytes come from.
  ///   - replaces: Whether an object of that key is replaced by `PUT`, which some servers refuse where there is none.
  /// - Throws: `refused` with `KeyAlreadyExists` where there is one and it is not to be replaced. After a lost answer
  ///   that may be the object itself: compare its size.
  public func upload(
    _ path: ObjectPath, _ body: UploadBody, _ options: UploadOptions, replaces: Bool = false, accessToken: Secret?,
    progress: (@Sendable (HTTPProgress) -> Void)? = nil
  ) async throws(SupabaseError) -> UploadedObject {
    let request = StorageRequest.upload(path, options, replaces: replaces, body: body.bytes)
    let answer = try await success(request, accessToken, HTTPBodies(source: body.source, progress: progress))
    return try Self.uploaded(answer, path)
  }

  /// Reads an object into memory.
  public func download(
    _ path: ObjectPath, transform: ImageTransformation? = nil, bytesMax: Int = HTTPRequest.defaultBodyBytesMax,
    accessToken: Secret?
  ) async throws(SupabaseError) -> HTTPResponse {
    try await download(path, transform: transform, bytesMax: bytesMax, accessToken: accessToken, HTTPBodies())
  }

  /// Reads an object into a sink.
  ///
  /// - Parameters:
  ///   - fields: Conditions, such as `If-None-Match` and `Range`.
  ///   - bodies: The sink, and who wants to know how far it is.
  /// - Returns: The answer with the status 200, 206 or 304.
  public func download(
    _ path: ObjectPath, transform: ImageTransformation? = nil, fields: HTTPFields = [:],
    bytesMax: Int = HTTPRequest.defaultBodyBytesMax, accessToken: Secret?, _ bodies: HTTPBodies
  ) async throws(SupabaseError) -> HTTPResponse {
    var request = StorageRequest.download(
      path, isSignedIn: accessToken != nil, transform: transform, fields: fields
    ).httpRequest(project: project, accessToken: accessToken)
    request.bodyBytesMax = bytesMax
    let response: HTTPResponse
    do { response = try await http.send(request, bodies) } catch { throw .http(error) }
    guard [200, 206, 304].contains(response.status) else { throw StorageAnswer.failure(RawAnswer(response)) }
    return response
  }

  /// Asks what the server knows of an object.
  public func info(_ path: ObjectPath, accessToken: Secret?) async throws(SupabaseError) -> ObjectInfo {
    let answer = try await success(.info(path, isSignedIn: accessToken != nil), accessToken)
    guard let info = answer.json.flatMap(ObjectInfo.init(json:)) else { throw answer.notAnAnswer }
    return info
  }

  /// Lists a folder of a bucket; an empty text is the bucket itself.
  ///
  /// A bucket that is not there, and one that the caller may not see, has an empty list.
  public func list(
    _ bucket: String, folder: String, _ options: ListOptions, accessToken: Secret?
  ) async throws(SupabaseError) -> [ListedObject] {
    let answer = try await success(.list(bucket, folder: folder, options), accessToken)
    return try Self.all(answer, ListedObject.init(json:))
  }

  /// Gives an object another key.
  public func move(_ from: ObjectPath, to: ObjectPath, accessToken: Secret?) async throws(SupabaseError) {
    _ = try await success(.transfer("move", from, to, upserts: false), accessToken)
  }

  /// Stores an object's bytes and metadata under another key too.
  public func copy(
    _ from: ObjectPath, to: ObjectPath, upserts: Bool = false, accessToken: Secret?
  ) async throws(SupabaseError) -> UploadedObject {
    try Self.uploaded(try await success(.transfer("copy", from, to, upserts: upserts), accessToken), to)
  }

  /// Removes objects.
  ///
  /// - Returns: The keys that were removed: others were not there, or the caller may not remove them.
  public func remove(
    _ bucket: String, _ paths: [ObjectPath], accessToken: Secret?
  ) async throws(SupabaseError) -> [String] {
    let answer = try await success(.remove(bucket, paths), accessToken)
    return try Self.all(answer) { $0["name"]?.stringValue }
  }

  /// Asks what a bucket takes.
  ///
  /// - Throws: `refused` with `NoSuchBucket` also where no policy on `storage.buckets` shows it to the caller, which is so
  ///   on a project as it comes.
  public func bucket(_ id: String, accessToken: Secret?) async throws(SupabaseError) -> BucketInfo {
    let answer = try await success(
      StorageRequest("GET", "bucket/\(PercentEncoding.segment(id))"), accessToken)
    guard let info = answer.json.flatMap(BucketInfo.init(json:)) else { throw answer.notAnAnswer }
    return info
  }

  // MARK: URLs

  /// The URL of an object in a public bucket; nothing is asked.
  ///
  /// - Parameter download: What a browser saves it as; an empty text for the key's own name, nil to show it.
  public func publicURL(
    _ path: ObjectPath, transform: ImageTransformation? = nil, download: String? = nil
  ) -> String {
    url(transform == nil ? "object/public" : "render/image/public", path, transform, download)
  }

  /// The URL of an object that a request with an access token opens; nothing is asked.
  public func authenticatedURL(_ path: ObjectPath, transform: ImageTransformation? = nil) -> String {
    url(transform == nil ? "object/authenticated" : "render/image/authenticated", path, transform, nil)
  }

  private func url(
    _ route: String, _ path: ObjectPath, _ transform: ImageTransformation?, _ download: String?
  ) -> String {
    var query = (transform?.members ?? []).map {
      StorageRequest.Parameter(name: $0.name, value: StorageRequest.text($0.value))
    }
    if let download { query.append(StorageRequest.Parameter(name: "download", value: download)) }
    return StorageRequest("GET", "\(route)/\(path.encoded)", query: query).url(project)
  }

  /// Makes a URL that opens an object for anybody until it expires.
  public func createSignedURL(
    _ path: ObjectPath, expiresIn seconds: Int, transform: ImageTransformation? = nil, download: String? = nil,
    accessToken: Secret?
  ) async throws(SupabaseError) -> String {
    let answer = try await success(.sign(path, seconds: seconds, transform: transform), accessToken)
    guard let text = answer.json?["signedURL"]?.stringValue else { throw answer.notAnAnswer }
    return try signedURL(text, download: download, answer)
  }

  /// Makes such URLs of several objects of a bucket; one that cannot be made says so by itself.
  public func createSignedURLs(
    _ bucket: String, _ paths: [ObjectPath], expiresIn seconds: Int, download: String? = nil, accessToken: Secret?
  ) async throws(SupabaseError) -> [SignedPath] {
    let answer = try await success(.sign(bucket, paths, seconds: seconds), accessToken)
    guard let values = answer.json?.arrayValue else { throw answer.notAnAnswer }
    var found: [SignedPath] = []
    for value in values {
      guard let path = value["path"]?.stringValue else { throw answer.notAnAnswer }
      let text = value["signedURL"]?.stringValue
      found.append(
        SignedPath(
          path: path,
          url: try text.map { text throws(SupabaseError) in try signedURL(text, download: download, answer) },
          error: value["error"]?.stringValue))
    }
    return found
  }

  /// Makes leave to upload one object without a token, for two hours on a hosted project.
  public func createSignedUploadURL(
    _ path: ObjectPath, upserts: Bool = false, accessToken: Secret?
  ) async throws(SupabaseError) -> SignedUpload {
    let answer = try await success(.signUpload(path, upserts: upserts), accessToken)
    guard let text = answer.json?["url"]?.stringValue, let mark = text.range(of: "?token=") else {
      throw answer.notAnAnswer
    }
    let token = text[mark.upperBound...].prefix { $0 != "&" }
    return SignedUpload(
      path: path.key, token: Secret(String(token)), url: try signedURL(text, download: nil, answer))
  }

  /// Uploads with such leave.
  public func uploadToSignedURL(
    _ path: ObjectPath, token: Secret, _ body: UploadBody, _ options: UploadOptions,
    progress: (@Sendable (HTTPProgress) -> Void)? = nil
  ) async throws(SupabaseError) -> UploadedObject {
    let request = StorageRequest.uploadSigned(path, token, options, body: body.bytes)
    let answer = try await success(request, nil, HTTPBodies(source: body.source, progress: progress))
    return try Self.uploaded(answer, path)
  }

  /// The whole URL of a text such as `/object/sign/bucket/a b?token=…`, whose path the server leaves unencoded.
  private func signedURL(_ text: String, download: String?, _ answer: RawAnswer) throws(SupabaseError) -> String {
    guard text.hasPrefix("/"), let mark = text.firstIndex(of: "?"), let storage = project.services.storage else {
      throw answer.notAnAnswer
    }
    let path = text[..<mark].split(separator: "/").map { PercentEncoding.segment(String($0)) }.joined(separator: "/")
    let more = download.map { "&download=\(PercentEncoding.query($0))" } ?? ""
    return "\(storage)/\(path)\(text[mark...])\(more)"
  }

  // MARK: Sending

  func success(
    _ request: StorageRequest, _ accessToken: Secret?, _ bodies: HTTPBodies = HTTPBodies()
  ) async throws(SupabaseError) -> RawAnswer {
    guard project.services.storage != nil else { throw .invalidProject(reason: "it has no Storage service") }
    let response: HTTPResponse
    do {
      response = try await http.send(request.httpRequest(project: project, accessToken: accessToken), bodies)
    } catch {
      throw .http(error)
    }
    let answer = RawAnswer(response)
    guard (200...299).contains(response.status) else { throw StorageAnswer.failure(answer) }
    // A login page says 200, too.
    guard answer.json != nil else { throw answer.notAnAnswer }
    return answer
  }

  private static func uploaded(_ answer: RawAnswer, _ path: ObjectPath) throws(SupabaseError) -> UploadedObject {
    guard answer.json?["Key"]?.stringValue != nil else { throw answer.notAnAnswer }
    return UploadedObject(id: answer.json?["Id"]?.stringValue, path: path.key)
  }

  private static func all<Element>(
    _ answer: RawAnswer, _ read: (JSONValue) -> Element?
  ) throws(SupabaseError) -> [Element] {
    guard let values = answer.json?.arrayValue else { throw answer.notAnAnswer }
    let found = values.compactMap(read)
    guard found.count == values.count else { throw answer.notAnAnswer }
    return found
  }
}

/// The bytes of an upload.
public enum UploadBody: Sendable {
  /// In memory.
  case bytes([UInt8])
  /// Read where they lie, while they are sent.
  case source(any HTTPBodySource)

  var bytes: [UInt8]? { if case .bytes(let bytes) = self { bytes } else { nil } }
  var source: (any HTTPBodySource)? { if case .source(let source) = self { source } else { nil } }
}
