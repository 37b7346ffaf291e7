import LosslessJSON
import OfflineEngine
import StandInServer
import SupabaseAPI
import Testing

@testable import FileWorkspace

@Suite("Photos, scenario by scenario")
struct PhotoScenarioTests {
  private func kitchen(
    _ more: JSONObject = [:], schema: Schema? = nil
  ) async throws -> (TaskWorld, Replica) {
    let world = try await TaskWorld.make([task(1, "kitchen")], schema: schema)
    let one = try world.photoReplica(more)
    try await one.sync()
    return (world, one)
  }

  private func uploads(_ replica: Replica) -> Int {
    replica.network.takeRequests().count { $0.hasPrefix("POST /storage/v1/object/photos/") }
  }

  @Test("PHOTO-1: a photo that is still being copied goes once, and whole")
  func copying() async throws {
    let (world, one) = try await kitchen()
    try one.files.person.createFolder("photos/kitchen")
    let whole = FakePhoto.bytes(String(repeating: "front", count: 100))
    for step in 1..<10 {
      try one.files.person.save("photos/kitchen/front.jpg", Array(whole.prefix(step * 40)))
      _ = try await one.workspace.look(at: ["photos/kitchen/front.jpg"])
      _ = try await PhotoTransfers(one.workspace).run(isOnline: true)
      one.advance(.milliseconds(200))
    }
    #expect(uploads(one) == 0 && world.objects.isEmpty)
    try one.files.person.save("photos/kitchen/front.jpg", whole)
    try await one.settle()
    #expect(uploads(one) == 1)
    #expect(world.photos == ["front.jpg": String(decoding: whole, as: UTF8.self)])
  }

  @Test("PHOTO-1: a copy that was broken off is an incomplete picture until it is whole")
  func brokenOff() async throws {
    let (world, one) = try await kitchen()
    try one.files.person.createFolder("photos/kitchen")
    try one.files.person.save("photos/kitchen/front.jpg", Array(FakePhoto.bytes("front").prefix(7)))
    try await one.settle()
    let problem = try await one.workspace.summary().problems.first
    #expect(problem?.path == "photos/kitchen/front.jpg" && problem?.message == "incomplete picture")
    #expect(uploads(one) == 0)
    try one.drop("kitchen/front.jpg", "front")
    try await one.settle()
    #expect(world.photos == ["front.jpg": "JPEG<front>"])
    #expect(try one.isClear && one.isPhotoQuiet)
  }

  @Test("PHOTO-1: a file that somebody has open, or that says it is not whole, is left alone")
  func open() async throws {
    let (world, one) = try await kitchen()
    try one.drop("kitchen/front.jpg", "front")
    let writer = try one.files.person.open("photos/kitchen/front.jpg")
    try one.drop("kitchen/back.jpg", "back")
    try one.files.person.setModified("photos/kitchen/back.jpg", FileTime(nanoseconds: 5_000_000_000))
    try await one.settle()
    #expect(world.objects.isEmpty)
    writer.close()
    one.advance(.seconds(2))
    try one.files.person.setModified("photos/kitchen/back.jpg", FileTime(nanoseconds: 1_700_000_000_000_000_000))
    try await one.settle()
    #expect(Set(world.photos.keys) == ["front.jpg", "back.jpg"])
  }

  @Test("PHOTO-1: a file that changes while it is sent is sent again, and the row tells of the bytes that are there")
  func changedWhileSent() async throws {
    let (world, one) = try await kitchen()
    try one.drop("kitchen/front.jpg", "first")
    let files = one.files
    one.network.beforeAnswer { request in
      guard request.hasPrefix("POST /storage/v1/object/photos/"), request.contains("JPEG<first>") else { return }
      try? files.person.save("photos/kitchen/front.jpg", FakePhoto.bytes("later"))
    }
    for _ in 0..<4 { try await one.sync() }
    #expect(world.photos == ["front.jpg": "JPEG<later>"])
    #expect(world.photoRows.first?["size_bytes"] == 11 && world.objects.count == 1)
    #expect(try one.isPhotoQuiet)
  }

