import LosslessJSON

/// One call of Storage as a value.
public struct StorageRequest: Sendable, Hashable {
  /// The method, upper case.
  public var method: String
  /// The path under the service, percent-encoded, without a slash at its beginning.
  public var path: String
  /// What follows the question mark.
  public var query: [Parameter]
  /// Fields beside those that say who asks.
  public var fields: HTTPFields
  /// The body; nil for none, and for one that comes from a file.
  public var body: [UInt8]?

  /// One parameter of a query.
  public struct Parameter: Sendable, Hashable {
    var name: String
    var value: String
  }

  init(
    _ method: String, _ path: String, query: [Parameter] = [], fields: HTTPFields = [:], body: [UInt8]? = nil
  ) {
    self.method = method
    self.path = path
    self.query = query
    self.fields = fields
    self.body = body
  }

  /// A call with a JSON body.
  init(_ method: String, _ path: String, json: JSONValue) {
    self.init(
      method, path, fields: ["Content-Type": "application/json"], body: Array(json.serialized().utf8))
  }

  /// The request as it is sent.
  ///
  /// - Parameter accessToken: The user's token; without one the project's key stands in its place.
  public func httpRequest(project: Project, accessToken: Secret?) -> HTTPRequest {
    var all = project.identityFields(accessToken: accessToken)
    for field in fields.fields { all.add(field.name, field.value) }
    return HTTPRequest(method: method, url: url(project), fields: all, body: body)
  }

  /// Where it goes.
  func url(_ project: Project) -> String {
    let items = query.map { "\(PercentEncoding.query($0.name))=\(PercentEncoding.query($0.value))" }
    let query = items.isEmpty ? "" : "?" + items.joined(separator: "&")
    return "\(project.services.storage ?? project.url)/\(path)\(query)"
  }
}

/// Where an object is: a bucket and a key in it.
public struct ObjectPath: Sendable, Hashable {
  /// The bucket's id.
  public let bucket: String
  /// The key, without slashes at its ends.
  public let key: String

  /// Checks a key, which loses slashes at its ends and repeated ones, as in the other clients.
  ///
  /// - Throws: `SupabaseError.refused` with the server's own code where a server would never take it.
  public init(bucket: String, key: String) throws(SupabaseError) {
    let segments = key.split(separator: "/")
    guard !bucket.isEmpty, !bucket.contains("/"), bucket != ".", bucket != ".." else {
      throw Self.refusal("InvalidBucketName", "a bucket's id is a name without slashes")
    }
    // A URL's path with them names another place.
    guard !segments.isEmpty, !segments.contains("."), !segments.contains("..") else {
      throw Self.refusal("InvalidKey", "an object's key has at least one name, and none of '.' and '..'")
    }
    guard segments.allSatisfy({ $0.utf8.allSatisfy(Self.isAllowed) }) else {
      throw Self.refusal("InvalidKey", "an object's key may hold ASCII letters, digits and _!.*'() &$@=;:+,?- only")
    }
    self.bucket = bucket
    self.key = segments.joined(separator: "/")
  }

  private static func refusal(_ code: String, _ message: String) -> SupabaseError {
    .refused(ServerError(status: 400, code: code, message: message))
  }

  private static let others = Set("_!.*'() &$@=;:+,?-".utf8)

  private static func isAllowed(_ byte: UInt8) -> Bool {
    ASCII.isLetter(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || others.contains(byte)
  }

  /// Bucket and key for a URL.
  var encoded: String {
    "\(PercentEncoding.segment(bucket))/"
      + key.split(separator: "/").map { PercentEncoding.segment(String($0)) }
      .joined(separator: "/")
  }
}

extension StorageRequest: CustomStringConvertible, CustomReflectable {
  /// The method and the route, without the key, the query and the body.
  public var description: String { "\(method) \(path.split(separator: "/").prefix(2).joined(separator: "/"))" }

  /// Shows what the description shows, so that no dump holds a token.
  public var customMirror: Mirror { Mirror(self, children: ["request": description]) }
}
