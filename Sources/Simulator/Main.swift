import Glibc

@main
struct Main {
  static let help = """
    tidemark-sim --seed N [--photos] [--trace] [--keep LIST] [--record]
    tidemark-sim --day FILE [--trace]
    tidemark-sim --seeds A..B [--photos] [--first] [--jobs N]

    Lives days of several replicas, a server and everything that goes wrong between them, each decided by its seed.
    A seed that fails is told with the command that lives it again. Exit 0 when all is well, 1 when a seed failed, 64 for
    wrong words.

    --seed N      One day.
    --trace       Print what happened.
    --keep LIST   Only these of its deeds, such as 0,4,5: what shrinking came to.
    --record      Print the day as a file that stays the same day when seeds come to mean another.
    --day FILE    A day of such a file.
    --seeds A..B  Many days, B included.
    --first       Only up to the first seed that fails, which is not made shorter.
    --photos      With photos, and people who see to them.
    --jobs N      How many days are lived at a time, each in a process; as many as there are processors by default.
    """

  static func main() throws {
    var words = Array(CommandLine.arguments.dropFirst())
    func value(_ name: String) -> String? {
      guard let index = words.firstIndex(of: name), index + 1 < words.count else { return nil }
      defer { words.removeSubrange(index...(index + 1)) }
      return words[index + 1]
    }
    func flag(_ name: String) -> Bool {
      defer { words.removeAll { $0 == name } }
      return words.contains(name)
    }
    let (seed, seeds, keep, jobs) = (value("--seed"), value("--seeds"), value("--keep"), value("--jobs"))
    // What a process of many days is told by the one that has started it.
    let share = value("--share")
    let hasPhotos = flag("--photos")
    let (file, isRecording, isTracing, stopsAtFirst) = (
      value("--day"), flag("--record"), flag("--trace"), flag("--first")
    )
    let jobCount = jobs.map { Int($0) ?? 0 } ?? max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1)
    let range = Self.range(seed, seeds)
    guard words.isEmpty, jobCount > 0, (range == nil) != (file == nil) else {
      print(help)
      exit(words == ["--help"] ? 0 : 64)
    }
    Self.hashAlike()
    if let range, let share = share.flatMap(ManyDays.Share.init) {
      exit(try ManyDays(range, hasPhotos: hasPhotos, stopsAtFirst: stopsAtFirst).liveForParent(share) ? 0 : 1)
    }
    if let range, range.count > 1 {
      exit(try ManyDays(range, hasPhotos: hasPhotos, stopsAtFirst: stopsAtFirst).live(jobs: jobCount) ? 0 : 1)
    }
    var plan =
      try file.map { try DayPlan(contentsOf: $0) } ?? DayPlan(seed: range?.lowerBound ?? 0, hasPhotos: hasPhotos)
    if let keep { plan = plan.keeping(keep.split(separator: ",").compactMap { Int($0) }) }
    if isRecording {
      print(plan.text)
    } else {
      exit(try Self.live(plan, isShortened: keep != nil || file != nil, isTracing: isTracing) ? 0 : 1)
    }
  }

  private static func range(_ seed: String?, _ seeds: String?) -> ClosedRange<UInt64>? {
    if let seed { return UInt64(seed).map { $0...$0 } }
    let ends = (seeds ?? "").split(separator: ".").compactMap { UInt64($0) }
    return ends.count == 2 && ends[0] <= ends[1] ? ends[0]...ends[1] : nil
  }

  /// Starts the program anew with hashing that is the same in every process: the order of sets and dictionaries follows it.
  private static func hashAlike() {
    let name = "SWIFT_DETERMINISTIC_HASHING"
    if getenv(name) != nil { return }
    setenv(name, "1", 1)
    var arguments = CommandLine.arguments.map { strdup($0) } + [nil]
    execv("/proc/self/exe", &arguments)
  }

  private static func live(_ plan: DayPlan, isShortened: Bool, isTracing: Bool) throws -> Bool {
    let outcome = try Simulation(plan, keepsLines: isTracing).run()
    for line in outcome.lines { print(line) }
    print("seed \(plan.seed): digest \(String(outcome.digest, radix: 16))")
    if outcome.complaints.isEmpty { return true }
    print(outcome.failure(shortened: isShortened || isTracing ? nil : try Shrinking(plan).shortest()))
    return false
  }
}

extension Outcome {
  /// What is told of a day that failed.
  ///
  /// - Parameter kept: The deeds that it was shortened to.
  func failure(shortened kept: [Int]?) -> String {
    let lines = ["seed \(seed) failed:"] + complaints.map { "  \($0)" }
    let again = kept.map { kept in
      "  again: tidemark-sim --seed \(seed)\(hasPhotos ? " --photos" : "") --keep \(kept.map(String.init).joined(separator: ",")) --trace"
    }
    return (lines + [again].compactMap(\.self)).joined(separator: "\n")
  }
}
