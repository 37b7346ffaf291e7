import FileWorkspace
import LosslessJSON
import OfflineEngine
import SupabaseAPI

/// What commands ask about photos.
extension OpenWorkspace {
  /// Does what a command asks; `nil` if it is not about photos.
  func answerPhotos(_ request: ControlRequest) async throws -> JSONValue? {
    let paths = request.arguments["paths"]?.arrayValue?.compactMap(\.stringValue) ?? []
    switch request.command {
    case "photos-get": return ["count": .integer(Int64(try await workspace.wantPhotos(paths)))]
    case "photos-retry": return ["count": .integer(Int64(try await workspace.retryPhotos(paths)))]
    case "photos-info":
      guard let path = paths.first else { return .null }
      return try await info(try places([path])[0])
    case "photos-share":
      let width = request.arguments["width"]?.int64Value.map(Int.init)
      let seconds = request.arguments["seconds"]?.int64Value.map(Int.init) ?? 3600
      return try await share(paths, width: width, seconds: seconds)
    default: return nil
    }
  }

  /// Where the objects of the photos at some paths are.
  private func places(_ paths: [String]) throws -> [ObjectPath] {
    let photos = Dictionary(
      try client.read { try PhotoList($0, settings, files: files).photos() }.map { (PathKey($0.path), $0) }
    ) { first, _ in first }
    return try paths.map { try place($0, photos[PathKey($0)]) }
  }

  private func place(_ path: String, _ photo: ListedPhoto?) throws -> ObjectPath {
    guard let photo else {
      throw WorkspaceRequestError.noSuchEntry(path, list: "among the photos", hint: "'tidemark photos list' shows them")
    }
    guard let object = photo.object else {
      throw WorkspaceRequestError.badInput(
        "'\(path)' is not on the server yet\(photo.reason.map { ": \($0)" } ?? ""); 'tidemark sync' sends it")
    }
    do { return try ObjectPath(bucket: object.bucket, key: object.key) } catch {
      throw WorkspaceRequestError.badInput("'\(path)' has an object that cannot be asked for: \(error)")
    }
  }

  private func info(_ place: ObjectPath) async throws -> JSONValue {
    let storage = StorageClient(project: try settings.server.project, http: environment.http)
    var json: JSONObject = [
      "bucket": .string(place.bucket), "object": .string(place.key),
      "publicURL": .string(storage.publicURL(place)),
      "authenticatedURL": .string(storage.authenticatedURL(place)),
    ]
    do {
      let info = try await client.storage { storage, token throws(SupabaseError) in
        try await storage.info(place, accessToken: token)
      }
      json["isInBucket"] = true
      json["bytes"] = .integer(info.sizeBytes)
      json["type"] = info.contentType.map(JSONValue.string) ?? .null
      json["etag"] = info.etag.map(JSONValue.string) ?? .null
      json["createdAt"] = info.createdAt.map(JSONValue.string) ?? .null
      json["lastModified"] = info.lastModified.map(JSONValue.string) ?? .null
    } catch .refused(let error) where error.code == "NoSuchKey" {
      json["isInBucket"] = false
    } catch {
      // What this device knows by itself is an answer, too.
      json["isInBucket"] = .null
      json["trouble"] = .string("\(error)")
    }
    return .object(json)
  }

  /// Makes URLs that open photos for anybody.
  private func share(_ paths: [String], width: Int?, seconds: Int) async throws -> JSONValue {
    let transform = width.map { ImageTransformation(width: $0) }
    var links: [JSONValue] = []
    for (path, place) in zip(paths, try places(paths)) {
      do {
        let url = try await client.storage { storage, token throws(SupabaseError) in
          try await storage.createSignedURL(place, expiresIn: seconds, transform: transform, accessToken: token)
        }
        links.append(["path": .string(path), "url": .string(url)])
      } catch {
        throw WorkspaceRequestError.badInput("no link to '\(path)' could be made: \(error)")
      }
    }
    return ["links": .array(links)]
  }
}