  @Test("PHOTO-2: an upload that the server took and does not show is tried so often, and never called done")
  func neverArrives() async throws {
    let (world, one) = try await kitchen()
    world.server.faults = [
      StandInFault(
        .answer(
          status: 200, contentType: "application/json",
          body: #"{"Key": "photos/x", "Id": "00000000-0000-4000-8000-000000000001"}"#),
        times: nil, method: "POST", path: "/storage/v1/object/photos/")
    ]
    try one.drop("kitchen/front.jpg", "front")
    for _ in 0..<12 {
      try await one.sync()
      #expect(try one.records.allSatisfy { $0.state != .stored && $0.state != .sent })
      one.advance(.seconds(700))
    }
    #expect(uploads(one) <= PhotoRetry.attemptsMax)
    #expect(try one.records.map(\.state) == [.failed])
    #expect(try await one.workspace.summary().problems.first?.message.hasPrefix("not confirmed") == true)
    #expect(world.photoRows.isEmpty)
  }

  @Test("PHOTO-3: a server that re-encodes what it is given makes no second photo, and nothing is sent again")
  func reencoded() async throws {
    let (world, one) = try await kitchen()
    one.network.changeBody { request, body in
      request.hasPrefix("POST /storage/v1/object/photos/") ? Array("JPEG<small>".utf8.prefix(3)) + [62] : body
    }
    try one.drop("kitchen/front.jpg", "front")
    let first = try await one.sync()
    #expect(first.files.events.count { $0.detail.hasPrefix("the server keeps other bytes") } == 1)
    _ = one.network.takeRequests()
    for _ in 0..<3 { #expect(try await one.sync().isQuiet) }
    #expect(!one.network.takeRequests().contains { $0.contains("/storage/") })
    #expect(one.photos == ["kitchen/front.jpg": "JPEG<front>"])
    #expect(
      world.photoRows.count == 1 && world.photoRows[0]["sha256"] == .null && world.photoRows[0]["size_bytes"] == 4)
    let two = try world.photoReplica()
    try await two.settle()
    #expect(two.photos.count == 1)
  }

  @Test(
    "PHOTO-4: other bytes under the old size and time are found, by the event and after a restart",
    arguments: [true, false])
  func sameNumbers(_ isRestarted: Bool) async throws {
    let (world, one) = try await kitchen()
    try one.drop("kitchen/front.jpg", "front")
    let time = FileTime(nanoseconds: 1_700_000_000_000_000_000)
    try one.files.person.setModified("photos/kitchen/front.jpg", time)
    try await one.settle()
    if isRestarted { try one.restart() }
    try one.files.person.save("photos/kitchen/front.jpg", FakePhoto.bytes("other"))
    try one.files.person.setModified("photos/kitchen/front.jpg", time)
    try await one.settle()
    #expect(world.photos == ["front.jpg": "JPEG<other>"])
    // Touched without other bytes it is read, and not sent.
    _ = one.network.takeRequests()
    try one.files.person.setModified("photos/kitchen/front.jpg", FileTime(nanoseconds: 1_710_000_000_000_000_000))
    try await one.settle()
    #expect(uploads(one) == 0)
    #expect(try one.isPhotoQuiet)
  }

  @Test("PHOTO-5: photos of one name from three devices have the same names on each new one, for ever")
  func sameNames() async throws {
    let world = try await TaskWorld.make([task(1, "kitchen")])
    for number in 1...3 {
      let replica = try world.photoReplica(["download": "none"])
      try await replica.sync()
      try replica.drop("kitchen/IMG_1.jpg", "from \(number)")
      try await replica.settle()
    }
    #expect(world.photoRows.map { $0["name"] } == ["IMG_1.jpg", "IMG_1.jpg", "IMG_1.jpg"])
    let four = try world.photoReplica()
    try await four.settle()
    let names = four.photos
    #expect(names.count == 3 && names["kitchen/IMG_1.jpg"] != nil)
    _ = four.network.takeRequests()
    // The server's list is another one each time that rows change.
    for row in world.photoRows.reversed() {
      world.ask("PATCH", "/rest/v1/task_photos?id=eq.\(row["id"]?.stringValue ?? "")", ["width": 17])
      try await four.sync()
    }
    #expect(four.photos == names)
    #expect(!four.network.takeRequests().contains { $0.contains("/storage/") })
    let five = try world.photoReplica()
    try await five.settle()
    #expect(five.photos == names)
  }

  @Test("STORAGE-1: a bucket without update and delete takes a replaced picture under a new key")
  func insertOnly() async throws {
    let schema = try Self.schema { $0.replacing(#""insert", "update", "delete"]"#, with: #""insert"]"#) }
    let (world, one) = try await kitchen(schema: schema)
    try one.drop("kitchen/front.jpg", "first")
    try await one.settle()
    try one.drop("kitchen/front.jpg", "second")
    for _ in 0..<10 {
      try await one.sync()
      one.advance(.seconds(700))
    }
    #expect(world.photos == ["front.jpg": "JPEG<second>"])
    #expect(world.objects.count == 2)
    #expect(try one.isPhotoQuiet)
    _ = one.network.takeRequests()
    try await one.sync()
    #expect(!one.network.takeRequests().contains { $0.contains("/storage/") })
    #expect(one.photos == ["kitchen/front.jpg": "JPEG<second>"])
  }

  @Test("STORAGE-2: a server that serves the old bytes for a while does not turn a replaced picture back")
  func oldBytes() async throws {
    let (world, one) = try await kitchen()
    let two = try world.photoReplica()
    try one.drop("kitchen/front.jpg", "first")
    try await one.settle()
    try await two.settle()
    // Whatever key is asked for that begins so: the new picture's, too.
    let old = world.photoRows[0]["object_path"]?.stringValue ?? ""
    try one.drop("kitchen/front.jpg", "second")
    try await one.settle()
    world.server.faults = [
      StandInFault(
        .answer(status: 200, contentType: "image/jpeg", headers: ["ETag": "\"old\""], body: "JPEG<first>"),
        times: nil, method: "GET", path: "/storage/v1/object/authenticated/photos/\(old)", lasts: 60_000)
    ]
    _ = two.network.takeRequests()
    try await two.sync()
    #expect(two.photos == ["kitchen/front.jpg": "JPEG<first>"])
    for _ in 0..<5 {
      one.advance(.seconds(20))
      try await two.sync()
    }
    #expect(uploads(two) == 0)
    try await one.sync()
    #expect(two.photos == ["kitchen/front.jpg": "JPEG<second>"] && one.photos == two.photos)
    #expect(world.objects.count == 1)
    #expect(try one.isPhotoQuiet && two.isPhotoQuiet)
  }

  @Test(
    "STORAGE-3: whatever a photo is called, it arrives, and has its name again or the nearest that all systems take")
  func names() async throws {
    let (world, one) = try await kitchen()
    let two = try world.photoReplica()
    let plain = ["Küche vorne.jpg", "灯泡.jpeg", "a+b #1.jpg", "~x.jpg", "%41.jpg"]
    let odd = [
      "100% fertig?.png", "2024-01-29T10:48:15.595Z.jpg", String(repeating: "😀", count: 50) + ".jpg", "a\nb.jpg",
    ]
    for name in plain + odd { try one.drop("kitchen/\(name)", name) }
    try await one.settle()
    try await two.settle()
    #expect(Set(two.photos.values) == Set((plain + odd).map { "JPEG<\($0)>" }))
    for name in plain { #expect(two.photos["kitchen/\(name)"] == "JPEG<\(name)>", "\(name)") }
    #expect(two.photos.keys.allSatisfy { FileNames.isSafe(WorkspacePath.name(of: $0)) })
    try one.files.person.rename("photos/kitchen/灯泡.jpeg", "photos/kitchen/电灯.jpeg")
    try await one.settle()
    try await two.settle()
    #expect(two.photos["kitchen/电灯.jpeg"] == "JPEG<灯泡.jpeg>")
    #expect(try one.isPhotoQuiet && two.isPhotoQuiet)
  }

  @Test("STORAGE-4: a task with 250 photos comes down whole, and nothing is deleted")
  func many() async throws {
    let (world, one) = try await kitchen()
    for number in 1...250 { try one.drop("kitchen/\(number).jpg", "\(number)") }
    try await one.settle()
    #expect(world.photoRows.count == 250)
    let two = try world.photoReplica()
    try await two.settle()
    #expect(two.photos.count == 250 && two.photos == one.photos)
    #expect(world.objects.count == 250)
    #expect(try one.isPhotoQuiet && two.isPhotoQuiet)
  }

  @Test(
    "STORAGE-5: a photo over the limit is refused once, with both numbers, and holds up no other",
    arguments: [true, false])
  func tooLarge(isLimitKnown: Bool) async throws {
    let schema = try Self.schema {
      let limited = $0.replacing("52428800", with: "9")
      return isLimitKnown ? limited : limited.replacing(#", "isShown": true"#, with: "")
    }
    let (world, one) = try await kitchen(schema: schema)
    for name in ["one", "nine", "two"] { try one.drop("kitchen/\(name).jpg", name) }
    for _ in 0..<4 {
      try await one.sync()
      one.advance(.seconds(700))
    }
    #expect(Set(world.photos.keys) == ["one.jpg", "two.jpg"])
    #expect(uploads(one) == (isLimitKnown ? 2 : 3))
    let problem = try await one.workspace.summary().problems.first
    #expect(problem?.path == "photos/kitchen/nine.jpg" && problem?.message.contains("10 bytes") == true)
    if isLimitKnown { #expect(problem?.message.contains("at most 9 bytes") == true) }
    // A smaller picture in its place goes.
    try one.drop("kitchen/nine.jpg", "9")
    try await one.settle()
    #expect(world.photos.count == 3)
  }

  /// The template's project with something else in its schema.
  private static func schema(_ change: (String) -> String) throws -> Schema {
    let files = String(decoding: WorkspaceTemplate.tasksAndPhotos.standInSchema, as: UTF8.self)
    let changed = change(files)
    #expect(changed != files)
    return try Schema(parsing: changed)
  }
}
