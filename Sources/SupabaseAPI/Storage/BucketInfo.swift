import LosslessJSON

/// What the server tells of a bucket.
public struct BucketInfo: Sendable, Hashable {
  /// The bucket's id.
  public var id: String
  /// Whether anybody may read its objects.
  public var isPublic: Bool
  /// The most bytes that an object may have; nil where the bucket sets no limit, though the project may.
  public var fileSizeBytesMax: Int64?
  /// The media types that it takes, such as `image/png` or `image/*`; nil for any.
  public var allowedContentTypes: [String]?

  init?(json: JSONValue) {
    guard let id = json["id"]?.stringValue else { return nil }
    self.id = id
    isPublic = json["public"]?.boolValue ?? false
    fileSizeBytesMax = json["file_size_limit"]?.int64Value
    allowedContentTypes = json["allowed_mime_types"]?.arrayValue?.compactMap(\.stringValue)
  }

  /// Whether the bucket takes a media type; what stands behind a semicolon says nothing of it.
  public func takes(_ contentType: String) -> Bool {
    guard let allowed = allowedContentTypes, !allowed.isEmpty else { return true }
    let type = ASCII.trimmed(contentType.prefix { $0 != ";" }).lowercased()
    return allowed.contains { pattern in
      let pattern = pattern.lowercased()
      if pattern == "*/*" { return true }
      return pattern.hasSuffix("/*") ? type.hasPrefix(pattern.dropLast()) : type == pattern
    }
  }
}
