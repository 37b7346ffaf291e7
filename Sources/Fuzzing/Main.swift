import Glibc

#if FUZZER

  private let chosen = FuzzTarget(rawValue: getenv("FUZZ").map { String(cString: $0) } ?? "")

  /// What libFuzzer calls first: lays what means something into the folder that `SEEDS` names, to begin with.
  @_cdecl("LLVMFuzzerInitialize")
  public func layOutSeeds(_ count: UnsafeMutableRawPointer?, _ words: UnsafeMutableRawPointer?) -> CInt {
    guard let chosen, let folder = getenv("SEEDS").map({ String(cString: $0) }) else { return 0 }
    for (number, seed) in chosen.corpus.enumerated() {
      let path = "\(folder)/seed-\(number)"
      guard let file = fopen(path, "w") else { end("cannot write \(path): \(String(cString: strerror(errno)))") }
      fwrite(seed, 1, seed.count, file)
      fclose(file)
    }
    return 0
  }

  /// What libFuzzer calls with each of its inputs (https://llvm.org/docs/LibFuzzer.html).
  @_cdecl("LLVMFuzzerTestOneInput")
  public func fuzzOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    guard let chosen else { end("FUZZ names one of \(FuzzTarget.allCases.map(\.rawValue))") }
    if let fault = chosen.fault(Array(UnsafeBufferPointer(start: bytes, count: count))) { end(fault) }
    return 0
  }

  /// Ends the process with words, in the way by which libFuzzer knows that the input brought it down.
  private func end(_ words: String) -> Never {
    print(words)
    fflush(nil)
    abort()
  }

#else

  @main
  struct Main {
    static let help = """
      tidemark-fuzz TARGET [SEED [COUNT]]

      Gives a reader COUNT inputs (100000 by default) that a SEED (1) makes of its corpus, and ends at the first that it
      does not stand. 'make fuzz' lets coverage lead instead. TARGET is one of:
        \(FuzzTarget.allCases.map(\.rawValue).joined(separator: ", "))
      """

    static func main() {
      let words = CommandLine.arguments.dropFirst()
      let numbers = words.dropFirst().map { UInt64($0) }
      guard let target = words.first.flatMap(FuzzTarget.init), numbers.count <= 2, !numbers.contains(nil) else {
        print(help)
        exit(words == ["--help"] ? 0 : 64)
      }
      let (seed, count) = (numbers.first.flatMap(\.self) ?? 1, numbers.dropFirst().first.flatMap(\.self) ?? 100_000)
      var mutator = Mutator(seed: seed, target.corpus)
      for number in 0..<count {
        let input = mutator.next()
        if let fault = target.fault(input) {
          print("\(target) seed \(seed), input \(number): \(fault)\n\(input)")
          exit(1)
        }
      }
      print("\(target) stood \(count) inputs of seed \(seed)")
    }
  }

#endif
