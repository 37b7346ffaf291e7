import Foundation
import LosslessJSON
import Synchronization
import Testing

@testable import Daemon

@Suite("The control socket", .timeLimit(.minutes(1))) struct ControlSocketTests {
  /// Asks a watcher that does `body` with the call, on a thread of its own: asking blocks.
  private func ask(
    silenceSeconds: Int = 60, _ body: @escaping @Sendable (ControlListener.Call) -> Void
  ) async throws -> ControlAnswer? {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tidemark-control-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let listener = try ControlListener(folderPath: folder.path)
    defer { listener.stop() }
    async let served: Void = { for await call in listener.calls { body(call) } }()
    let result = await withCheckedContinuation { continuation in
      Thread {
        continuation.resume(
          returning: Result {
            try ControlClient.ask(ControlRequest("x"), folderPath: folder.path, silenceSeconds: silenceSeconds)
          })
      }.start()
    }
    listener.stop()
    await served
    return try result.get()
  }

  @Test("a watcher that takes the connection and says nothing is told apart from one that works")
  func silent() async throws {
    let kept = Kept()
    await #expect(throws: DaemonError.silentWatcher(seconds: 1)) {
      _ = try await ask(silenceSeconds: 1) { kept.add($0) }
    }
  }

  @Test("empty lines before the answer only say that the work goes on")
  func working() async throws {
    let answer = try await ask { call in
      for _ in 0..<3 { call.sayWorking() }
      call.answer(.result("done"))
    }
    #expect(answer == .result("done"))
  }
}

/// Keeps calls, so that their connections stay open.
private final class Kept: Sendable {
  private let calls = Mutex<[ControlListener.Call]>([])

  func add(_ call: ControlListener.Call) { calls.withLock { $0.append(call) } }
}
