import Glibc

@main
struct Main {
  static let help = """
    tidemark-sim --seed N [--trace] [--keep LIST]
    tidemark-sim --seeds A..B

    Lives days of several replicas, a server and everything that goes wrong between them, each decided by its seed.
    A seed that fails is told with the command that lives it again. Exit 0 when all is well, 1 when a seed failed, 64 for
    wrong words.

    --seed N      One day.
    --trace       Print what happened.
    --keep LIST   Only these of its deeds, such as 0,4,5: what shrinking came to.
    --seeds A..B  Many days, B included.
    """

  static func main() throws {
    var words = Array(CommandLine.arguments.dropFirst())
    func value(_ name: String) -> String? {
      guard let index = words.firstIndex(of: name), index + 1 < words.count else { return nil }
      defer { words.removeSubrange(index...(index + 1)) }
      return words[index + 1]
    }
    let (seed, seeds, keep) = (value("--seed"), value("--seeds"), value("--keep"))
    let isTracing = words.contains("--trace")
    words.removeAll { $0 == "--trace" }
    guard words.isEmpty, let range = Self.range(seed, seeds) else {
      print(help)
      exit(words == ["--help"] ? 0 : 64)
    }
    Self.hashAlike()
    let kept = keep.map { $0.split(separator: ",").compactMap { Int($0) } }
    exit(try Self.live(range, kept: kept, isTracing: isTracing) ? 0 : 1)
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

  private static func live(_ range: ClosedRange<UInt64>, kept: [Int]?, isTracing: Bool) throws -> Bool {
    var failed = 0
    let start = ContinuousClock.now
    for seed in range {
      let outcome = try Simulation(seed: seed, kept: kept, keepsLines: isTracing).run()
      if isTracing { for line in outcome.lines { print(line) } }
      if range.count == 1 { print("seed \(seed): digest \(String(outcome.digest, radix: 16))") }
      if outcome.complaints.isEmpty { continue }
      failed += 1
      print("seed \(seed) failed:")
      for complaint in outcome.complaints { print("  \(complaint)") }
      if kept == nil, range.count > 1 || !isTracing {
        let short = try Shrinking(seed: seed).shortest()
        print("  again: tidemark-sim --seed \(seed) --keep \(short.map(String.init).joined(separator: ",")) --trace")
      }
    }
    let seconds = (ContinuousClock.now - start).seconds
    print(
      "\(range.count) days in \(seconds.rounded(to: 1)) s, \((Double(range.count) / seconds).rounded(to: 1)) a second; \(failed) failed"
    )
    return failed == 0
  }
}

extension Duration {
  fileprivate var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}

extension Double {
  fileprivate func rounded(to digits: Int) -> Double {
    let scale = pow(10, Double(digits))
    return (self * scale).rounded() / scale
  }
}
