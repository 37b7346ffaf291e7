/// A Supabase project: where it is, and the key that its gateway asks for.
public struct Project: Sendable, Hashable {
  /// Scheme, host and port, without a slash at the end.
  public let url: String
  /// The publishable key, or the older anon key.
  public let key: Secret

  /// Checks the address and the key of a project.
  ///
  /// Plain `http` is accepted for every host, since self-hosted projects live behind other protections; a path, a
  /// query, a fragment or a user name is not, because every path under the URL is the protocol's own.
  ///
  /// - Throws: `SupabaseError.invalidProject` with what is wrong and how the URL should look.
  public init(url: String, key: Secret) throws(SupabaseError) {
    let address: HTTPAddress
    do { address = try HTTPAddress(url) } catch {
      guard case .badRequest(let reason) = error else { throw .http(error) }
      throw .invalidProject(reason: "\(reason); it looks like https://PROJECT.supabase.co")
    }
    guard address.rest.isEmpty || address.rest.allSatisfy({ $0 == "/" }) else {
      throw .invalidProject(reason: "the URL goes on after the host; use \(address.origin)")
    }
    guard !key.revealed.isEmpty else { throw .invalidProject(reason: "the key is empty") }
    guard key.revealed.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw .invalidProject(reason: "the key holds a blank or a character that is not ASCII; copy it again")
    }
    self.url = address.origin
    self.key = key
  }
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
    [
      "apikey": key.revealed,
      "Authorization": "Bearer \((accessToken ?? key).revealed)",
      "X-Client-Info": ClientIdentity.text,
    ]
  }
}
