import LosslessJSON
import SupabaseAPI

extension EngineTransaction {
  /// Takes a write that the server has out of the queue: its row goes into the cache, its version forwards.
  ///
  /// - Parameter answer: The row that the server gave back or showed; `nil` where there is none.
  func finish(_ mutation: PendingMutation, _ table: TableDescription, answer: JSONObject?, _ origin: AnsweredBy) throws
  {
    try remove(mutation.id)
    if table.isMirrored {
      try mirror(mutation, table, answer: answer, origin)
    } else if let answer, case .reading(let row) = origin, mutation.write.operation != .delete {
      try applyServerRow(table, mutation.write.key, row.merging(answer), keepsVersion: false)
    } else {
      try applyAccepted(mutation.write, table, rows: answer.map { [$0] })
    }
    if let answer, mutation.write.operation != .delete { try forward(mutation, table, answer: answer, origin) }
  }

  /// Takes a write out of the queue whose filter did not reach its row: there was nothing to do.
  func finishUnreached(_ mutation: PendingMutation, _ table: TableDescription, row: JSONObject) throws {
    try remove(mutation.id)
    try show(row, of: mutation.write.key, table)
  }

  /// Has every copy on this device show what the server shows now, where a write of this device does not stand.
  func show(_ row: JSONObject?, of key: RowKey, _ table: TableDescription) throws {
    guard table.isMirrored else {
      try applyServerRow(table, key, row, keepsVersion: true)
      return
    }
    if let row { try setCachedRow(table, key, row) } else { try setGone(table.name, key) }
  }

  private func mirror(
    _ mutation: PendingMutation, _ table: TableDescription, answer: JSONObject?, _ origin: AnsweredBy
  ) throws {
    let key = mutation.write.key
    guard mutation.write.operation != .delete, let answer else {
      try setGone(table.name, key)
      return
    }
    switch origin {
    case .making:
      try mergeAnswer(table, key, answer, guardedWith: nil)
      // Not of a row that an earlier send made: others may have read and changed it since.
      try setTakenWrite(table, key, answer, at: nil, isRepeated: mutation.sendCount > 0)
    case .row(let version):
      try mergeAnswer(table, key, answer, guardedWith: version)
      if version != nil { try setTakenWrite(table, key, answer, at: version) }
    case .unguarded: try mergeAnswer(table, key, answer, guardedWith: nil)
    case .reading(let row): try setCachedRow(table, key, row.merging(answer))
    }
  }
}
