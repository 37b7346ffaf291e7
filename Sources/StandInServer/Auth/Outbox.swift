import Synchronization

/// The mails that a project would send: kept for whoever has the service key, and sent nowhere.
final class Outbox: Sendable {
  struct Mail: Sendable, Hashable {
    let address: String
    let purpose: OneTimeCode.Purpose
    let code: OneTimeCode
    /// What a person would click; `nil` for a code that is typed in only.
    let link: String?
  }

  private let kept = Mutex<[Mail]>([])

  /// How many are kept.
  private static let mailCountMax = 100

  /// The last mails, oldest first.
  var mails: [Mail] { kept.withLock { $0 } }

  func add(_ mail: Mail) {
    kept.withLock { kept in
      if kept.count == Self.mailCountMax { kept.removeFirst() }
      kept.append(mail)
    }
  }
}
