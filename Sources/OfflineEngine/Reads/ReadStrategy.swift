/// Where a one-shot read takes its rows from (spec 3, "Choosing a strategy").
public struct ReadStrategy: Sendable, Hashable {
  enum Kind: Sendable, Hashable {
    case networkFirst
    case cacheFirst
    case cacheOnly
    case networkOnly
  }

  let kind: Kind
  /// How old rows of this device may be; `nil` for any age.
  let maxAge: Duration?

  /// The server's rows, and this device's when the server cannot be reached.
  ///
  /// - Parameter maxAge: Rows that the server sent longer ago count as none; `nil` accepts any age.
  public static func networkFirst(maxAge: Duration?) -> ReadStrategy {
    ReadStrategy(kind: .networkFirst, maxAge: maxAge)
  }

  /// The server's rows, and this device's of any age when the server cannot be reached.
  public static var networkFirst: ReadStrategy { networkFirst(maxAge: nil) }

  /// This device's rows while they are fresh enough and no write has made them doubtful, the server's otherwise.
  public static func cacheFirst(maxAge: Duration?) -> ReadStrategy { ReadStrategy(kind: .cacheFirst, maxAge: maxAge) }

  /// This device's rows of any age unless a write has made them doubtful, the server's otherwise.
  public static var cacheFirst: ReadStrategy { cacheFirst(maxAge: nil) }

  /// This device's rows, and never a request.
  public static func cacheOnly(maxAge: Duration?) -> ReadStrategy { ReadStrategy(kind: .cacheOnly, maxAge: maxAge) }

  /// This device's rows of any age, and never a request.
  public static var cacheOnly: ReadStrategy { cacheOnly(maxAge: nil) }

  /// The server's rows or the server's failure; the answer is still kept for the next read.
  public static let networkOnly = ReadStrategy(kind: .networkOnly, maxAge: nil)
}

/// Where a live read takes its first value from; later ones follow every change.
public enum LiveReadStrategy: Sendable, Hashable {
  /// This device's rows at once, then the server's.
  case cacheFirstThenNetwork
  /// The server's rows, or this device's when the server cannot be reached.
  case networkFirstThenCache
  /// This device's rows, and never a request.
  case cacheOnly
}
