import FileWorkspace
import Foundation
import Testing

@testable import tidemark_sim

@Suite("A simulated day with photos", .serialized)
struct PhotoDayTests {
  @Test("ends with every picture in a folder, a trash or the bucket, and all of them in step", arguments: 1...6)
  func goesWell(seed: UInt64) throws {
    let outcome = try Simulation(DayPlan(seed: seed, hasPhotos: true), keepsLines: true).run()
    #expect(outcome.complaints.isEmpty, "\(outcome.lines.suffix(60).joined(separator: "\n"))")
  }

  @Test("is the same, line for line, when its seed is lived again")
  func repeats() throws {
    try #require(getenv("SWIFT_DETERMINISTIC_HASHING") != nil, "set SWIFT_DETERMINISTIC_HASHING=1, as make test does")
    let outcomes = try (0..<2).map { _ in
      try Simulation(DayPlan(seed: 4, hasPhotos: true), keepsLines: true).run()
    }
    #expect(outcomes[0].lines == outcomes[1].lines)
    #expect(outcomes[0].lines.contains { $0.contains("/storage/v1/object/photos/") })
  }

  @Test("leaves all else of its seed as it is")
  func isBeside() {
    let (with, without) = (DayPlan(seed: 9, hasPhotos: true), DayPlan(seed: 9, hasPhotos: false))
    #expect(with.random.state == without.random.state && with.deeds.count == without.deeds.count)
    #expect(zip(with.deeds, without.deeds).allSatisfy { $0.kind == $1.kind || $0.kind.isOfPhotos && !$1.kind.isFault })
    #expect(with.deeds.contains { $0.kind.isOfPhotos } && !without.deeds.contains { $0.kind.isOfPhotos })
  }

  @Test("misses a picture that was taken away by nobody's deed, and one that was cut short")
  func misses() throws {
    let (world, device) = try Self.lone()
    let files = device.files.person
    let (one, other) = (world.pictures.new().bytes, world.pictures.new().bytes)
    for (name, bytes) in [("one", one), ("other", other)] {
      world.pictures.save(bytes, over: nil)
      try files.createFolder("photos/a")
      try files.save("photos/a/\(name).jpg", bytes)
    }
    let account = PhotoAccount(world: world, devices: [device], users: [device.user.id])
    account.checkNothingLost()
    #expect(world.complaints.isEmpty)
    try files.remove("photos/a/one.jpg")
    try files.save("photos/a/other.jpg", other.dropLast())
    account.checkNothingLost()
    #expect(world.complaints == ["lost: the pictures [1, 2]"])
    world.pictures.remove(one, isStored: false)
    world.pictures.replace(other)
    account.checkNothingLost()
    #expect(world.complaints.count == 1)
  }

  @Test("recognises its pictures as the program recognises those of a camera")
  func pictures() throws {
    let (world, device) = try Self.lone()
    for _ in 0..<2 {
      let picture = world.pictures.new()
      let path = "photos/\(picture.number).jpg"
      try device.files.person.save(path, picture.bytes)
      let facts = try PictureInspector.inspect(device.files.open(path))
      #expect(facts.contentType == (picture.number == 2 ? "image/gif" : "image/jpeg") && facts.width == 1)
      #expect(facts.takenAt == (picture.number == 2 ? nil : "2026-03-04T05:00:01Z"))
      try device.files.person.save(path, picture.bytes.dropLast(3))
      #expect(throws: PhotoFault.self) { try PictureInspector.inspect(device.files.open(path)) }
    }
  }

  /// A device of its own that does not run.
  private static func lone() throws -> (World, Device) {
    var plan = DayPlan(seed: 1, hasPhotos: true)
    plan.day.skewSeconds = 0
    var random = plan.random
    let world = try World(plan, &random, keepsLines: false)
    let session = try world.server.signIn("person@example.org")
    let device = try Device(
      world, name: "d", email: "person@example.org", session: session, skew: .zero, random.fork())
    return (world, device)
  }
}
