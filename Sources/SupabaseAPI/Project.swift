/// A Supabase project: where its services are, and the key that its gateway asks for.
///
/// A PostgREST alone is one, too, with no other service and no key.
public struct Project: Sendable, Hashable {
  /// The services by their addresses, without a slash at the end; `nil` for one that is not there.
  public struct Services: Sendable, Hashable {
    /// Tables and functions: PostgREST.
    public var rest: String
    /// Users and sessions.
    public var auth: String?
    /// Files.
    public var storage: String?
    /// Live changes.
    public var realtime: String?

    /// The services at the given addresses.
    public init(rest: String, auth: String? = nil, storage: String? = nil, realtime: String? = nil) {
      self.rest = rest
      self.auth = auth
      self.storage = storage
      self.realtime = realtime
    }
  }

  /// Scheme, host and port, without a slash at the end; of services at several places the one with the tables.
  public let url: String
  /// The publishable key, or the older anon key; `nil` where no gateway asks for one.
  public let key: Secret?
  /// Where its services are.
  public let services: Services

  /// Checks the address and the key of a project, whose services lie at their usual paths.
  ///
  /// Plain `http` is accepted for every host, since self-hosted projects live behind other protections; a path, a
  /// query, a fragment or a user name is not, because every path under the URL is the protocol's own.
  ///
  /// - Throws: `SupabaseError.invalidProject` with what is wrong and how the URL should look.
  public init(url: String, key: Secret) throws(SupabaseError) {
    let address = try Self.address(url, "it looks like https://PROJECT.supabase.co")
    guard address.rest.isEmpty || address.rest.allSatisfy({ $0 == "/" }) else {
      throw .invalidProject(reason: "the URL goes on after the host; use \(address.origin)")
    }
    guard !key.revealed.isEmpty else { throw .invalidProject(reason: "the key is empty") }
    try Self.check(key)
    let origin = address.origin
    self.url = origin
    self.key = key
    services = Services(
      rest: origin + ServicePath.rest, auth: origin + ServicePath.auth, storage: origin + ServicePath.storage,
      realtime: origin + ServicePath.realtime)
  }

  /// Checks a project whose services lie at places of their own.
  ///
  /// - Throws: `SupabaseError.invalidProject` with what is wrong, and of which service.
  public init(services: Services, key: Secret?) throws(SupabaseError) {
    let rest = try Self.address(services.rest, "this is the address of PostgREST")
    func checked(_ address: String?, _ name: String) throws(SupabaseError) -> String? {
      guard let address else { return nil }
      return try Self.withoutSlash(Self.address(address, "this is the address of \(name)"))
    }
    if let key { try Self.check(key) }
    url = rest.origin
    self.key = key
    self.services = Services(
      rest: try Self.withoutSlash(rest), auth: try checked(services.auth, "Auth"),
      storage: try checked(services.storage, "Storage"), realtime: try checked(services.realtime, "Realtime"))
  }

  private static func address(_ url: String, _ advice: String) throws(SupabaseError) -> HTTPAddress {
    do { return try HTTPAddress(url) } catch {
      guard case .badRequest(let reason) = error else { throw .http(error) }
      throw .invalidProject(reason: "\(reason); \(advice)")
    }
  }

  private static func withoutSlash(_ address: HTTPAddress) throws(SupabaseError) -> String {
    guard !address.rest.contains("?") else { throw .invalidProject(reason: "a service's URL has no query") }
    var rest = Substring(address.rest)
    while rest.last == "/" { rest.removeLast() }
    return address.origin + rest
  }

  private static func check(_ key: Secret) throws(SupabaseError) {
    guard key.revealed.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw .invalidProject(reason: "the key holds a blank or a character that is not ASCII; copy it again")
    }
  }
}

/// Where a project's gateway has its services.
public enum ServicePath {
  /// PostgREST.
  public static let rest = "/rest/v1"
  /// Auth.
  public static let auth = "/auth/v1"
  /// Storage.
  public static let storage = "/storage/v1"
  /// Realtime.
  public static let realtime = "/realtime/v1"
}

extension Project {
  /// Whether the tables are served by this very machine, whatever becomes of its network.
  public var isLoopback: Bool { (try? HTTPAddress(services.rest))?.isLoopback ?? false }
}

extension Project: CustomStringConvertible {
  /// The URL, without the key.
  public var description: String { url }
}

extension Project {
  /// The headers that every service asks for: the project's key, and who asks.
  ///
  /// Signed out, the key stands in both places: the gateway lets a publishable key through only where they are equal.
  func identityFields(accessToken: Secret?) -> HTTPFields {
    var fields: HTTPFields = [:]
    fields["apikey"] = key?.revealed
    fields["Authorization"] = (accessToken ?? key).map { "Bearer \($0.revealed)" }
    fields["X-Client-Info"] = ClientIdentity.text
    return fields
  }
}
