import Foundation
import Testing

@testable import tidemark_fuzz

@Suite("Readers of what strangers wrote")
struct FuzzingTests {
  @Test("stand whatever they get", arguments: FuzzTarget.allCases, 1...4 as ClosedRange<UInt64>)
  func stand(target: FuzzTarget, seed: UInt64) {
    var mutator = Mutator(seed: seed, target.corpus)
    for _ in 0..<(Self.isSlow(target) ? 300 : 3_000) {
      let input = mutator.next()
      let fault = target.fault(input)
      #expect(fault == nil, "\(input)")
    }
  }

  private static func isSlow(_ target: FuzzTarget) -> Bool {
    switch target {
    case .query, .requests, .realtime, .photos, .git, .merges: true
    case .json, .rows, .names, .settings, .frames, .answers: false
    }
  }

  /// What a fuzzer once brought a reader down with, and files that are too large to stand in the source.
  @Test("stand what they once did not", arguments: FuzzTarget.allCases)
  func regressions(target: FuzzTarget) throws {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Corpus/\(target)")
    for name in (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [] {
      let bytes = Array(try Data(contentsOf: folder.appendingPathComponent(name)))
      #expect(target.fault(bytes) == nil, "\(name)")
    }
  }

  @Test("take what means something", arguments: FuzzTarget.allCases)
  func corpus(target: FuzzTarget) {
    for input in target.corpus { #expect(target.fault(input) == nil) }
  }

  @Test("get other inputs from another seed, and the same from the same")
  func seeded() {
    let inputs = [1 as UInt64, 1, 2].map { seed in
      var mutator = Mutator(seed: seed, FuzzTarget.json.corpus)
      return (0..<50).map { _ in mutator.next() }
    }
    #expect(inputs[0] == inputs[1])
    #expect(inputs[0] != inputs[2])
  }
}
