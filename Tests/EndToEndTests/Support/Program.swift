import Foundation
import Glibc
import Synchronization
import Testing

/// The built program, as its users start it.
enum Tidemark {
  /// `TIDEMARK` in the environment, or what the package's debug build made.
  static let path: String = {
    if let given = ProcessInfo.processInfo.environment["TIDEMARK"], !given.isEmpty { return given }
    return packageRoot + "/.build/debug/tidemark"
  }()

  static let packageRoot = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().path

  /// Runs a command to its end.
  static func run(_ arguments: [String], input: String? = nil, in folder: String? = nil) async throws -> Finished {
    let program = try Program(arguments, input: input, in: folder)
    return await program.finished()
  }
}

/// A program that has ended.
struct Finished {
  var status: Int32
  var output: String
  var errors: String

  /// The output as one JSON object.
  func json(at location: SourceLocation = #_sourceLocation) throws -> [String: Any] {
    let value = try? JSONSerialization.jsonObject(with: Data(output.utf8)) as? [String: Any]
    return try #require(value, "no JSON object: \(output) \(errors)", sourceLocation: location)
  }
}

/// A running program whose lines can be waited for.
///
/// Nothing here waits by the clock: a test that waits in vain is ended by its time limit.
final class Program: Sendable {
  fileprivate struct State {
    var lines: [String] = []
    var errors = ""
    var partial: [UInt8] = []
    var openStreams = 2
    var status: Int32?
    var waiters: [UUID: CheckedContinuation<Void, Never>] = [:]
  }

  /// The kernel's number of it.
  let processID: pid_t
  private let state = Mutex(State())

  /// Pipes are made and handed on by one caller at a time: a program started in between would hold them open for ever.
  ///
  /// Holds the programs that run; none outlives the tests, whichever of them fail.
  private static let spawning = Mutex<Set<pid_t>?>(nil)

  private static func endAll() {
    for processID in spawning.withLock({ $0 ?? [] }) { kill(processID, SIGKILL) }
  }

  /// Starts the program with `arguments`.
  convenience init(_ arguments: [String], input: String? = nil, in folder: String? = nil) throws {
    // A shell changes the folder: posix_spawn cannot everywhere.
    let shell = folder.map { ["/bin/sh", "-c", "cd \"$0\" && exec \"$@\"", $0] } ?? []
    try self.init(words: shell + [Tidemark.path] + arguments, input: input)
  }

  /// Starts the example program that is built beside the program.
  convenience init(example arguments: [String], password: String, input: String) throws {
    let folder = URL(fileURLWithPath: Tidemark.path).deletingLastPathComponent().path
    try self.init(
      words: ["/usr/bin/env", "OFFLINE_TASKS_PASSWORD=\(password)", "\(folder)/offline-tasks"] + arguments, input: input
    )
  }

  /// Starts a shell script in a folder.
  convenience init(shell script: String, in folder: String, input: String? = nil) throws {
    try self.init(words: ["/bin/sh", "-c", "cd \"$0\"\n" + script, folder], input: input)
  }

  private init(words: [String], input: String?) throws {
    let variables = ["PATH=/usr/bin:/bin", "HOME=/nonexistent", "LC_ALL=C.UTF-8"]
    let started = try Self.spawning.withLock { running in
      if running == nil { atexit { Program.endAll() } }
      let started = try Self.start(words, variables)
      running = (running ?? []).union([started.processID])
      return started
    }
    processID = started.processID
    read(started.output) { $0.take($1) }
    read(started.errors) { $0.errors += String(decoding: $1, as: UTF8.self) }
    Thread.detachNewThread { [self, processID] in
      var status: Int32 = 0
      while waitpid(processID, &status, 0) < 0, errno == EINTR {}
      Self.spawning.withLock { _ = $0?.remove(processID) }
      // As a shell tells it: the exit code, or 128 and the signal.
      change { $0.status = status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + (status & 0x7F) }
    }
    let bytes = Array((input ?? "").utf8)
    write(started.input, bytes, bytes.count)
    close(started.input)
  }

  private struct Started {
    var processID: pid_t
    var input: Int32
    var output: Int32
    var errors: Int32
  }

