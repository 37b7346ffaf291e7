/// What a look at a path shows while it settles.
public struct SettleSample: Sendable, Hashable {
  /// Bytes.
  public var size: Int64
  /// Modification time.
  public var modified: FileTime
  /// Whether somebody has the file open for writing.
  public var isOpen: OpenElsewhere

  /// Makes a sample.
  public init(size: Int64, modified: FileTime, isOpen: OpenElsewhere) {
    self.size = size
    self.modified = modified
    self.isOpen = isOpen
  }
}

/// Where to look now.
public struct Settled: Sendable, Hashable {
  /// Paths that have been quiet long enough, in the order in which they first changed.
  public var paths: [String] = []
  /// Folders to be listed.
  public var folders: [String] = []
  /// True when everything is to be scanned.
  public var everything = false

  /// True when there is nothing to do.
  public var isEmpty: Bool { paths.isEmpty && folders.isEmpty && !everything }
}

/// Waits until each save is finished: turns events into paths to look at.
///
/// A save is a burst of events, and none of them says that it is complete. A path is ready after a short quiet; later
/// while somebody has it open for writing, or while it keeps growing. Time is given in; nothing here waits.
public struct Settle: Sendable {
  /// How long things take.
  public struct Times: Sendable, Hashable {
    /// Quiet after the last event of a path.
    public var quiet: Duration = .milliseconds(50)
    /// Between two looks at a file that is still open, growing, or only known to have been made.
    public var growing: Duration = .seconds(1)
    /// The longest wait for a file that somebody keeps open.
    public var openAtMost: Duration = .seconds(30)
    /// The smallest size at which growing counts: a row saved twice in a second is not waited for.
    public var growingFrom: Int64 = 65_536

    /// The times that suit people and editors.
    public init() {}
  }

  private struct Entry {
    var first: Duration
    var last: Duration
    var due: Duration
    /// True when an event said that the file is whole.
    var isFinished: Bool
    var sample: SettleSample?
    var order: Int
  }

  private struct HandedOut {
    var size: Int64
    var at: Duration
  }

  private let times: Times
  private var entries: [PathKey: Entry] = [:]
  private var folders: [PathKey: Duration] = [:]
  private var scanDue: Duration?
  private var handedOut: [PathKey: HandedOut] = [:]
  private var lastOrder = 0

  /// Makes an empty machine.
  public init(_ times: Times = Times()) { self.times = times }

  /// When `due` should be called next, on the clock of the calls; nil when nothing waits.
  public var nextDue: Duration? {
    let dues = entries.values.map(\.due) + folders.values + (scanDue.map { [$0] } ?? [])
    return dues.min()
  }

  /// Takes an event.
  ///
  /// - Parameters:
  ///   - event: What the watcher told.
  ///   - now: The time since any fixed moment, on a clock that never goes back.
  public mutating func note(_ event: WatchEvent, at now: Duration) {
    switch event {
    case .changed(let path, let hint): note(path, hint, at: now)
    case .folderChanged(let folder): folders[PathKey(folder)] = now + times.quiet
    case .ready, .overflow, .lostWatch: scanDue = now
    }
  }

  private mutating func note(_ path: String, _ hint: WatchHint, at now: Duration) {
    let key = PathKey(path)
    var entry = entries[key] ?? newEntry(at: now, isFinished: hint == .touched)
    entry.last = now
    entry.due = now + times.quiet
    entry.sample = nil
    switch hint {
    case .finished, .gone: entry.isFinished = true
    case .made: entry.isFinished = false
    case .touched: break
    }
    entries[key] = entry
  }

  private mutating func newEntry(at now: Duration, isFinished: Bool) -> Entry {
    lastOrder += 1
    return Entry(first: now, last: now, due: now, isFinished: isFinished, sample: nil, order: lastOrder)
  }

  /// Gives what is ready, and forgets it.
  ///
  /// - Parameters:
  ///   - now: The time, as for `note`.
  ///   - look: A look at a path; nil when nothing lies there.
  public mutating func due(at now: Duration, look: (_ path: String) -> SettleSample?) -> Settled {
    var settled = Settled()
    if let due = scanDue, due <= now {
      settled.everything = true
      scanDue = nil
    }
    settled.folders = folders.filter { $0.value <= now }.keys.sorted().map(\.text)
    for folder in settled.folders { folders[PathKey(folder)] = nil }
    handedOut = handedOut.filter { now - $0.value.at < times.growing * 3 }
    for (key, entry) in entries.filter({ $0.value.due <= now }).sorted(by: { $0.value.order < $1.value.order }) {
      let sample = look(key.text)
      if let later = wait(for: key, entry, sample, at: now) {
        entries[key]?.due = later
        entries[key]?.sample = sample
      } else {
        entries[key] = nil
        if let sample { handedOut[key] = HandedOut(size: sample.size, at: now) }
        settled.paths.append(key.text)
      }
    }
    return settled
  }

  /// When to look again at a path that is not ready; nil when it is.
  private mutating func wait(
    for key: PathKey, _ entry: Entry, _ sample: SettleSample?, at now: Duration
  ) -> Duration? {
    guard let sample else { return nil }  // Gone: that is for the caller to judge.
    let mayWait = now - entry.first < times.openAtMost
    if sample.isOpen == .yes && mayWait { return now + (entry.isFinished ? times.quiet : times.growing) }
    if !entry.isFinished && sample.isOpen == .unknown {
      // Nobody can tell whether it is still written: two looks that show the same must do.
      return sample == entry.sample || !mayWait ? nil : now + times.growing
    }
    if let last = handedOut[key], sample.size > last.size, sample.size >= times.growingFrom,
      now - entry.last < times.growing
    {
      handedOut[key]?.at = now  // As long as it grows it is remembered that it does.
      return entry.last + times.growing
    }
    return nil
  }
}

extension FileSystem {
  /// The look that `Settle.due` asks for; nil also for what is no file, since nothing more can be learnt by waiting.
  public func settleSample(_ path: String) -> SettleSample? {
    guard let status = try? status(path), status.kind == .file else { return nil }
    let isOpen = (try? isOpenElsewhere(path)) ?? .unknown
    return SettleSample(size: status.size, modified: status.modified, isOpen: isOpen)
  }
}
