import Synchronization

@testable import FileWorkspace

struct JournalFailure: Error {}

/// A journal in memory that is as durable as a database, and dies with its file system.
final class MemoryJournal: WriteBackJournal {
  struct State {
    var intents: [WriteBackIntent] = []
    var replaced: [ReplacedFile] = []
    var settled: [SettledIntent] = []
    var recordCount = 0
    var failsRecord = false
    var failsComplete = false
  }

  let state = Mutex(State())
  private let isDead: @Sendable () -> Bool

  init(isDead: @escaping @Sendable () -> Bool = { false }) { self.isDead = isDead }

  func change(_ body: (inout State) -> Void) { state.withLock { body(&$0) } }

  func complete(_ settled: [SettledIntent], recording intents: [WriteBackIntent]) throws {
    if isDead() { throw JournalFailure() }
    try state.withLock { state in
      if state.failsComplete && !settled.isEmpty || state.failsRecord && !intents.isEmpty { throw JournalFailure() }
      if !intents.isEmpty { state.recordCount += 1 }
      state.intents += intents
      let done = Set(settled.map(\.intent))
      state.intents.removeAll { done.contains($0) }
      state.settled += settled
      for file in settled.flatMap(\.replaced) {
        state.replaced.removeAll { $0.path == file.path }
        state.replaced.append(file)
      }
    }
  }

  func pendingIntents() throws -> [WriteBackIntent] { state.withLock { $0.intents } }

  func replacedFiles() throws -> [ReplacedFile] { state.withLock { $0.replaced } }

  func replacedFile(_ path: String) throws -> ReplacedFile? {
    state.withLock { $0.replaced.first { $0.path == path } }
  }

  func updateReplaced(_ files: [ReplacedFile]) throws {
    state.withLock { state in
      for file in files {
        state.replaced.removeAll { $0.path == file.path }
        state.replaced.append(file)
      }
    }
  }

  func forgetReplaced(_ paths: [String]) throws {
    state.withLock { state in state.replaced.removeAll { paths.contains($0.path) } }
  }
}
