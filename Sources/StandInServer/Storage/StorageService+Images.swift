import Images
import LosslessJSON

/// Renditions of images, made anew for each request.
extension StorageService {
  private static let sideMax = 2_500

  func render(_ request: StandInRequest, _ route: StorageRoute) throws -> StandInAnswer {
    let object: StoredObject
    var wishes: [String: String] = [:]
    if route.words.last == "sign" {
      let (found, claims) = try signedObject(request, route)
      object = found
      // What was signed is what is given, whatever the query asks for.
      for (name, value) in claims["transformations"]?.objectValue ?? [:] {
        wishes[name] = value.stringValue ?? value.int64Value.map(String.init)
      }
    } else {
      object = try readable(request, route)
      for (name, value) in QueryText.parameters(request.query) { wishes[name] = value }
    }
    let rendition = try Self.rendition(wishes, accepts: request.field("Accept") ?? "")
    // The row may be there without its bytes; the library would not know the difference.
    guard try files.has(object.version) else { throw StorageError.bytesGone }
    do {
      let (bytes, format) = try rendition.make(from: try files.path(object.version))
      return StandInAnswer(
        status: 200,
        fields: [
          ("Content-Type", format.mimeType), ("Cache-Control", object.cacheControl), ("ETag", object.etag),
          ("Last-Modified", HTTPDate.text(unixSeconds: Timestamp.seconds(of: object.updatedAt.microseconds))),
          ("X-Robots-Tag", object.robots ?? "none"),
        ], body: bytes)
    } catch let error as ImageError {
      switch error {
      case .noLibrary: throw StorageError.failure("\(error)")
      // Not the library's own words: they name the file.
      case .notAnImage, .damaged, .cannotWrite:
        throw StorageError(422, "InvalidRequest", error: "Error", "The image could not be transformed")
      }
    }
  }

  private static func rendition(_ wishes: [String: String], accepts: String) throws(StorageError) -> ImageRendition {
    func side(_ name: String) throws(StorageError) -> Int? {
      guard let text = wishes[name] else { return nil }
      guard let number = Int(text), number >= 0 else {
        throw .invalidRequest("querystring/\(name) must be integer")
      }
      return number == 0 ? nil : min(number, sideMax)
    }
    var rendition = ImageRendition(width: try side("width"), height: try side("height"))
    if let word = wishes["resize"] {
      guard let resize = ImageRendition.Resize(rawValue: word) else {
        throw .invalidRequest("querystring/resize must be equal to one of the allowed values")
      }
      rendition.resize = resize
    }
    if let text = wishes["quality"] {
      guard let quality = Int(text), (20...100).contains(quality) else {
        throw .invalidRequest("querystring/quality must be >= 20 and <= 100")
      }
      rendition.quality = quality
    }
    switch wishes["format"] {
    case nil: rendition.format = accepts.contains("image/avif") ? .avif : accepts.contains("image/webp") ? .webp : nil
    case "origin": break
    case "avif": rendition.format = .avif
    case "webp": rendition.format = .webp
    default: throw .invalidRequest("querystring/format must be equal to one of the allowed values")
    }
    return rendition
  }
}
