import LosslessJSON
import Synchronization

/// What the server has taken or shown while answers that may not know of it were still on their way.
///
/// An answer to a read that was sent before a write was accepted must not bring the old values back, so the writes that
/// came after it are laid over it. In memory only: no read outlives the process.
final class AcceptedWrites: Sendable {
  /// One thing that an older answer may not show.
  struct News: Sendable {
    /// What it was.
    enum Kind: Sendable {
      /// A write that the server took, with the rows it gave back.
      case write(Write, returned: [JSONObject]?)
      /// A row that was reported; `nil` for one that is gone.
      case row(key: String, JSONObject?)
      /// A mirrored row that was learned of, by its key's text.
      case mirrored(key: String)
      /// Something that cannot be laid over a list.
      case unknown
    }

    fileprivate let number: Int
    let user: String
    let schema: String
    let table: String
    let kind: Kind
  }

  private struct State {
    var number = 0
    var reads: [Int: Int] = [:]
    var news: [News] = []
  }

  private let state = Mutex(State())

  /// Says that a read is about to be sent.
  ///
  /// - Returns: Its place among the writes, for `since` and `end`.
  func begin() -> Int {
    state.withLock { state in
      state.reads[state.number, default: 0] += 1
      return state.number
    }
  }

  /// Says that a read has been answered, or has failed.
  func end(_ place: Int) {
    state.withLock { state in
      state.reads[place] = state.reads[place].flatMap { $0 > 1 ? $0 - 1 : nil }
      let oldest = state.reads.keys.min() ?? state.number
      state.news.removeAll { $0.number <= oldest }
    }
  }

  /// Keeps what was committed, while a read is on its way.
  func note(_ kind: News.Kind, user: String, schema: String, table: String) {
    state.withLock { state in
      state.number += 1
      guard !state.reads.isEmpty else { return }
      state.news.append(News(number: state.number, user: user, schema: schema, table: table, kind: kind))
    }
  }

  /// What came after a read was sent, oldest first.
  func since(_ place: Int, user: String, schema: String, table: String) -> [News] {
    state.withLock { state in
      state.news.filter {
        $0.number > place && $0.user == user && $0.schema == schema && $0.table == table
      }
    }
  }

  /// The mirrored rows that were learned of after a read was sent.
  func mirroredKeys(since place: Int, user: String, schema: String, table: String) -> Set<String> {
    Set(
      since(place, user: user, schema: schema, table: table).compactMap {
        if case .mirrored(let key) = $0.kind { key } else { nil }
      })
  }
}
