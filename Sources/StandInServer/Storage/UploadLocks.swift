import Glibc

/// Lets one request at a time write to a resumable upload; the next one asks the holder to let go.
final class UploadLocks: @unchecked Sendable {  // Proof: `held` is touched only under `mutex`.
  /// A right to write, until it is given back.
  final class Hold {
    fileprivate var isAskedToLetGo = false
  }

  private var held: [String: Hold] = [:]
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private let waitMilliseconds: Int

  init(waitMilliseconds: Int) {
    self.waitMilliseconds = waitMilliseconds
    pthread_mutex_init(mutex, nil)
    // Not the clock on the wall: it may be set back, and a wait with it.
    var attributes = pthread_condattr_t()
    pthread_condattr_init(&attributes)
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    pthread_cond_init(changed, &attributes)
    pthread_condattr_destroy(&attributes)
  }

  deinit {
    pthread_cond_destroy(changed)
    pthread_mutex_destroy(mutex)
    changed.deallocate()
    mutex.deallocate()
  }

  /// Waits for the right to write; `nil` when the holder does not let go in time.
  func take(_ id: String) -> Hold? {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    var end = timespec()
    clock_gettime(CLOCK_MONOTONIC, &end)
    end.tv_sec += waitMilliseconds / 1_000
    end.tv_nsec += waitMilliseconds % 1_000 * 1_000_000
    if end.tv_nsec >= 1_000_000_000 {
      end.tv_nsec -= 1_000_000_000
      end.tv_sec += 1
    }
    while let holder = held[id] {
      holder.isAskedToLetGo = true
      if pthread_cond_timedwait(changed, mutex, &end) == ETIMEDOUT { return nil }
    }
    let hold = Hold()
    held[id] = hold
    return hold
  }

  /// Whether somebody else waits for the right.
  func isWanted(_ hold: Hold) -> Bool {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return hold.isAskedToLetGo
  }

  func giveBack(_ id: String, _ hold: Hold) {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    if held[id] === hold { held[id] = nil }
    pthread_cond_broadcast(changed)
  }
}
