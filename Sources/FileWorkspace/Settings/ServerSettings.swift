import LosslessJSON
import SupabaseAPI

/// The Supabase project that a workspace belongs to, or a PostgREST alone.
public struct ServerSettings: Sendable, Hashable {
  /// A service that may have an address of its own.
  public enum Service: String, Sendable, Hashable, CaseIterable {
    /// Tables.
    case rest
    /// Users and sessions.
    case auth
    /// Files.
    case storage
    /// Live changes.
    case realtime

    /// Where a project's gateway has it.
    var path: String {
      switch self {
      case .rest: ServicePath.rest
      case .auth: ServicePath.auth
      case .storage: ServicePath.storage
      case .realtime: ServicePath.realtime
      }
    }
  }

  /// The project's address without a slash at the end, such as `https://abcd.supabase.co`; without a project that of its
  /// tables.
  public let url: String
  /// The project's publishable key (or its `anon` key); `nil` where no gateway asks for one.
  public let key: String?
  /// The services by their addresses; those that are not there are missing.
  public let services: [Service: String]
  /// Whether the services belong to one project at `url`.
  private let isProject: Bool

  /// Makes the settings of a project.
  ///
  /// - Throws: `ServerSettingsError` where the address is no web address, or the key is none or a secret one.
  public init(url: String, key: String) throws(ServerSettingsError) {
    try self.init(url: url, key: key, places: [:])
  }

  /// Makes the settings of a PostgREST alone.
  ///
  /// - Parameter key: What a gateway in front of it asks for, if there is one.
  /// - Throws: `ServerSettingsError` where the address is no web address, or the key a secret one.
  public init(rest: String, key: String? = nil) throws(ServerSettingsError) {
    try self.init(url: nil, key: key, places: [.rest: rest])
  }

  /// - Parameter places: Services at places of their own; `nil` for one that is not there.
  /// - Throws: `ServerSettingsError`, of a service `service` with its name.
  init(url: String?, key: String?, places: [Service: String?]) throws(ServerSettingsError) {
    let project = try url.map(ServerSettings.checkedURL)
    var services: [Service: String] = [:]
    if let project { for service in Service.allCases { services[service] = project + service.path } }
    for (service, place) in places {
      guard let place else {
        services[service] = nil
        continue
      }
      do {
        services[service] = try ServerSettings.checkedURL(place)
      } catch {
        throw .service(service, error.reason)
      }
    }
    guard let rest = services[.rest] else {
      throw .service(.rest, "the tables' service is needed; expected its address")
    }
    self.url = project ?? rest
    self.key = try key.map(ServerSettings.checkedKey)
    self.services = services
    isProject = project != nil
  }

  /// The project that requests go to.
  public var project: Project {
    get throws(SupabaseError) {
      let places = Project.Services(
        rest: services[.rest] ?? url, auth: services[.auth], storage: services[.storage],
        realtime: services[.realtime])
      return try Project(services: places, key: key.map { Secret($0) })
    }
  }

  /// The settings as they stand in tidemark.json.
  var json: JSONValue {
    var json: JSONObject = [:]
    if isProject { json["url"] = .string(url) }
    json["key"] = key.map(JSONValue.string)
    for service in Service.allCases {
      let usual = isProject ? url + service.path : nil
      if services[service] != usual { json[service.rawValue] = services[service].map(JSONValue.string) ?? .null }
    }
    return .object(json)
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
  /// The address of one service is none; the text says what was expected.
  case service(ServerSettings.Service, String)

  /// What was expected.
  var reason: String {
    switch self {
    case .url(let reason), .key(let reason), .service(_, let reason): reason
    }
  }

  /// What was expected.
  public var description: String {
    switch self {
    case .url(let reason): "the server's address cannot be used: \(reason)"
    case .key(let reason): "the server's key cannot be used: \(reason)"
    case .service(let service, let reason): "the address of '\(service.rawValue)' cannot be used: \(reason)"
    }
  }
}
