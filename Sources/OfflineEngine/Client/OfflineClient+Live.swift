import SupabaseAPI

extension OfflineClient {
  /// Puts changes of tables into the current user's cached lists as they are made on the server, over Realtime.
  ///
  /// What may have been missed, since nothing is told twice, marks the lists of these tables stale: a read or a live read
  /// asks again. Follows the session and the network switch, never gives up, and returns when the task is cancelled or the
  /// client is closed.
  ///
  /// - Parameters:
  ///   - tables: Tables of the schema `public`, whose changes the project publishes (`supabase_realtime`).
  ///   - state: Told whether changes arrive, whenever that changes.
  /// - Throws: `OfflineError.closed`; `.configuration` where the project or the environment has no Realtime.
  public func followServerChanges(
    of tables: [String], state: @escaping @Sendable (LiveState) -> Void = { _ in }
  ) async throws {
    try checkOpen()
    let rings = store.changes.rings()
    await withTaskCancellationHandler {
      var user: String?
      await withDiscardingTaskGroup { group in
        var live: LiveChanges?
        for await _ in rings where !Task.isCancelled {
          if let live, user == currentUser {
            live.look()
            continue
          }
          live?.stop()
          user = currentUser
          guard let next = liveChanges(of: tables, for: currentUser) else { break }
          live = next
          group.addTask { await next.run() }
          group.addTask { for await shown in next.states() { state(shown) } }
        }
        live?.stop()
      }
    } onCancel: {
      // The loop over the rings looks at its task when it is woken.
      store.changes.ring()
    }
    if !Task.isCancelled, environment.sockets == nil || RealtimeSession.request(of: configuration.project) == nil {
      throw OfflineError.configuration(reason: "the project or the environment has no Realtime")
    }
  }

  private func liveChanges(of tables: [String], for user: String) -> LiveChanges? {
    let engine = engine(of: user)
    return LiveChanges(
      engine: engine, tables: tables, isWanted: true, hasChanged: {},
      needsPull: { [schema = store.schema] in
        try? engine.transaction { for table in tables { try $0.markListsStale(table, schema: schema) } }
      })
  }
}
