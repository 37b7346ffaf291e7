import LosslessJSON

/// Uploads that go on after they were broken off (TUS 1.0.0), one step a call; it keeps nothing and sends nothing twice.
///
/// An error without success is `SupabaseError.refused` with the code `Resumable` and the server's text.
public struct ResumableClient: Sendable {
  private let client: StorageClient

  /// Every piece but the last must have this size.
  public static let pieceBytes: Int64 = 6 << 20

  /// Makes a client of one project.
  public init(project: Project, http: any HTTPExchange) { client = StorageClient(project: project, http: http) }

  /// Begins an upload.
  ///
  /// - Returns: Its place, to be kept durably: what `offset` and `send` want.
  public func create(
    _ path: ObjectPath, length: Int64, _ options: UploadOptions, accessToken: Secret?
  ) async throws(SupabaseError) -> String {
    var parts = [
      ("bucketName", path.bucket), ("objectName", path.key), ("contentType", options.contentType),
      ("cacheControl", String(options.cacheSeconds)),
    ]
    if !options.userMetadata.isEmpty {
      parts.append(("metadata", JSONValue.object(options.userMetadata).serialized()))
    }
    let metadata = parts.map { "\($0.0) \(Base64.encode(Array($0.1.utf8)))" }.joined(separator: ",")
    let request = StorageRequest(
      "POST", Self.route,
      fields: [
        "Tus-Resumable": "1.0.0", "Upload-Length": String(length), "Upload-Metadata": metadata,
        "x-upsert": options.upsert ? "true" : "false",
      ])
    let response = try await send(request, accessToken)
    guard response.status == 201, let location = response.fields["Location"], let place = Self.place(of: location)
    else { throw RawAnswer(response).notAnAnswer }
    return place
  }

  private static let route = "upload/resumable"

  /// What an address has behind the route: the token goes to the project's own address, whatever an answer names.
  private static func place(of location: String) -> String? {
    guard let route = location.range(of: "/\(route)/") else { return nil }
    let place = location[route.upperBound...].prefix { $0 != "?" && $0 != "#" }
    return place.isEmpty || place.contains("/") ? nil : String(place)
  }

  /// Asks how many bytes of an upload are there.
  ///
  /// - Returns: nil where the upload is unknown or over (404, 410): begin anew.
  public func offset(_ place: String, accessToken: Secret?) async throws(SupabaseError) -> Int64? {
    let request = StorageRequest("HEAD", "\(Self.route)/\(place)", fields: ["Tus-Resumable": "1.0.0"])
    let response: HTTPResponse
    do {
      response = try await client.http.send(request.httpRequest(project: client.project, accessToken: accessToken))
    } catch {
      throw .http(error)
    }
    if response.status == 404 || response.status == 410 { return nil }
    guard response.status == 200 || response.status == 204 else { throw Self.failure(response) }
    guard let offset = response.fields["Upload-Offset"].flatMap({ Int64($0) }), offset >= 0 else {
      throw RawAnswer(response).notAnAnswer
    }
    return offset
  }

  /// Sends the next bytes.
  ///
  /// - Returns: How many bytes are there now. The object is there with the last one.
  /// - Throws: For 400, 409, 423 and 5xx ask `offset` and go on from there; the last piece may meet an object that
  ///   somebody else made meanwhile.
  public func send(
    _ place: String, from offset: Int64, _ source: any HTTPBodySource, upserts: Bool, accessToken: Secret?,
    progress: (@Sendable (HTTPProgress) -> Void)? = nil
  ) async throws(SupabaseError) -> Int64 {
    let request = StorageRequest(
      "PATCH", "\(Self.route)/\(place)",
      fields: [
        "Tus-Resumable": "1.0.0", "Upload-Offset": String(offset), "Content-Type": "application/offset+octet-stream",
        "x-upsert": upserts ? "true" : "false",
      ])
    let response = try await send(request, accessToken, HTTPBodies(source: source, progress: progress))
    guard let now = response.fields["Upload-Offset"].flatMap({ Int64($0) }),
      source.count == 0 ? now == offset : now > offset && now <= offset + source.count
    else { throw RawAnswer(response).notAnAnswer }
    return now
  }

  /// Gives an upload up.
  public func abandon(_ place: String, accessToken: Secret?) async throws(SupabaseError) {
    _ = try await send(
      StorageRequest("DELETE", "\(Self.route)/\(place)", fields: ["Tus-Resumable": "1.0.0"]), accessToken)
  }

  private func send(
    _ request: StorageRequest, _ accessToken: Secret?, _ bodies: HTTPBodies = HTTPBodies()
  ) async throws(SupabaseError) -> HTTPResponse {
    guard client.project.services.storage != nil else { throw .invalidProject(reason: "it has no Storage service") }
    let response: HTTPResponse
    do {
      response = try await client.http.send(
        request.httpRequest(project: client.project, accessToken: accessToken), bodies)
    } catch {
      throw .http(error)
    }
    guard (200...299).contains(response.status) else { throw Self.failure(response) }
    return response
  }

  /// Here statuses are true and bodies plain text, but for a token that was refused before.
  private static func failure(_ response: HTTPResponse) -> SupabaseError {
    let answer = RawAnswer(response)
    if ServerError(storage: answer) != nil { return StorageAnswer.failure(answer) }
    let isPlain = response.fields["Content-Type"]?.hasPrefix("text/plain") ?? response.body.isEmpty
    guard isPlain, (400...499).contains(response.status), ![408, 425, 429].contains(response.status) else {
      return StorageAnswer.failure(answer)
    }
    let text = String(decoding: response.body, as: UTF8.self)
    return .refused(ServerError(status: response.status, code: "Resumable", message: text))
  }
}
