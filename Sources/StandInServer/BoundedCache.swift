import Synchronization

/// What was worked out for the last keys that were asked for, at most so many: beyond them it begins anew.
final class BoundedCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private let countMax: Int
  private let values = Mutex<[Key: Value]>([:])

  init(countMax: Int) { self.countMax = countMax }

  /// What was kept for a key; setting it keeps it.
  subscript(key: Key) -> Value? {
    get { values.withLock { $0[key] } }
    set {
      values.withLock { values in
        if values.count >= countMax { values.removeAll() }
        values[key] = newValue
      }
    }
  }
}
