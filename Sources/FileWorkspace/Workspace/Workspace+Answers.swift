import OfflineEngine

extension Workspace {
  /// What the server's answer to a queued change of a file is told as.
  ///
  /// Names the columns that were sent, never their values. To be called while the network is at work, so it does not wait
  /// for the work on files.
  public nonisolated func event(of answer: ReplayAnswer) -> WorkspaceEvent {
    let what =
      switch answer.operation {
      case .insert, .upsert: "new"
      case .update: answer.columns.joined(separator: ", ")
      case .delete: "delete"
      }
    let outcome =
      switch answer.outcome {
      case .taken: "taken"
      case .alreadyThere: "the server had it already"
      case .unreached: "there was nothing to do"
      case .refused(let code): "refused" + (code.map { ", \($0)" } ?? "")
      case .conflicted: "met another change"
      case .gaveWay: "met another change and gave way"
      }
    return WorkspaceEvent(.answered, path(of: answer), "\(what): \(outcome)")
  }

  /// The file of the row or photo, which a delete has taken away; empty where it is not known.
  private nonisolated func path(of answer: ReplayAnswer) -> String {
    let path = try? client.read { transaction -> String? in
      for collection in collections where collection.table == answer.table {
        let mirror = Mirror(transaction)
        if let entry = try mirror.entry(collection.folder, key: answer.key) { return entry.path ?? entry.lastPath }
        if let former = try mirror.formerPath(collection.folder, answer.key) { return former }
      }
      guard collections.contains(where: { $0.settings.photos?.table == answer.table }) else { return nil }
      return try answer.key.values.first?.stringValue.flatMap(PhotoRecords(transaction).record(id:))?.lastPath
    }
    return path.flatMap { $0 } ?? ""
  }
}
