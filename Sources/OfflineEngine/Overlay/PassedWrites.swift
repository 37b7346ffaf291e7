import LosslessJSON
import SupabaseAPI

/// Updates and deletes that were laid over a list, for the rows of other lists that come into it later.
struct PassedWrites {
  private typealias Numbered = (number: Int, write: Write)

  private var ofKey: [String: [Numbered]] = [:]
  private var others: [Numbered] = []
  private var count = 0

  mutating func add(_ write: Write) {
    guard write.operation == .update || write.operation == .delete else { return }
    count += 1
    if write.isPinned {
      ofKey[write.key.identity, default: []].append((count, write))
    } else {
      others.append((count, write))
    }
  }

  /// A row after them; `nil` when one deletes it.
  func lay(over row: JSONObject, _ key: String, _ table: TableDescription, isUncertain: inout Bool) -> JSONObject? {
    var row = row
    let pinned = ofKey[key] ?? []
    let writes = others.isEmpty ? pinned : (pinned + others).sorted { $0.number < $1.number }
    for (_, write) in writes {
      let isReached =
        write.isPinned
        ? write.isReached(in: row, table) : Filter.and(write.request?.conditions ?? []).holds(for: row)
      guard let isReached else {
        isUncertain = true
        continue
      }
      guard isReached else { continue }
      if write.operation == .delete { return nil }
      row = row.merging(write.values)
    }
    return row
  }
}
