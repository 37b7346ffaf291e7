import OfflineEngine

extension FileAnswer {
  /// What a path among the photos is and what it waits for; nil for a path elsewhere.
  static func whatPhoto(
    _ path: String, _ transaction: EngineTransaction, _ settings: WorkspaceSettings
  ) throws -> String? {
    guard
      let table = settings.collections.map(Collection.init).compactMap(PhotoTable.init)
        .first(where: { $0.settings.holds(path) })
    else { return nil }
    if let problem = try Problems(transaction).all().first(where: { $0.path == path }) { return problem.message }
    guard let record = try PhotoRecords(transaction).record(path: path) else {
      return PhotoNames.isIgnored(WorkspacePath.name(of: path), table.settings)
        ? "not a photo: names like this are left alone" : "nothing is known of a photo here"
    }
    let words =
      switch record.state {
      case .unread: "a photo that is read as soon as it has been left alone for a moment"
      case .waiting: "a photo that waits to be sent, until its task is on the server and the server answers"
      case .sent: "a photo whose bytes are on the server; its row waits in the queue"
      case .stored: "a photo; file, bucket and row agree"
      case .remote: "a photo that is on the server and \(record.isWanted ? "is to come down" : "stays there")"
      case .failed: "a photo that cannot go on"
      case .held: "a photo that waits for a person"
      }
    return words + (record.reason.map { ": \($0)" } ?? "")
  }
}
