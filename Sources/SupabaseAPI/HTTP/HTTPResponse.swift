/// One HTTP answer, whole.
public struct HTTPResponse: Sendable, Hashable {
  /// The status code; 3xx too, since redirects are never followed.
  public var status: Int
  /// The header fields of the last answer, without those of interim answers, proxies and trailers.
  public var fields: HTTPFields
  /// The body, unpacked.
  public var body: [UInt8]
  /// How many times the request was begun for this answer, at least 1.
  ///
  /// libcurl sends a request again on a new connection when a kept connection turns out to be closed before a byte of
  /// an answer came. So with 2 the server may have acted on the request before the send that it answered: a guarded
  /// write that matched no row may be one that the first send already did.
  public var sends: Int

  /// Makes an answer.
  public init(status: Int, fields: HTTPFields = HTTPFields(), body: [UInt8] = [], sends: Int = 1) {
    self.status = status
    self.fields = fields
    self.body = body
    self.sends = sends
  }

  /// The server's clock when it answered, in Unix seconds, from the `Date` header.
  public var serverDate: Int64? { fields["Date"].flatMap(HTTPDate.seconds) }

  /// How many seconds the server asks to wait, from `Retry-After`, at least 0.
  ///
  /// A date there is measured against the answer's own `Date`, since this device's clock may be wrong.
  public var retryAfter: Int? {
    guard let text = fields["Retry-After"] else { return nil }
    if let seconds = ASCII.number(text) { return Int(min(seconds, Int64(Int32.max))) }
    guard let then = HTTPDate.seconds(text), let now = serverDate else { return nil }
    return Int(min(max(0, then - now), Int64(Int32.max)))
  }
}

extension HTTPResponse: CustomStringConvertible, CustomReflectable {
  /// The status and the size, without header values and body.
  public var description: String { "HTTP \(status), \(body.count) bytes" }

  /// Shows what the description shows, so that no dump holds a token or a row.
  public var customMirror: Mirror { Mirror(self, children: ["status": status, "bytes": body.count]) }
}
