import LosslessJSON
import OfflineEngine
import Testing

@testable import FileWorkspace

@Suite("A process that dies among photos")
struct PhotoCrashTests {
  /// Two devices in step, with two photos of one task.
  private static func pair() async throws -> (TaskWorld, Replica, Replica) {
    let world = try await TaskWorld.make([task(1, "kitchen"), task(2, "garden")])
    let (one, two) = (try world.photoReplica(), try world.photoReplica())
    try await one.sync()
    try one.drop("kitchen/front.jpg", "front")
    try one.drop("kitchen/back.jpg", "back")
    try await one.settle()
    try await two.settle()
    return (world, one, two)
  }

  /// What a person does on one device; the other has it afterwards.
  private static func change(_ one: Replica) throws {
    try one.drop("kitchen/new.jpg", "new")
    try one.drop("kitchen/front.jpg", "later")
    try one.files.person.createFolder("photos/garden")
    try one.files.person.rename("photos/kitchen/back.jpg", "photos/garden/rear.jpg")
  }

  private static let after = [
    "kitchen/new.jpg": "JPEG<new>", "kitchen/front.jpg": "JPEG<later>", "garden/rear.jpg": "JPEG<back>",
  ]

  /// Ends what was left, and looks whether all is in step and nothing there twice.
  private static func check(_ world: TaskWorld, _ one: Replica, _ two: Replica, _ step: Int) async throws {
    for replica in [one, two, one] {
      for _ in 0..<4 {
        try await replica.sync()
        replica.advance(.seconds(30))
      }
    }
    #expect(one.photos == after, "after \(step)")
    #expect(two.photos == after, "after \(step)")
    #expect(world.photoRows.count == 3 && world.objects.count == 3, "after \(step): \(world.objects.keys)")
    #expect(try one.isPhotoQuiet && two.isPhotoQuiet && one.isClear && two.isClear, "after \(step)")
  }

  @Test(
    "between any two commits of the sender loses and doubles nothing", arguments: Array(stride(from: 0, to: 60, by: 4)))
  func senderCommits(_ first: Int) async throws {
    for commit in first..<(first + 4) {
      let (world, one, two) = try await Self.pair()
      try Self.change(one)
      one.commits.plan(last: commit)
      _ = try? await one.sync()
      try one.restart()
      try await Self.check(world, one, two, commit)
    }
  }

  @Test(
    "at any look at the sender's disk loses and doubles nothing", arguments: Array(stride(from: 1, to: 100, by: 10)))
  func senderFiles(_ first: Int) async throws {
    for operation in stride(from: first, to: first + 10, by: 3) {
      let (world, one, two) = try await Self.pair()
      try Self.change(one)
      one.files.plan(
        operation.isMultiple(of: 2) ? .stop : .stopAfter, atOperation: one.files.operationCount + operation)
      _ = try? await one.sync()
      try one.restart()
      try await Self.check(world, one, two, operation)
    }
  }

  @Test(
    "at any step of the receiver's disk loses and doubles nothing", arguments: Array(stride(from: 1, to: 120, by: 12)))
  func receiverFiles(_ first: Int) async throws {
    for operation in stride(from: first, to: first + 12, by: 2) {
      let (world, one, two) = try await Self.pair()
      try Self.change(one)
      try await one.settle()
      two.files.plan(
        operation.isMultiple(of: 4) ? .stop : .stopAfter, atOperation: two.files.operationCount + operation)
      _ = try? await two.sync()
      try two.restart()
      try await Self.check(world, one, two, operation)
      #expect(two.trash.contains("JPEG<front>"), "what was replaced is in the trash, after \(operation)")
    }
  }

  @Test(
    "between any two commits of the receiver loses and doubles nothing",
    arguments: Array(stride(from: 0, to: 40, by: 4)))
  func receiverCommits(_ first: Int) async throws {
    for commit in first..<(first + 4) {
      let (world, one, two) = try await Self.pair()
      try Self.change(one)
      try await one.settle()
      two.commits.plan(last: commit)
      _ = try? await two.sync()
      try two.restart()
      try await Self.check(world, one, two, commit)
    }
  }

  @Test("when the answer to any request is lost, the photo is there once", arguments: 1...14)
  func lostAnswers(_ count: Int) async throws {
    let (world, one, two) = try await Self.pair()
    try Self.change(one)
    one.network.loseAnswer(count)
    _ = try await one.sync()
    one.advance(.seconds(30))
    try await Self.check(world, one, two, count)
  }
}
