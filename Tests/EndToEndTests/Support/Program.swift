import Foundation
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

  private let process: Process
  private let state = Mutex(State())

  init(_ arguments: [String], input: String? = nil, in folder: String? = nil, environment: [String: String] = [:]) throws {
    process = Process()
    process.executableURL = URL(fileURLWithPath: Tidemark.path)
    process.arguments = arguments
    process.environment = ["PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "LC_ALL": "C.UTF-8"].merging(environment) { $1 }
    if let folder { process.currentDirectoryURL = URL(fileURLWithPath: folder) }
    let (output, errors, standardInput) = (Pipe(), Pipe(), Pipe())
    process.standardOutput = output
    process.standardError = errors
    process.standardInput = standardInput
    output.fileHandleForReading.readabilityHandler = { [self] handle in take(handle) { $0.take($1) } }
    errors.fileHandleForReading.readabilityHandler = { [self] handle in
      take(handle) { $0.errors += String(decoding: $1, as: UTF8.self) }
    }
    process.terminationHandler = { [self] ended in change { $0.status = ended.terminationStatus } }
    try process.run()
    if let input { try standardInput.fileHandleForWriting.write(contentsOf: Data(input.utf8)) }
    try standardInput.fileHandleForWriting.close()
  }

  private func take(_ handle: FileHandle, _ body: (inout State, Data) -> Void) {
    let data = handle.availableData
    change { state in
      if data.isEmpty {
        handle.readabilityHandler = nil
        state.openStreams -= 1
      } else {
        body(&state, data)
      }
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

  func signal(_ number: Int32) { kill(process.processIdentifier, number) }

  /// Asks it to stop, and waits.
  @discardableResult
  func stop() async -> Finished {
    signal(SIGTERM)
    return await finished()
  }

  deinit { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }
}

extension Program.State {
  fileprivate mutating func take(_ data: Data) {
    partial += data
    while let end = partial.firstIndex(of: 10) {
      lines.append(String(decoding: partial[..<end], as: UTF8.self))
      partial.removeSubrange(...end)
    }
  }
}
