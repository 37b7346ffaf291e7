/// The rest of an object of which the first bytes are here already (RFC 9110, sections 13.1.5 and 14).
public struct DownloadRest: Sendable, Hashable {
  /// Of the content that the bytes are of; with its quotes.
  public let etag: String
  /// How many bytes are here.
  public let offset: Int64

  /// The rest behind so many bytes; nil where the whole is to be asked for.
  public init?(etag: String, offset: Int64) {
    guard offset > 0, Self.canResume(etag) else { return nil }
    self.etag = etag
    self.offset = offset
  }

  /// Whether an ETag tells byte by byte which content it is: a weak one does not.
  public static func canResume(_ etag: String) -> Bool {
    etag.count > 2 && etag.hasPrefix("\"") && etag.hasSuffix("\"")
  }

  /// An ETag as digits for the name of a file that holds the first bytes; empty for one that is of no use there.
  public static func nameText(of etag: String) -> String {
    guard canResume(etag), etag.utf8.count <= etagBytesMax else { return "" }
    return etag.utf8.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  /// The most bytes of an ETag that fit into a name as two digits each.
  private static let etagBytesMax = 80

  /// The ETag that such digits stand for.
  public static func etag(nameText digits: some Sequence<UInt8>) -> String {
    let digits = Array(digits)
    let bytes = stride(from: 0, to: digits.count - 1, by: 2).compactMap {
      UInt8(String(decoding: digits[$0...($0 + 1)], as: UTF8.self), radix: 16)
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// What asks for it: another content comes whole.
  public var fields: HTTPFields { ["Range": "bytes=\(offset)-", "If-Range": etag] }

  /// Whether the body of an answer goes behind the bytes that are here.
  ///
  /// A server that does not know `If-Range` gives a part of whatever it has.
  public func isAnswered(by head: HTTPResponse) -> Bool {
    head.status == 206 && head.fields["ETag"] == etag
      && head.fields["Content-Range"]?.hasPrefix("bytes \(offset)-") == true
  }
}
