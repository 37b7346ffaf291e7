import Synchronization

/// Reports progress that never goes back, though a request that went out twice begins anew.
final class Monotonic: Sendable {
  private let total: Int64?
  private let report: @Sendable (TransferProgress) -> Void
  private let last = Mutex<Int64>(-1)

  init(total: Int64?, _ report: @escaping @Sendable (TransferProgress) -> Void) {
    self.total = total
    self.report = report
  }

  func note(_ bytes: Int64, of known: Int64? = nil) {
    let total = total ?? known
    let isNews = last.withLock { last in
      // What goes around the bytes counts on the wire, and is no part of the file.
      guard bytes > last, total.map({ bytes <= $0 }) ?? true else { return false }
      last = bytes
      return true
    }
    if isNews { report(TransferProgress(bytes: bytes, total: total)) }
  }
}
