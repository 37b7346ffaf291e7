import Glibc

/// A program that was started, and the lines it has said so far.
///
/// Nothing reads by itself: whoever waits calls `Stage.pump`, which reads from every program, so that none is held up by
/// a full pipe.
final class ChildProcess {
  /// Why a program could not be started, or what it came to.
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  private struct Stream {
    var descriptor: Int32
    var partial: [UInt8] = []
  }

  let id: pid_t
  private let name: String
  private(set) var lines: [String] = []
  private var streams: [Stream]
  /// The exit code, or 128 and the signal, once it is known.
  private(set) var status: Int32?

  /// What one pipe holds before its writer has to wait.
  private static let pipeBytes: Int32 = 1 << 20
  /// `F_SETPIPE_SZ`, which glibc shows only to programs that ask for GNU's extensions.
  private static let setPipeSize: Int32 = 1_031

  init(_ words: [String]) throws {
    name = words.joined(separator: " ")
    var pipes: [[Int32]] = []
    for _ in 0..<2 {
      var ends: [Int32] = [-1, -1]
      guard pipe(&ends) == 0 else { throw Failure(description: "no pipe: \(String(cString: strerror(errno)))") }
      for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
      _ = fcntl(ends[0], Self.setPipeSize, Self.pipeBytes)
      _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
      pipes.append(ends)
    }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, pipes[0][1], 1)
    posix_spawn_file_actions_adddup2(&actions, pipes[1][1], 2)
    let arguments = words.map { strdup($0) } + [nil]
    defer { for text in arguments { free(text) } }
    var started: pid_t = 0
    let code = posix_spawnp(&started, words[0], &actions, nil, arguments, environ)
    for ends in pipes { close(ends[1]) }
    streams = pipes.map { Stream(descriptor: $0[0]) }
    id = started
    guard code == 0 else { throw Failure(description: "\(words[0]): \(String(cString: strerror(code)))") }
  }

  deinit {
    for stream in streams { close(stream.descriptor) }
    guard status == nil, id > 0 else { return }
    kill(id, SIGKILL)
    waitpid(id, nil, 0)
  }

  /// What `poll` is to look at.
  var descriptors: [Int32] { streams.map(\.descriptor) }

  /// Takes what has been said; learns of the end when both streams are closed.
  func read() {
    var chunk = [UInt8](repeating: 0, count: 65_536)
    for index in streams.indices.reversed() {
      while true {
        let count = Glibc.read(streams[index].descriptor, &chunk, chunk.count)
        if count > 0 {
          take(chunk[..<count], index)
          continue
        }
        if count < 0, errno == EINTR { continue }
        if count == 0 {
          close(streams[index].descriptor)
          streams.remove(at: index)
        }
        break
      }
    }
    guard streams.isEmpty, status == nil else { return }
    var code: Int32 = 0
    while waitpid(id, &code, 0) < 0, errno == EINTR {}
    status = code & 0x7F == 0 ? (code >> 8) & 0xFF : 128 + (code & 0x7F)
  }

  private func take(_ bytes: ArraySlice<UInt8>, _ index: Int) {
    streams[index].partial += bytes
    while let end = streams[index].partial.firstIndex(of: 10) {
      lines.append(String(decoding: streams[index].partial[..<end], as: UTF8.self))
      streams[index].partial.removeSubrange(...end)
    }
  }

  /// Waits for its end, for a program that runs alone.
  func wait() throws {
    while status == nil {
      var waiting = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      poll(&waiting, nfds_t(waiting.count), 1_000)
      read()
    }
    guard status == 0 else { throw failure("ended with \(status ?? -1)") }
  }

  func signal(_ number: Int32) { if status == nil { kill(id, number) } }

  /// An error that shows what it said last.
  func failure(_ what: String) -> Failure {
    Failure(description: "\(what): \(name)\n\(lines.suffix(10).joined(separator: "\n"))")
  }

  /// A line of its `/proc/…/status`, such as `VmRSS`, in bytes.
  func memory(_ field: String) throws -> Double {
    guard let bytes = try Machine.memory(field, of: "\(id)") else { throw failure("/proc has no \(field)") }
    return bytes
  }

  /// The processor time it has used, in seconds.
  func processorTime() throws -> Double {
    let fields = try Files.text("/proc/\(id)/stat").split(separator: ")").last?.split(separator: " ") ?? []
    guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else {
      throw failure("/proc has no times")
    }
    return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
  }
}
