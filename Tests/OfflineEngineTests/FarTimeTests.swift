import LosslessJSON
import Testing

@testable import OfflineEngine

@Suite("Times that are too far away")
struct FarTimeTests {
  @Test(
    "are told as they are",
    arguments: [(253_402_300_799, "9999-12-31T23:59:59Z"), (-11_676_096_000, "1600-01-01T00:00:00Z")])
  func text(seconds: Int64, text: String) {
    #expect(WallTime.text(secondsSince1970: seconds) == text)
  }

  @Test(
    "count as the last or the first that can be told", arguments: [253_402_300_799, -62_135_596_800] as [Int64])
  func clamped(seconds: Int64) {
    let end = WallTime(nanoseconds: seconds < 0 ? .min : .max)
    #expect(WallTime(seconds: seconds) == end)
    #expect(WallTime(seconds: seconds < 0 ? .min : .max) == end)
    #expect(end + .seconds(seconds) == end)
    #expect(end - WallTime(nanoseconds: seconds < 0 ? .max : .min) != .zero)
    #expect(Duration.seconds(seconds).nanoseconds == end.nanoseconds)
  }

  @Test("of a row do not stop a pull", arguments: ["9999-12-31T23:59:59.999999+00:00", "0001-01-01T00:00:00+00:00"])
  func row(updatedAt: String) async throws {
    let world = try World()
    let session = try await world.signUp("a@example.com")
    let replica = try world.replica(session)
    try world.lay([
      [
        "id": key(1).values[0], "user_id": .string(session.user.id), "title": "far", "updated_at": .string(updatedAt),
      ]
    ])
    for _ in 0..<2 { try await replica.pull() }
    #expect(try replica.cached(key(1))?.version == updatedAt)
  }
}