  private static func start(_ words: [String], _ variables: [String]) throws -> Started {
    var pipes: [[Int32]] = []
    for _ in 0..<3 {
      var ends: [Int32] = [-1, -1]
      try #require(pipe(&ends) == 0)
      for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
      pipes.append(ends)
    }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, pipes[0][0], 0)
    posix_spawn_file_actions_adddup2(&actions, pipes[1][1], 1)
    posix_spawn_file_actions_adddup2(&actions, pipes[2][1], 2)
    var processID: pid_t = 0
    let arguments = words.map { strdup($0) } + [nil]
    let environment = variables.map { strdup($0) } + [nil]
    defer { for text in arguments + environment { free(text) } }
    let code = posix_spawn(&processID, words[0], &actions, nil, arguments, environment)
    for end in [pipes[0][0], pipes[1][1], pipes[2][1]] { close(end) }
    try #require(code == 0, "\(words[0]): \(String(cString: strerror(code)))")
    return Started(processID: processID, input: pipes[0][1], output: pipes[1][0], errors: pipes[2][0])
  }

  private func read(_ descriptor: Int32, _ body: @escaping @Sendable (inout State, ArraySlice<UInt8>) -> Void) {
    Thread.detachNewThread { [self] in
      var chunk = [UInt8](repeating: 0, count: 65_536)
      while true {
        let count = Glibc.read(descriptor, &chunk, chunk.count)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { break }
        change { body(&$0, chunk[..<count]) }
      }
      close(descriptor)
      change { $0.openStreams -= 1 }
    }
  }

  private func change(_ body: (inout State) -> Void) {
    let waiters = state.withLock { state in
      body(&state)
      defer { state.waiters = [:] }
      return Array(state.waiters.values)
    }
    for waiter in waiters { waiter.resume() }
  }

  /// Suspends until `condition` gives a value; it is asked again whenever the program says something or ends.
  private func wait<T: Sendable>(_ condition: @Sendable (State) -> T?) async -> T? {
    while true {
      if let value = state.withLock({ condition($0) }) { return value }
      if Task.isCancelled { return nil }
      let id = UUID()
      await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
          let isDone = state.withLock { state in
            if condition(state) != nil || Task.isCancelled { return true }
            state.waiters[id] = continuation
            return false
          }
          if isDone { continuation.resume() }
        }
      } onCancel: {
        state.withLock { $0.waiters.removeValue(forKey: id) }?.resume()
      }
    }
  }

  /// Waits for a line of the output, at or behind the line numbered `start`, that holds all of `words`.
  ///
  /// - Returns: The number of the line behind it.
  @discardableResult
  func line(
    with words: String..., from start: Int = 0, at location: SourceLocation = #_sourceLocation
  ) async throws -> Int {
    let found = await wait { state -> Int?? in
      if let index = state.lines.indices.dropFirst(start).first(where: { index in
        words.allSatisfy { state.lines[index].contains($0) }
      }) {
        return .some(index + 1)
      }
      return state.status != nil && state.openStreams == 0 ? .some(nil) : nil
    }
    let said = state.withLock { $0.lines.joined(separator: "\n") + $0.errors }
    let number: Int? = found ?? nil
    return try #require(number, "no line with \(words) in:\n\(said)", sourceLocation: location)
  }

  /// What it has said so far, line by line.
  var lines: [String] { state.withLock(\.lines) }

  /// The lines of its standard error so far.
  var errorLines: [Substring] { state.withLock { $0.errors.split(separator: "\n") } }

  /// Waits until it has said so many lines, or ended.
  func said(_ count: Int) async {
    _ = await wait { state in
      state.lines.count >= count || state.status != nil && state.openStreams == 0 ? true : nil
    }
  }

  /// The first line of its output; empty before there is one.
  var firstLine: String { state.withLock { $0.lines.first ?? "" } }

  /// How many lines it has said so far.
  var lineCount: Int { state.withLock { $0.lines.count } }

  /// Waits for its end.
  func finished() async -> Finished {
    let finished = await wait { state in
      state.openStreams == 0
        ? state.status.map {
          Finished(status: $0, output: state.lines.map { $0 + "\n" }.joined(), errors: state.errors)
        } : nil
    }
    return finished ?? Finished(status: -1, output: "", errors: "not waited for")
  }

  func signal(_ number: Int32) { kill(processID, number) }

  /// Asks it to stop, and waits.
  @discardableResult
  func stop() async -> Finished {
    signal(SIGTERM)
    return await finished()
  }

}

extension Program.State {
  fileprivate mutating func take(_ data: ArraySlice<UInt8>) {
    partial += data
    while let end = partial.firstIndex(of: 10) {
      lines.append(String(decoding: partial[..<end], as: UTF8.self))
      partial.removeSubrange(...end)
    }
  }
}
