import SupabaseAPI

/// Who sends calls to Storage as one user, and what the failures of such a call mean.
///
/// A client and a workspace's engine fail in types of their own.
protocol StorageCalls: Sendable {
  var environment: EngineEnvironment { get }
  /// Sends something, with one refresh of a refused token.
  func call<T: Sendable>(_ body: (StorageClient, Secret?) async throws(SupabaseError) -> T) async throws -> T
  /// What a failure of `call` says of the request.
  func meaning(of error: any Error) -> StorageMeaning
  /// The failure that a refusal is.
  func failure(_ refusal: ServerError) -> any Error
  /// The failure that a file is which was changed while it was sent.
  var changedWhileSent: any Error { get }
}

/// What a failure of a call to Storage says of the request.
enum StorageMeaning {
  /// The server has refused it.
  case refused(ServerError)
  /// The server cannot do it now.
  case unavailable
  /// Nothing is decided.
  case undecided
}

extension StorageReference: StorageCalls {
  var environment: EngineEnvironment { client.environment }

  func meaning(of error: any Error) -> StorageMeaning {
    switch error {
    case OfflineError.refused(let refusal): .refused(refusal)
    case OfflineError.unavailable: .unavailable
    default: .undecided
    }
  }

  func failure(_ refusal: ServerError) -> any Error { OfflineError.refused(refusal) }

  var changedWhileSent: any Error { OfflineError.file(reason: "it was changed while it was sent") }
}

/// The engine's own calls, as values: `UserEngine` shows them with typed errors.
struct UserStorageCalls: StorageCalls {
  let engine: UserEngine

  var environment: EngineEnvironment { engine.environment }

  func call<T: Sendable>(_ body: (StorageClient, Secret?) async throws(SupabaseError) -> T) async throws -> T {
    try await engine.storage(body)
  }

  func meaning(of error: any Error) -> StorageMeaning {
    switch error {
    case StorageFailure.refused(let refusal): .refused(refusal)
    case StorageFailure.stopped(.unavailable, _): .unavailable
    default: .undecided
    }
  }

  func failure(_ refusal: ServerError) -> any Error { StorageFailure.refused(refusal) }

  var changedWhileSent: any Error {
    StorageFailure.stopped(.local(reason: "it was changed while it was sent"), retryAfter: nil)
  }
}
