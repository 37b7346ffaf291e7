import LosslessJSON

/// An error as Storage answers it: nearly always HTTP 400, with the status that is meant in the body.
struct StorageError: Error, Equatable {
  /// What the HTTP answer says.
  var httpStatus = 400
  /// What is meant.
  let status: Int
  /// The older name; the code where there is none.
  let error: String
  /// The stable name.
  let code: String
  let message: String

  init(_ status: Int, _ code: String, error: String? = nil, _ message: String, httpStatus: Int = 400) {
    self.status = status
    self.code = code
    self.error = error ?? code
    self.message = message
    self.httpStatus = httpStatus
  }

  static let noSuchKey = StorageError(404, "NoSuchKey", error: "not_found", "Object not found")
  /// The row is there and the bytes are not.
  static let bytesGone = StorageError(404, "NoSuchKey", error: "Not found", "The resource was not found")
  static let noSuchBucket = StorageError(404, "NoSuchBucket", error: "Bucket not found", "Bucket not found")
  static let keyExists = StorageError(409, "KeyAlreadyExists", error: "Duplicate", "The resource already exists")
  static let bucketExists = StorageError(409, "BucketAlreadyExists", error: "Duplicate", "The resource already exists")
  static let bucketNotEmpty = StorageError(
    409, "ResourceNotEmpty", "The bucket you tried to delete is not empty")
  static let policy = StorageError(
    403, "AccessDenied", error: "Unauthorized", "new row violates row-level security policy")
  static let tooLarge = StorageError(
    413, "EntityTooLarge", error: "Payload too large", "The object exceeded the maximum allowed size")
  static let bucketName = StorageError(400, "InvalidBucketName", error: "Invalid Input", "Bucket name invalid")
  static let noAuthorization = invalidRequest("headers must have required property 'authorization'")
  static let signature = StorageError(400, "InvalidSignature", "Invalid signature")
  /// A call that only the service key may make; refused before Storage's own error handling.
  static let serviceOnly = StorageError(
    403, "AccessDenied", error: "Unauthorized", "Access denied", httpStatus: 403)
  static let range = StorageError(
    416, "InvalidRange", error: "invalid_range", "The requested range cannot be satisfied", httpStatus: 416)

  /// A token that is bad or expired.
  static func token(_ reason: String) -> StorageError {
    StorageError(403, "AccessDenied", error: "Unauthorized", reason)
  }

  /// The token of a signed URL that is bad or expired.
  static func signedToken(_ reason: String) -> StorageError { StorageError(400, "InvalidJWT", reason) }

  static func mimeType(_ type: String) -> StorageError {
    StorageError(415, "InvalidMimeType", error: "invalid_mime_type", "mime type \(type) is not supported")
  }

  static func key(_ key: String) -> StorageError { StorageError(400, "InvalidKey", "Invalid key: \(key)") }

  /// A request that lacks something or has something of the wrong type.
  static func invalidRequest(_ message: String) -> StorageError {
    StorageError(400, "InvalidRequest", error: "Error", message)
  }

  static func noRoute(_ method: String, _ path: String) -> StorageError {
    StorageError(404, "NotFound", error: "Not Found", "Route \(method):\(path) not found", httpStatus: 404)
  }

  /// The disk or the database failed.
  static func failure(_ what: String) -> StorageError {
    StorageError(500, "InternalError", error: "Internal Server Error", what, httpStatus: 500)
  }

  var answer: StandInAnswer {
    .json(
      httpStatus,
      [
        "statusCode": .string(String(status)), "error": .string(error), "message": .string(message),
        "code": .string(code),
      ])
  }
}
