import CCurl
import Glibc
import Synchronization
import Threads

/// The thread that owns libcurl's multi handle; everybody else posts commands to it.
///
/// Unchecked because the compiler cannot see the thread: `multi` is used by `run` alone, except for
/// `curl_multi_wakeup`, which libcurl makes for other threads and which is called only under the lock that `run` takes
/// before it frees or replaces the handle.
final class CurlLoop: @unchecked Sendable {
  /// A request on its way to the thread, with the caller that waits for it.
  struct Start: Sendable {
    let id: UInt64
    let request: HTTPRequest
    let bodies: HTTPBodies
    let address: HTTPAddress
    let continuation: CheckedContinuation<Result<HTTPResponse, HTTPError>, Never>
  }

  /// What the thread can be asked to do.
  enum Command: Sendable {
    case start(Start)
    case cancel(UInt64)
    case forgetConnections
    case stop
  }

  private struct Inbox: Sendable {
    var commands: [Command] = []
    var waitingForEnd: [CheckedContinuation<Void, Never>] = []
    var isClosed = false
  }

  private let settings: CurlSettings
  private var multi: UnsafeMutableRawPointer?
  private let inbox = Mutex(Inbox())
  private let lastID = Atomic<UInt64>(0)
  /// Touched by the thread alone.
  private var transfers: [UInt64: CurlTransfer] = [:]

  /// Runs once a process, before any handle is made; libcurl counts nothing that would need an end.
  static let isReady = curl_global_init(Int(CURL_GLOBAL_ALL)) == CURLE_OK

  init(_ settings: CurlSettings) {
    self.settings = settings
    multi = Self.isReady ? Self.makeMulti(settings) : nil
  }

  private static func makeMulti(_ settings: CurlSettings) -> UnsafeMutableRawPointer? {
    let multi = curl_multi_init()
    tm_multi_setopt_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, settings.connectionsPerHostMax)
    tm_multi_setopt_long(multi, CURLMOPT_MAXCONNECTS, settings.connectionsPerHostMax * 2)
    return multi
  }

  func nextID() -> UInt64 { lastID.add(1, ordering: .relaxed).newValue }

  /// Starts the thread, which keeps this object alive until a `stop`.
  func start() {
    guard multi != nil else { return inbox.withLock { $0.isClosed = true } }
    guard !BlockingThread({ self.run() }).start() else { return }
    inbox.withLock { $0.isClosed = true }
    curl_multi_cleanup(multi)
  }

  /// Hands a command to the thread, unless it has ended.
  ///
  /// - Returns: Whether the command (and the one that waits for the end) will be seen.
  @discardableResult
  func post(_ command: Command, whenEnded waiting: CheckedContinuation<Void, Never>? = nil) -> Bool {
    inbox.withLock { inbox in
      guard !inbox.isClosed else { return false }
      inbox.commands.append(command)
      if let waiting { inbox.waitingForEnd.append(waiting) }
      curl_multi_wakeup(multi)
      return true
    }
  }

  private func run() {
    Self.blockSignals()
    while takeCommands() {
      var running: Int32 = 0
      curl_multi_perform(multi, &running)
      finishTransfers()
      // A post wakes the wait. Without transfers nothing else can happen, so an idle daemon does not wake up.
      curl_multi_poll(multi, nil, 0, transfers.isEmpty ? 3_600_000 : 1_000, nil)
    }
    end()
  }

  /// Signals belong to the main thread; and OpenSSL writes to closed sockets without asking for no SIGPIPE.
  static func blockSignals() {
    var all = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_BLOCK, &all, nil)
  }

  /// Does what was posted; false once a stop is among it.
  private func takeCommands() -> Bool {
    let commands = inbox.withLock { inbox in
      let taken = inbox.commands
      inbox.commands = []
      return taken
    }
    var goesOn = true
    for command in commands {
      switch command {
      case .start(let start): begin(start)
      case .cancel(let id): cancel(id)
      case .forgetConnections: forgetConnections()
      case .stop: goesOn = false
      }
    }
    return goesOn
  }

  private func begin(_ start: Start) {
    guard let transfer = CurlTransfer(start, settings: settings),
      curl_multi_add_handle(multi, transfer.easy) == CURLM_OK
    else { return start.continuation.resume(returning: .failure(.closed)) }
    transfers[start.id] = transfer
  }

  private func cancel(_ id: UInt64) {
    guard let transfer = transfers.removeValue(forKey: id) else { return }
    curl_multi_remove_handle(multi, transfer.easy)
    transfer.abandon()
  }

  /// The connections live and die with the multi handle, so it gives way to a new one.
  private func forgetConnections() {
    guard let new = Self.makeMulti(settings) else { return }
    for id in transfers.keys.sorted() {
      guard let transfer = transfers.removeValue(forKey: id) else { continue }
      curl_multi_remove_handle(multi, transfer.easy)
      transfer.cutOff()
    }
    let old = inbox.withLock { _ in
      defer { multi = new }
      return multi
    }
    curl_multi_cleanup(old)
  }

  private func finishTransfers() {
    var left: Int32 = 0
    while let message = curl_multi_info_read(multi, &left) {
      guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle else { continue }
      let code = message.pointee.data.result
      guard let (id, transfer) = transfers.first(where: { $0.value.easy == easy }) else { continue }
      transfers[id] = nil
      curl_multi_remove_handle(multi, easy)
      transfer.finish(code)
    }
  }

  private func end() {
    let rest = inbox.withLock { inbox in
      inbox.isClosed = true
      return inbox
    }
    for case .start(let start) in rest.commands { start.continuation.resume(returning: .failure(.closed)) }
    for id in transfers.keys.sorted() { cancel(id) }
    curl_multi_cleanup(multi)
    for waiting in rest.waitingForEnd { waiting.resume() }
  }
}
