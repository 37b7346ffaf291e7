import SupabaseAPI

/// Why a call to Storage gave nothing.
public enum StorageFailure: Error, Sendable, CustomStringConvertible {
  /// The server's last word on this very object.
  case refused(ServerError)
  /// Nothing is decided: the network, the session or the server stands in the way of every call.
  case stopped(SyncFailure, retryAfter: Int?)

  /// What happened.
  public var description: String {
    switch self {
    case .refused(let error): "\(error)"
    case .stopped(let failure, _): "\(failure)"
    }
  }
}

extension UserEngine {
  /// Calls the project's Storage as the user, with one refresh of a refused token; nothing of it is queued.
  public func storage<T: Sendable>(
    _ body: (StorageClient, Secret?) async throws(SupabaseError) -> T
  ) async throws(StorageFailure) -> T {
    let storage = StorageClient(project: configuration.project, http: environment.http)
    let token = try await storageToken()
    do {
      let result = try await body(storage, token)
      noteAnswer()
      return result
    } catch .tokenRefused {
      let fresh = try await storageToken(replacing: token)
      do {
        let result = try await body(storage, fresh)
        noteAnswer()
        return result
      } catch {
        throw storageFailure(error)
      }
    } catch {
      throw storageFailure(error)
    }
  }

  /// Stores a content as an object in pieces, from the place where an earlier run was broken off.
  ///
  /// A content of another mark under the same key begins anew.
  ///
  /// - Throws: As ``storage(_:)``; a refusal has the code that one of the whole upload has.
  public func uploadInPieces(
    _ path: ObjectPath, _ body: ResumableBody, _ options: UploadOptions,
    progress: @escaping @Sendable (TransferProgress) -> Void = { _ in }
  ) async throws(StorageFailure) {
    do {
      let places = ResumableStore(store, user: user, path)
      _ = try await ResumableRun(UserStorageCalls(engine: self), places, path, body, options, report: progress).run()
    } catch {
      throw Self.failure(error)
    }
  }

  /// Gives up the upload in pieces that was broken off under a key; does nothing where there is none.
  public func abandonUpload(_ path: ObjectPath) async throws(StorageFailure) {
    do { try await abandon(UserStorageCalls(engine: self), ResumableStore(store, user: user, path)) } catch {
      throw Self.failure(error)
    }
  }

  private static func failure(_ error: any Error) -> StorageFailure {
    switch error {
    case let failure as StorageFailure: failure
    case is CancellationError: .stopped(.cancelled, retryAfter: nil)
    default: .stopped(.local(reason: "\(error)"), retryAfter: nil)
    }
  }

  private func storageToken(replacing refused: Secret? = nil) async throws(StorageFailure) -> Secret? {
    do throws(RequestFailure) {
      try checkMayAsk()
      return try await token(replacing: refused)
    } catch {
      throw .stopped(error.reason, retryAfter: nil)
    }
  }

  private func noteAnswer() { updateNetwork(.online) }

  private func storageFailure(_ error: SupabaseError) -> StorageFailure {
    if case .refused(let refusal) = error { return .refused(refusal) }
    if error.isConnectivity { updateNetwork(.offline) } else if error.status != nil { updateNetwork(.online) }
    if case .http(.body(let reason)) = error { return .stopped(.local(reason: reason), retryAfter: nil) }
    return .stopped(SyncFailure(error, table: "storage"), retryAfter: error.retryAfter)
  }
}
