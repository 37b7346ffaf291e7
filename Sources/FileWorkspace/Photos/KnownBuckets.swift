import OfflineEngine
import SupabaseAPI
import Synchronization

/// What the server has told of buckets lately, so that what it would refuse is not sent to it.
final class KnownBuckets: Sendable {
  private let state = Mutex<[String: (info: BucketInfo?, at: WallTime)]>([:])

  /// How long an answer counts: the project's owner may raise a limit at any time.
  private static let freshFor = Duration.seconds(60)

  /// What is known of a bucket; `nil` where it is to be asked for, and a `nil` inside where the server does not tell.
  func info(_ bucket: String, at now: WallTime) -> BucketInfo?? {
    state.withLock { state in
      guard let known = state[bucket], known.at <= now, now - known.at < Self.freshFor else { return nil }
      return .some(known.info)
    }
  }

  func note(_ info: BucketInfo?, of bucket: String, at now: WallTime) {
    state.withLock { $0[bucket] = (info, now) }
  }
}
