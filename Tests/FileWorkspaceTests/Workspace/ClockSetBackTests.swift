import LosslessJSON
import OfflineEngine
import Testing

@testable import FileWorkspace

@Suite("A clock that was set back")
struct ClockSetBackTests {
  /// Whether the program is started anew after the clock was set.
  static let starts = [false, true]

  @Test("keeps no key waiting until it has caught up", arguments: starts)
  func key(startsAnew: Bool) async throws {
    let world = try await TaskWorld.make()
    let replica = try world.replica()
    try await replica.settle()
    try replica.write("a.json", #"{"title": "A"}"#)
    try await replica.sync()
    replica.advance(.seconds(-86_400))
    if startsAnew { try replica.restart() }
    _ = try await replica.workspace.start()
    replica.advance(Workspace.keyDelay + .seconds(1))
    try await replica.sync()
    #expect(replica.json("a.json")?["id"] != nil)
  }

  @Test("keeps no delete waiting until it has caught up", arguments: starts)
  func delete(startsAnew: Bool) async throws {
    let world = try await TaskWorld.make([task(1, "A"), task(2, "B"), task(3, "C")])
    let replica = try world.replica()
    try await replica.settle()
    _ = try await replica.watch([])
    try replica.remove("a.json")
    _ = try await replica.workspace.scan()
    replica.advance(.seconds(-86_400))
    if startsAnew { try replica.restart() }
    _ = try await replica.workspace.start()
    for _ in 0..<4 {
      _ = try await replica.workspace.tick()
      replica.advance(.seconds(5))
    }
    #expect(try replica.queue.map(\.write.operation) == [.delete])
  }
}
