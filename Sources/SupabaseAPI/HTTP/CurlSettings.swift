/// The limits and the way out of an exchange over libcurl.
///
/// Nothing here is read from the environment: the command hands it in.
public struct CurlSettings: Sendable, Hashable {
  /// What the server sees as `User-Agent`.
  public var userAgent: String
  /// The proxy for `http` URLs, as libcurl writes it (`http://host:3128`); nil for none.
  public var httpProxy: String?
  /// The proxy for `https` URLs; nil for none.
  public var httpsProxy: String?
  /// Hosts that need no proxy, separated by commas; loopback never uses one.
  public var hostsWithoutProxy: String
  /// A file of certificate authorities in PEM form; nil for the system's own.
  public var authoritiesFile: String?
  /// The longest time until a connection stands, name look-up and TLS included.
  public var connectLimit: Duration
  /// The longest time in which less than one byte a second moves, in whole seconds; also the wait for a first byte.
  public var stallSeconds: Int
  /// The longest time for a whole exchange; nil for none, since a large photo on a slow line takes as long as it takes.
  public var wholeLimit: Duration?
  /// The most connections to one host; further requests wait for a free one.
  public var connectionsPerHostMax: Int

  /// Makes settings; the defaults are the product's.
  public init(
    userAgent: String = ClientIdentity.text,
    httpProxy: String? = nil,
    httpsProxy: String? = nil,
    hostsWithoutProxy: String = "",
    authoritiesFile: String? = nil,
    connectLimit: Duration = .seconds(10),
    stallSeconds: Int = 30,
    wholeLimit: Duration? = nil,
    connectionsPerHostMax: Int = 8
  ) {
    self.userAgent = userAgent
    self.httpProxy = httpProxy
    self.httpsProxy = httpsProxy
    self.hostsWithoutProxy = hostsWithoutProxy
    self.authoritiesFile = authoritiesFile
    self.connectLimit = connectLimit
    self.stallSeconds = stallSeconds
    self.wholeLimit = wholeLimit
    self.connectionsPerHostMax = connectionsPerHostMax
  }
}

extension CurlSettings: CustomStringConvertible, CustomReflectable {
  /// The limits, without the proxies: their URLs may hold a password.
  public var description: String {
    "connect \(connectLimit), stall \(stallSeconds) s, proxy \(httpProxy == nil && httpsProxy == nil ? "none" : "set")"
  }

  /// Shows what the description shows.
  public var customMirror: Mirror { Mirror(self, children: ["settings": description]) }
}
