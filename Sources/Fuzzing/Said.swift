import Synchronization

/// Collects what one connection says.
final class Said: Sendable {
  private let state = Mutex<[String]>([])

  /// What it said so far.
  var texts: [String] { state.withLock(\.self) }

  func add(_ text: String) { state.withLock { $0.append(text) } }
}
