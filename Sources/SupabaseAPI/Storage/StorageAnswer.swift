import LosslessJSON

/// Tells an answer of Storage from everything that only looks like one.
///
/// Storage answers nearly every refusal with HTTP 400 and puts the status that it means into the body. A refusal needs
/// that body; 413 is one whoever sends it, since the same bytes will be too many again.
enum StorageAnswer {
  /// What an answer without success means.
  static func failure(_ answer: RawAnswer) -> SupabaseError {
    guard let error = ServerError(storage: answer) else { return foreign(answer) }
    switch error.status {
    case 408, 423, 425, 429, 500...:
      return .unavailable(status: error.status, retryAfter: answer.response.retryAfter, error)
    case 401 where isAboutToken(error), 403 where isAboutToken(error): return .tokenRefused(error)
    default: return .refused(error)
    }
  }

  /// An answer of a gateway, a proxy or the network.
  private static func foreign(_ answer: RawAnswer) -> SupabaseError {
    switch answer.status {
    case 413: return .refused(ServerError(status: 413, code: "EntityTooLarge", message: "the object is too large"))
    case 408, 425, 429, 500...:
      return .unavailable(status: answer.status, retryAfter: answer.response.retryAfter, nil)
    case 401, 403:
      if let message = answer.text("message", "msg", "error") {
        return .gatewayRefused(status: answer.status, message: PrintableText.of(message))
      }
      return answer.notAnAnswer
    default: return answer.notAnAnswer
    }
  }

  /// The policies and the look at the token refuse under one code; only their words differ.
  private static func isAboutToken(_ error: ServerError) -> Bool {
    let text = error.message.lowercased()
    return ["claim", "jwt", "jws", "signature"].contains { text.contains($0) } && !text.contains("row-level security")
  }
}

extension ServerError {
  /// Storage's own error, or nil where the answer is not Storage's.
  init?(storage answer: RawAnswer) {
    guard let json = answer.json, let message = json["message"]?.stringValue,
      let status = json["statusCode"]?.stringValue.flatMap({ Int($0) })
        ?? json["statusCode"]?.int64Value.map({ Int($0) })
    else { return nil }
    let name = json["error"]?.stringValue ?? ""
    let code = json["code"]?.stringValue ?? Self.codes[name] ?? name
    self.init(status: status, code: code.isEmpty ? String(status) : code, message: message)
  }

  /// The stable names of errors by their older ones, which servers of earlier versions send alone.
  private static let codes = [
    "not_found": "NoSuchKey", "Not found": "NoSuchKey", "Bucket not found": "NoSuchBucket",
    "Duplicate": "KeyAlreadyExists", "Unauthorized": "AccessDenied", "Payload too large": "EntityTooLarge",
    "invalid_mime_type": "InvalidMimeType", "Invalid Input": "InvalidBucketName", "invalid_range": "InvalidRange",
    "too_many_connections": "SlowDown", "Error": "InvalidRequest",
  ]
}
