/// What the program's exit code says.
///
/// Scripts rely on the numbers.
enum ExitStatus: Int32 {
  /// Done, and everything is in step.
  case success = 0
  /// Something failed; the message says what.
  case failure = 1
  /// The command line was wrong.
  case usage = 2
  /// Changes still wait, for the network or for another process.
  case waiting = 3
  /// Something needs a person: a conflict, a refusal, a file that cannot be read, a held delete.
  case needsPerson = 4

  /// The status that wins where several apply: 1, then 4, then 3.
  static func worst(of statuses: [ExitStatus]) -> ExitStatus {
    for status in [ExitStatus.usage, .failure, .needsPerson, .waiting] where statuses.contains(status) { return status }
    return .success
  }
}

/// A failure with its message for the person, already complete.
struct CommandFailure: Error {
  var message: String
  var status: ExitStatus = .failure
}
