import LosslessJSON

/// The Supabase project that a workspace belongs to.
public struct ServerSettings: Sendable, Hashable {
  /// The project's address without a slash at the end, such as `https://abcd.supabase.co`.
  public let url: String
  /// The project's publishable key (or its `anon` key).
  public let key: String

  /// Makes the settings of a project.
  ///
  /// - Throws: `ServerSettingsError` where the address is no web address, or the key is none or a secret one.
  public init(url: String, key: String) throws(ServerSettingsError) {
    self.url = try ServerSettings.checkedURL(url)
    self.key = try ServerSettings.checkedKey(key)
  }

  static func checkedURL(_ url: String) throws(ServerSettingsError) -> String {
    let scheme = ["https://", "http://"].first { url.lowercased().hasPrefix($0) }
    guard let scheme else { throw .url("expected an address that begins with https:// or http://") }
    if url.utf8.contains(where: { $0 <= 0x20 || $0 >= 0x7F || "\"<>\\^`{|}".utf8.contains($0) }) {
      throw .url("the address holds a space or a character that addresses do not have")
    }
    if url.contains("?") || url.contains("#") { throw .url("expected an address without '?' and '#'") }
    var rest = url.dropFirst(scheme.count)
    while rest.last == "/" { rest.removeLast() }
    let authority = rest.prefix { $0 != "/" }
    if authority.contains("@") { throw .url("expected an address without a user name and password") }
    let host = authority.first == "[" ? authority.prefix { $0 != "]" }.dropFirst() : authority.prefix { $0 != ":" }
    if host.isEmpty { throw .url("the address has no host") }
    return scheme + rest
  }

  static func checkedKey(_ key: String) throws(ServerSettingsError) -> String {
    if key.isEmpty { throw .key("the key is empty") }
    if key.unicodeScalars.contains(where: { $0.value <= 0x20 || $0.value >= 0x7F }) {
      throw .key("the key holds a space or a character that keys do not have")
    }
    // The file is meant for git, and a secret key opens every row to whoever reads it.
    if key.hasPrefix("sb_secret_") || role(ofToken: key) == "service_role" {
      throw .key("this is a secret key, which passes by every policy; expected the publishable (or anon) key")
    }
    return key
  }

  /// The role that an older key, a JSON Web Token, names in its middle part.
  private static func role(ofToken token: String) -> String? {
    let parts = token.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let claims = base64URL(parts[1]) else { return nil }
    return (try? JSONValue(parsing: claims))?["role"]?.stringValue
  }

  private static func base64URL(_ text: Substring) -> [UInt8]? {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    var bytes: [UInt8] = []
    var bits: UInt32 = 0
    var count = 0
    for byte in text.utf8 {
      guard let digit = alphabet.firstIndex(of: byte) else { return nil }
      bits = bits << 6 | UInt32(digit)
      count += 6
      if count >= 8 {
        count -= 8
        bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
      }
    }
    return bytes
  }
}

extension ServerSettings: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The address; the key is not shown.
  public var description: String { url }
  /// The address; the key is not shown.
  public var debugDescription: String { url }
  /// The address; the key is not shown.
  public var customMirror: Swift.Mirror { Swift.Mirror(self, children: ["url": url]) }
}

/// Why a server's address or key cannot be used; the key itself is never shown.
public enum ServerSettingsError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The address is no web address; the text says what was expected.
  case url(String)
  /// The key is none, or a secret one; the text says what was expected.
  case key(String)

  /// What was expected.
  public var description: String {
    switch self {
    case .url(let reason): "the server's address cannot be used: \(reason)"
    case .key(let reason): "the server's key cannot be used: \(reason)"
    }
  }
}
