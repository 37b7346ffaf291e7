import LosslessJSON
import Randomness
import SupabaseAPI
import Testing

@testable import OfflineEngine

@Suite("What this device judges of a condition")
struct FilterPropertyTests {
  private static let texts: [JSONValue] = [
    "Milk", "milk", "Oat milk", "50% off_now", "a*b", "", " ", "Zoë", "ZOË", "null", "true", "42", "back\\slash", nil,
  ]
  private static let times: [JSONValue] = [
    "2026-10-18T13:00:27.486123+00:00", "2026-10-18T13:00:27+00:00", "2026-10-18T15:00:27+02:00",
    "2025-01-01T00:00:00Z",
  ]
  private static let patterns = [
    "%milk%", "*milk", "_ilk", "50\\% off\\_now", "%", "", "m%k", "%_", "zo%", "back\\\\slash",
  ]

  /// A condition on one of the columns of the stand-in's tasks.
  private static func condition(_ random: inout SeededRandom) -> Filter {
    switch Int.random(in: 0..<9, using: &random) {
    case 0: return .eq("title", random.pick(texts))
    case 1: return .neq("notes", random.pick(texts))
    case 2: return .in("notes", [random.pick(texts), random.pick(texts)])
    case 3:
      return .written(
        "notes", operator: random.pick(["like", "ilike", "not.like", "not.ilike"]), operand: random.pick(patterns))
    case 4: return .is("notes", .null)
    case 5: return .is("done", random.pick([.yes, .no, .null]))
    case 6:
      return .written("done", operator: random.pick(["eq", "neq", "not.is"]), operand: random.pick(["true", "false"]))
    case 7:
      return .column(
        "created_at",
        .value(random.pick([.equal, .greater, .greaterOrEqual, .less, .lessOrEqual, .notEqual]), random.pick(times)))
    default: return .not("title", .value(.equal, random.pick(texts.filter { !$0.isNull })))
    }
  }

  private static func filter(_ random: inout SeededRandom, depth: Int = 0) -> Filter {
    guard depth < 2, Int.random(in: 0..<3, using: &random) == 0 else { return condition(&random) }
    let parts = (0...Int.random(in: 0..<3, using: &random)).map { _ in filter(&random, depth: depth + 1) }
    return .group(random.pick([.and, .or]), parts, isNegated: Int.random(in: 0..<3, using: &random) == 0)
  }

  @Test("is the server's own answer, or unknown", arguments: 1...6 as ClosedRange<UInt64>)
  func verdicts(seed: UInt64) async throws {
    var random = SeededRandom(seed: seed)
    let world = try World()
    let session = try await world.signUp("a@example.com")
    let phone = try await Phone(world, session)
    let rows: [JSONObject] = (0..<25).map { number in
      var title = random.pick(Self.texts)
      if title.isNull || title.stringValue?.allSatisfy(\.isWhitespace) == true { title = "Title" }
      return [
        "id": key(number).values[0], "user_id": .string(session.user.id), "title": title,
        "notes": random.pick(Self.texts), "done": .bool(Int.random(in: 0..<2, using: &random) == 0),
        "created_at": random.pick(Self.times),
        "updated_at": "2026-10-18T13:00:00+00:00",
      ]
    }
    try world.lay(rows)
    let stored = try world.rows()
    var (judged, all) = (0, 0)
    for _ in 0..<60 {
      let filter = Self.filter(&random)
      let request = TableRequest.select("tasks", columns: ["id"], filters: [filter])
      let answer = try await phone.client.tables.send(request, accessToken: session.accessToken)
      let shown = Set(answer.rows.compactMap { $0["id"]?.stringValue })
      for row in stored {
        all += 1
        guard let verdict = filter.holds(for: row) else { continue }
        judged += 1
        let line = request.httpRequest(project: world.project, accessToken: nil).line
        #expect(verdict == shown.contains(row["id"]?.stringValue ?? ""), "\(line) of \(JSONValue.object(row))")
      }
    }
    #expect(judged * 2 > all, "most conditions can be judged: \(judged) of \(all)")
  }
}
