import Glibc

/// Lives many days, one after another in each of several processes: a day leaves its thread to nobody, and a process with
/// one thread takes and frees memory without locks.
struct ManyDays {
  /// What the days of one process, or of all, came to.
  struct Count {
    var lived = 0
    var failed = 0
  }

  /// Which of the days are one process's: every `total`th from `index` on.
  struct Share {
    var index: Int
    var total: Int

    init(index: Int, total: Int) { (self.index, self.total) = (index, total) }

    /// Reads `0/2`.
    init?(_ text: String) {
      let numbers = text.split(separator: "/").compactMap { Int($0) }
      guard numbers.count == 2, numbers[1] > 0, (0..<numbers[1]).contains(numbers[0]) else { return nil }
      self.init(index: numbers[0], total: numbers[1])
    }

    var text: String { "\(index)/\(total)" }
  }

  /// What a process could not do.
  struct Trouble: Error, CustomStringConvertible {
    let description: String
  }

  let seeds: ClosedRange<UInt64>
  let hasPhotos: Bool
  let stopsAtFirst: Bool
  /// Where the process of a share tells what its days came to.
  private static let tellingDescriptor: Int32 = 3

  /// - Parameter hasPhotos: Whether there are photos on the days.
  init(_ seeds: ClosedRange<UInt64>, hasPhotos: Bool = false, stopsAtFirst: Bool) {
    self.seeds = seeds
    self.hasPhotos = hasPhotos
    self.stopsAtFirst = stopsAtFirst
  }

  /// Lives them all, tells of those that fail and how fast it went.
  ///
  /// - Returns: Whether all went well.
  func live(jobs: Int) throws -> Bool {
    let start = ContinuousClock.now
    let count = jobs == 1 ? try live(Share(index: 0, total: 1)) : try liveInProcesses(jobs)
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    let speed = (Double(count.lived) / seconds).rounded(to: 1)
    print("\(count.lived) days in \(seconds.rounded(to: 1)) s, \(speed) a second; \(count.failed) failed")
    return count.failed == 0
  }

  /// Lives one share, and tells the process that asked for it what that came to.
  func liveForParent(_ share: Share) throws -> Bool {
    let count = try live(share)
    let text = Array("\(count.lived) \(count.failed)".utf8)
    guard write(Self.tellingDescriptor, text, text.count) == text.count else {
      throw Trouble(description: "nobody listens to what the days came to: \(errno)")
    }
    return count.failed == 0
  }

  private func live(_ share: Share) throws -> Count {
    var count = Count()
    var seed = seeds.lowerBound + UInt64(share.index)
    while seed <= seeds.upperBound, !stopsAtFirst || count.failed == 0 {
      let plan = DayPlan(seed: seed, hasPhotos: hasPhotos)
      let outcome = try Simulation(plan, keepsLines: false).run()
      count.lived += 1
      if !outcome.complaints.isEmpty {
        count.failed += 1
        print(outcome.failure(shortened: stopsAtFirst ? nil : try Shrinking(plan).shortest()))
        fflush(nil)
      }
      let (next, isOver) = seed.addingReportingOverflow(UInt64(share.total))
      if isOver { break }
      seed = next
    }
    return count
  }

  // MARK: Processes

  private func liveInProcesses(_ jobs: Int) throws -> Count {
    let children = try (0..<jobs).map { try begin(Share(index: $0, total: jobs)) }
    var count = Count()
    var left = Set(children.map(\.process))
    while !left.isEmpty {
      var status: Int32 = 0
      let ended = wait(&status)
      guard ended > 0 else { throw Trouble(description: "a process of days is lost: \(errno)") }
      guard left.remove(ended) != nil, let child = children.first(where: { $0.process == ended }) else { continue }
      guard let told = Self.read(child.telling) else {
        // It was told to end, or has ended by itself, which no seed may bring it to.
        if status & 0x7F == SIGTERM { continue }
        throw Trouble(description: "a process of days has ended with \(status)")
      }
      count.lived += told.lived
      count.failed += told.failed
      if stopsAtFirst, told.failed > 0 { for process in left { kill(process, SIGTERM) } }
    }
    return count
  }

  private func begin(_ share: Share) throws -> (process: pid_t, telling: Int32) {
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { throw Trouble(description: "there is no pipe: \(errno)") }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, ends[1], Self.tellingDescriptor)
    let words =
      ["tidemark-sim", "--seeds", "\(seeds.lowerBound)..\(seeds.upperBound)", "--share", share.text]
      + (stopsAtFirst ? ["--first"] : []) + (hasPhotos ? ["--photos"] : [])
    var arguments = words.map { strdup($0) } + [nil]
    defer { for argument in arguments { free(argument) } }
    var process: pid_t = 0
    let code = posix_spawn(&process, "/proc/self/exe", &actions, nil, &arguments, environ)
    close(ends[1])
    guard code == 0 else { throw Trouble(description: "a process cannot be started: \(code)") }
    return (process, ends[0])
  }

  private static func read(_ descriptor: Int32) -> Count? {
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 64)
    let length = Glibc.read(descriptor, &bytes, bytes.count)
    guard length > 0 else { return nil }
    let numbers = String(decoding: bytes[..<length], as: UTF8.self).split(separator: " ").compactMap { Int($0) }
    return numbers.count == 2 ? Count(lived: numbers[0], failed: numbers[1]) : nil
  }
}

extension Double {
  fileprivate func rounded(to digits: Int) -> Double {
    let scale = pow(10, Double(digits))
    return (self * scale).rounded() / scale
  }
}
