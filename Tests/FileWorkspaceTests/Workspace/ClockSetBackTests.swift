import LosslessJSON
import OfflineEngine
import Testing

@testable import FileWorkspace

@Suite("A clock that was set")
struct ClockSetBackTests {
  /// Whether the program is started anew after the clock was set.
  static let starts = [false, true]

  /// Sets the clock back, and does what falls due in twenty seconds.
  private func goOnADayEarlier(_ replica: Replica, _ startsAnew: Bool) async throws {
    replica.advance(.seconds(-86_400))
    if startsAnew { try replica.restart() }
    _ = try await replica.workspace.start()
    for _ in 0..<4 {
      _ = try await replica.workspace.tick()
      replica.advance(.seconds(5))
    }
  }

  @Test("back keeps no key waiting until it has caught up", arguments: starts)
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

  @Test("back keeps no delete waiting until it has caught up", arguments: starts)
  func delete(startsAnew: Bool) async throws {
    let world = try await TaskWorld.make([task(1, "A"), task(2, "B"), task(3, "C")])
    let replica = try world.replica()
    try await replica.settle()
    _ = try await replica.watch([])
    try replica.remove("a.json")
    _ = try await replica.workspace.scan()
    try await goOnADayEarlier(replica, startsAnew)
    #expect(try replica.queue.map(\.write.operation) == [.delete])
  }

  @Test("forward takes no missing file for gone any longer than it is")
  func deleteAfterLeap() async throws {
    let world = try await TaskWorld.make([task(1, "A"), task(2, "B"), task(3, "C")])
    let replica = try world.replica()
    try await replica.settle()
    _ = try await replica.watch([])
    let text = try #require(replica.text("a.json"))
    for isBack in [true, false] {
      try replica.remove("a.json")
      _ = try await replica.workspace.scan()
      replica.setClock(forwardBy: .seconds(86_400))
      replica.advance(.seconds(5))
      _ = try await replica.workspace.tick()
      #expect(try replica.queue.isEmpty)
      if isBack { try replica.write("a.json", text) }
      _ = try await replica.workspace.scan()
      replica.advance(.seconds(6))
      _ = try await replica.workspace.tick()
      #expect(try replica.queue.map(\.write.operation) == (isBack ? [] : [.delete]))
    }
  }

  @Test("forward keeps nothing waiting that went after it was set, and before anybody looked at the clock")
  func deleteRightAfterLeap() async throws {
    let world = try await TaskWorld.make([task(1, "A"), task(2, "B"), task(3, "C")])
    let replica = try world.replica()
    try await replica.settle()
    _ = try await replica.watch([])
    replica.setClock(forwardBy: .seconds(86_400))
    try replica.files.person.rename("tasks/a.json", "tasks/b.json")
    _ = try await replica.workspace.look(at: ["tasks/a.json", "tasks/b.json"])
    for _ in 0..<4 {
      _ = try await replica.workspace.tick()
      replica.advance(.seconds(5))
    }
    #expect(try replica.queue.map(\.write.operation) == [.delete])
  }

  @Test("back keeps no removed photo waiting until it has caught up", arguments: starts)
  func photo(startsAnew: Bool) async throws {
    let world = try await TaskWorld.make([task(1, "kitchen")])
    let replica = try world.photoReplica()
    try await replica.settle()
    try replica.drop("kitchen/front.jpg", "front")
    try await replica.settle()
    try replica.files.person.remove("photos/kitchen/front.jpg")
    _ = try await replica.workspace.scan()
    try await goOnADayEarlier(replica, startsAnew)
    #expect(try replica.queue.map(\.write.operation) == [.delete])
  }
}
