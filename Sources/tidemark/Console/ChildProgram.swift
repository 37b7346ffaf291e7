import Glibc

/// Another program that a command runs and waits for.
enum ChildProgram {
  /// What it came to.
  struct Finished {
    /// Its exit code, or 128 and the signal that ended it.
    var status: Int32
    /// What it printed, where that was asked for.
    var output: String
  }

  /// Runs a program, found as a shell finds it, on this process's terminal.
  ///
  /// Ctrl-C is the program's while it runs, unless its output is captured; then it has no input either.
  ///
  /// - Parameters:
  ///   - words: Its name and its arguments.
  ///   - environment: Its environment.
  ///   - capturesOutput: Whether its output is returned, and its error output dropped.
  /// - Throws: `CommandFailure` when it cannot be started.
  static func run(
    _ words: [String], environment: [String: String], capturesOutput: Bool = false
  ) throws(CommandFailure) -> Finished {
    var ends: [Int32] = [-1, -1]
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    if capturesOutput {
      guard pipe(&ends) == 0 else { throw failure(words, errno) }
      for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
      posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO)
      posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
      posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
    }
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    sigemptyset(&signals)
    for number in [SIGINT, SIGQUIT, SIGPIPE] { sigaddset(&signals, number) }
    posix_spawnattr_setsigdefault(&attributes, &signals)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))

    // A program that nobody sees has no use for Ctrl-C; whoever runs it has.
    let before = capturesOutput ? [] : [SIGINT, SIGQUIT].map { ($0, signal($0, SIG_IGN)) }
    defer { for (number, handler) in before { signal(number, handler) } }
    var child: pid_t = 0
    let arguments = words.map { strdup($0) } + [nil]
    let variables = environment.map { strdup("\($0)=\($1)") } + [nil]
    defer { for text in arguments + variables { free(text) } }
    let code = posix_spawnp(&child, words.first ?? "", &actions, &attributes, arguments, variables)
    if capturesOutput { close(ends[1]) }
    defer { if capturesOutput { close(ends[0]) } }
    guard code == 0 else { throw failure(words, code) }
    var output: [UInt8] = []
    if capturesOutput {
      var chunk = [UInt8](repeating: 0, count: 4_096)
      while true {
        let count = read(ends[0], &chunk, chunk.count)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { break }
        output += chunk[..<count]
      }
    }
    var status: Int32 = 0
    while waitpid(child, &status, 0) < 0, errno == EINTR {}
    return Finished(
      status: status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + (status & 0x7F),
      output: String(decoding: output, as: UTF8.self))
  }

  private static func failure(_ words: [String], _ code: Int32) -> CommandFailure {
    CommandFailure(
      message: "'\(Terminal.safe(words.first ?? ""))' cannot be started: \(String(cString: strerror(code)))")
  }
}
