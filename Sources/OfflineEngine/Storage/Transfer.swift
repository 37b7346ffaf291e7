import SupabaseAPI

/// How far a transfer has come, in bytes.
public struct TransferProgress: Sendable, Hashable {
  /// How many bytes there are already.
  public var bytes: Int64
  /// How many there will be; `nil` while that is not known.
  public var total: Int64?
}

/// What happens while a file is sent or received.
public enum TransferEvent<Value: Sendable>: Sendable {
  /// It has come that far; never further than before.
  case progress(TransferProgress)
  /// It is done: the last event.
  case finished(Value)
}

/// A transfer as the events of its life; it begins with the sequence and is cancelled when nobody follows it any more.
///
/// A reader that is slow sees the newest progress and always the end.
public typealias Transfer<Value: Sendable> = AsyncThrowingStream<TransferEvent<Value>, any Error>

extension OfflineClient {
  func transfer<Value: Sendable>(
    _ work: @escaping @Sendable (@escaping @Sendable (TransferProgress) -> Void) async throws -> Value
  ) -> Transfer<Value> {
    Transfer(bufferingPolicy: .bufferingNewest(1)) { continuation in
      let task = Task(executorPreference: environment.executor) {
        do {
          let value = try await work { continuation.yield(.progress($0)) }
          continuation.yield(.finished(value))
          continuation.finish()
        } catch {
          continuation.finish(throwing: error)
        }
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }
}
