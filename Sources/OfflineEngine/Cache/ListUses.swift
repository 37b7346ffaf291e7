import Synchronization

/// Which kept lists are in use, and when others last were; in memory, between the transactions that write it down.
final class ListUses: Sendable {
  /// One list of one identity.
  struct Name: Sendable, Hashable {
    let user: String
    let schema: String
    let table: String
    let query: String

    init(user: String, schema: String, table: String, query: String) {
      (self.user, self.schema, self.table, self.query) = (user, schema, table, query)
    }

    init(user: String, _ query: ListQuery) {
      self.init(user: user, schema: query.schema, table: query.table, query: query.text)
    }
  }

  private struct State {
    var held: [Name: Int] = [:]
    var used: [Name: WallTime] = [:]
  }

  private let state = Mutex(State())

  /// Says that a list answered a read.
  func note(_ list: Name, at time: WallTime) { state.withLock { $0.used[list] = time } }

  /// Says that a list is followed, so that it stays until it is let go as often.
  func hold(_ list: Name) { state.withLock { $0.held[list, default: 0] += 1 } }

  /// Says that a list is followed no longer.
  func letGo(_ list: Name, at time: WallTime) {
    state.withLock { state in
      state.held[list] = state.held[list].flatMap { $0 > 1 ? $0 - 1 : nil }
      state.used[list] = time
    }
  }

  /// Whether anybody follows a list.
  func isHeld(_ list: Name) -> Bool { state.withLock { $0.held[list] != nil } }

  /// Whether anything is to be written down.
  var isNoted: Bool { state.withLock { !$0.used.isEmpty } }

  /// Takes what was noted, to be written down.
  func takeUsed() -> [Name: WallTime] {
    state.withLock { state in
      defer { state.used = [:] }
      return state.used
    }
  }
}
