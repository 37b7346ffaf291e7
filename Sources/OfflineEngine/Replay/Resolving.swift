import LosslessJSON
import Synchronization

extension UserEngine {
  /// How long a resolver may take (spec 5, "The resolver").
  private static let resolverLimit = Duration.seconds(30)

  /// The resolver's word about a conflict, asked outside every transaction.
  ///
  /// - Returns: `hold` also when the resolver throws or takes too long; its late answer is dropped.
  /// - Throws: `SyncFailure.cancelled` when the pass or the resolver was cancelled: nothing is decided then.
  func resolution(
    of attempt: GuardedAttempt, server: JSONObject?, _ comparison: ConflictComparison?
  ) async throws(SyncFailure) -> ConflictResolution {
    let write = attempt.mutation.write
    let isDelete = write.operation == .delete
    let conflict = MutationConflict(
      mutationID: attempt.mutation.id, table: write.table, operation: write.operation, rowKey: write.key,
      base: seen(attempt), local: isDelete ? nil : write.values, server: server,
      changedOnServer: isDelete ? [] : comparison?.changedOnServer ?? [],
      conflictingColumns: isDelete ? [] : comparison?.conflictingColumns ?? [])
    let (resolver, clock) = (configuration.resolver, environment.clock)
    let word = FirstWord()
    // Tasks of their own: a group would wait for a resolver that never ends.
    let asked = Task(executorPreference: environment.executor) {
      do {
        word.say(try await resolver(conflict))
      } catch is CancellationError {
        word.say(nil)
      } catch {
        word.say(.hold)
      }
    }
    let timer = Task(executorPreference: environment.executor) {
      guard (try? await clock.sleep(for: Self.resolverLimit)) != nil else { return }
      word.say(.hold)
    }
    let resolution = await withTaskCancellationHandler {
      await word.heard()
    } onCancel: {
      word.say(nil)
      asked.cancel()
    }
    timer.cancel()
    guard let resolution else { throw .cancelled }
    return resolution
  }
}

extension UserEngine {
  /// What this device saw before a write: the columns it sets, and the version.
  private func seen(_ attempt: GuardedAttempt) -> JSONObject {
    guard let version = attempt.base.version,
      let column = configuration.description(of: attempt.mutation.write.table)?.versionColumn
    else { return attempt.base.values }
    return attempt.base.values.merging([column: .string(version)])
  }
}

/// Takes the first of several answers and drops the others; `nil` is the answer that there will be none.
private final class FirstWord: Sendable {
  private struct State {
    var word: ConflictResolution??
    var listener: CheckedContinuation<ConflictResolution?, Never>?
  }

  private let state = Mutex(State())

  func say(_ word: ConflictResolution?) {
    let listener = state.withLock { state -> CheckedContinuation<ConflictResolution?, Never>? in
      guard state.word == nil else { return nil }
      state.word = .some(word)
      defer { state.listener = nil }
      return state.listener
    }
    listener?.resume(returning: word)
  }

  /// The first answer; to be asked for once.
  func heard() async -> ConflictResolution? {
    await withCheckedContinuation { continuation in
      let word = state.withLock { state -> ConflictResolution?? in
        if state.word == nil { state.listener = continuation }
        return state.word
      }
      if let word { continuation.resume(returning: word) }
    }
  }
}
