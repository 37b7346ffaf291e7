import Foundation
import LosslessJSON
import Testing

@testable import tidemark_sim

@Suite("A simulated day", .serialized)
struct SimulationTests {
  /// Seeds that every run lives; the long sets are `make sim` and `make soak`.
  static let quick: ClosedRange<UInt64> = 1...12

  @Test("ends with nothing lost, nothing doubled and every folder equal to the server", arguments: quick)
  func goesWell(seed: UInt64) throws {
    let outcome = try Simulation(DayPlan(seed: seed), keepsLines: true).run()
    #expect(outcome.complaints.isEmpty, "\(outcome.lines.suffix(60).joined(separator: "\n"))")
  }

  @Test("is the same, line for line, when its seed is lived again")
  func repeats() throws {
    try #require(getenv("SWIFT_DETERMINISTIC_HASHING") != nil, "set SWIFT_DETERMINISTIC_HASHING=1, as make test does")
    let outcomes = try (0..<2).map { _ in try Simulation(DayPlan(seed: 7), keepsLines: true).run() }
    #expect(outcomes[0].lines == outcomes[1].lines)
    #expect(outcomes[0].lines.count > 50)
  }

  /// Days on which something went wrong once, named after it.
  static let recorded: [String] = {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Days").path
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.filter { $0.hasSuffix(".json") }.sorted().map { "\(folder)/\($0)" }
  }()

  @Test("that went wrong once goes well", arguments: recorded)
  func regression(path: String) throws {
    let outcome = try Simulation(DayPlan(contentsOf: path), keepsLines: true).run()
    #expect(outcome.complaints.isEmpty, "\(outcome.lines.suffix(60).joined(separator: "\n"))")
  }

  @Test("is the same day when it was recorded as a file")
  func recording() throws {
    let plan = DayPlan(seed: 5).keeping([0, 2, 3, 7])
    let again = try DayPlan(JSONValue(parsing: plan.text))
    #expect(again.text == plan.text)
    let outcomes = try [plan, again].map { try Simulation($0, keepsLines: true).run() }
    #expect(outcomes[0].lines == outcomes[1].lines)
  }

  @Test("is another for another seed")
  func differs() throws {
    let digests = try (20..<23).map { try Simulation(DayPlan(seed: $0), keepsLines: false).run().digest }
    #expect(Set(digests).count == 3)
  }

  @Test("ends at once when the program is stopped before it has begun")
  func stopsEarly() throws {
    var plan = DayPlan(seed: 1)
    plan.day.skewSeconds = 0
    var random = plan.random
    let world = try World(plan, &random, keepsLines: false)
    let server = world.server
    let session = try server.signIn("person@example.org")
    let device = try Device(
      world, name: "d", email: "person@example.org", session: session, skew: .zero, random.fork())
    try device.start()
    device.stop()
    world.pass(nanoseconds: 1_000_000_000)
    #expect(!device.isRunning)
  }

  @Test("that fails is made shorter, to deeds that are all needed")
  func shrinks() throws {
    let shrinking = Shrinking(count: 12) { kept in kept.contains(3) && kept.contains(8) }
    #expect(try shrinking.shortest() == [3, 8])
  }
}
