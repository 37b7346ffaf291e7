/// One HTTP request as a value.
///
/// Its description shows the method and the place, without the query, the header values and the body: those hold
/// filter values, tokens and rows.
public struct HTTPRequest: Sendable, Hashable {
  /// The method, upper case.
  public var method: String
  /// The whole URL, already percent-encoded; `http` or `https`, without user information and fragment.
  public var url: String
  /// The header fields to send; `Host`, `Content-Length`, `User-Agent` and `Accept-Encoding` are the exchange's own.
  public var fields: HTTPFields
  /// The body, or nil for none.
  ///
  /// POST, PUT and PATCH without a body say that it is empty.
  public var body: [UInt8]?
  /// The most bytes that the body of the answer may have, after it was unpacked.
  public var bodyBytesMax: Int

  /// What an answer may have unless the request says otherwise: 64 MiB, a page of a thousand rows of 64 KiB.
  public static let defaultBodyBytesMax = 64 << 20

  /// Makes a request.
  public init(
    method: String,
    url: String,
    fields: HTTPFields = HTTPFields(),
    body: [UInt8]? = nil,
    bodyBytesMax: Int = HTTPRequest.defaultBodyBytesMax
  ) {
    self.method = method
    self.url = url
    self.fields = fields
    self.body = body
    self.bodyBytesMax = bodyBytesMax
  }
}

extension HTTPRequest: CustomStringConvertible, CustomReflectable {
  /// The method and the place, without query, header values and body.
  public var description: String { "\(method) \(url.prefix { $0 != "?" })" }

  /// Shows what the description shows, so that no dump holds a token or a row.
  public var customMirror: Mirror {
    Mirror(self, children: ["method": method, "place": String(url.prefix { $0 != "?" }), "bytes": body?.count ?? 0])
  }
}

extension HTTPRequest {
  /// Checks that nothing in the request can end a header line early or smuggle a second request.
  ///
  /// - Throws: `HTTPError.badRequest`, which names the field but never its value.
  func validated() throws(HTTPError) -> HTTPAddress {
    guard !method.isEmpty, method.utf8.allSatisfy(ASCII.isLetter) else {
      throw .badRequest(reason: "the method is not a word of letters")
    }
    for field in fields.fields {
      guard !field.name.isEmpty, field.name.utf8.allSatisfy(ASCII.isToken) else {
        throw .badRequest(reason: "a header name holds a character that is not allowed there")
      }
      guard field.value.utf8.allSatisfy({ $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7F) }) else {
        throw .badRequest(reason: "the value of the header '\(field.name)' holds a control character")
      }
      let name = String(decoding: field.name.utf8.map(ASCII.lowercased), as: UTF8.self)
      guard !Self.ownedByTheExchange.contains(name) else {
        throw .badRequest(reason: "the header '\(field.name)' is set by the exchange itself")
      }
    }
    return try HTTPAddress(url)
  }

  /// Two lengths for one body, or a second host, would let a proxy and the server read two different requests.
  private static let ownedByTheExchange: Set<String> = [
    "content-length", "transfer-encoding", "host", "connection", "expect", "accept-encoding", "user-agent",
  ]
}
