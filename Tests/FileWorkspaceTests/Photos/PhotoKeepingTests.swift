import LosslessJSON
import OfflineEngine
import Testing

@testable import FileWorkspace

@Suite("Photos that are moved, removed or cut off halfway")
struct PhotoKeepingTests {
  private func pair(_ more: JSONObject = [:]) async throws -> (TaskWorld, Replica, Replica) {
    let world = try await TaskWorld.make([task(1, "kitchen"), task(2, "garden")])
    let (one, two) = (try world.photoReplica(more), try world.photoReplica(more))
    try await one.sync()
    try await two.sync()
    return (world, one, two)
  }

  private func syncOverTime(_ replica: Replica) async throws {
    for _ in 0..<3 {
      try await replica.sync()
      replica.advance(.seconds(20))
    }
  }

  // MARK: Loose in the folder of photos

  private enum Way: CaseIterable {
    case renamed, copiedAndRemoved, copiedAndRemovedLater
  }

  @Test(
    "moved loose into the folder of photos nothing of a photo goes, and from there it moves on", arguments: Way.allCases
  )
  private func loose(_ way: Way) async throws {
    let (world, one, two) = try await pair()
    try one.drop("kitchen/front.jpg", "front")
    try one.drop("kitchen/back.jpg", "back")
    try await one.settle()
    try await two.settle()
    let (rows, objects, person) = (world.photoRows, world.objects, one.files.person)
    if way == .renamed {
      try person.rename("photos/kitchen/front.jpg", "photos/front.jpg")
    } else {
      try person.save("photos/front.jpg", FakePhoto.bytes("front"))
      if way == .copiedAndRemovedLater { try await one.settle() }
      try person.remove("photos/kitchen/front.jpg")
    }
    try await syncOverTime(one)
    try await syncOverTime(two)
    #expect(world.photoRows == rows && world.objects == objects)
    #expect(one.photos == ["front.jpg": "JPEG<front>", "kitchen/back.jpg": "JPEG<back>"])
    #expect(two.photos["kitchen/front.jpg"] == "JPEG<front>")
    let problems = try await one.workspace.summary().problems
    #expect(problems.map(\.path) == ["photos/front.jpg"])
    #expect(problems.first?.message.contains("move it into 'photos/NAME/'") == true)
    try person.createFolder("photos/garden")
    try person.rename("photos/front.jpg", "photos/garden/front.jpg")
    try await one.settle()
    try await two.settle()
    #expect(world.photoRows.first { $0["name"] == "front.jpg" }?["task_id"] == .string(key(2)))
    #expect(Set(world.objects.keys) == Set(objects.keys) && world.photoRows.count == 2)
    #expect(two.photos["garden/front.jpg"] == "JPEG<front>" && two.photos.count == 2)
    #expect(try one.isPhotoQuiet && two.isPhotoQuiet && one.isClear)
  }

  @Test("dropped loose a photo is held with a hint, and goes once it lies in a task's folder")
  func droppedLoose() async throws {
    let world = try await TaskWorld.make([task(1, "kitchen")])
    let one = try world.photoReplica(["newFolders": "add"])
    try await one.sync()
    try one.files.person.save("photos/front.jpg", FakePhoto.bytes("front"))
    try await one.settle()
    #expect(try one.records.map(\.state) == [.held] && world.rows.count == 1)
    #expect(try await one.workspace.summary().problems.map(\.path) == ["photos/front.jpg"])
    try one.files.person.createFolder("photos/kitchen")
    try one.files.person.rename("photos/front.jpg", "photos/kitchen/front.jpg")
    try await one.settle()
    #expect(world.photos == ["front.jpg": "JPEG<front>"])
    #expect(try one.isPhotoQuiet && one.isClear)
  }

  @Test("a photo that lies loose and whose row goes leaves the folder of photos where it is")
  func looseAndGone() async throws {
    let (world, one, _) = try await pair()
    try one.drop("kitchen/front.jpg", "front")
    try await one.settle()
    try one.files.person.rename("photos/kitchen/front.jpg", "photos/front.jpg")
    try one.files.person.removeFolder("photos/kitchen")
    try await one.settle()
    world.ask("DELETE", "/rest/v1/task_photos?name=eq.front.jpg")
    try await one.settle()
    #expect(one.photos.isEmpty && one.trash == ["JPEG<front>"])
    #expect(try one.files.status("photos")?.kind == .folder)
  }

  // MARK: The trash

  @Test("missing photos whose delete is held are in the trash when their task goes")
  func heldAndTaskGone() async throws {
    let (world, one, _) = try await pair()
    let names = ["front", "back", "side"]
    for name in names { try one.drop("kitchen/\(name).jpg", name) }
    try await one.settle()
    for name in names { try one.files.person.remove("photos/kitchen/\(name).jpg") }
    try await syncOverTime(one)
    #expect(try await one.workspace.summary().photos.held == 3 && world.photoRows.count == 3)
    try one.remove("kitchen.json")
    try await syncOverTime(one)
    try await one.settle()
    #expect(world.photoRows.isEmpty && world.objects.isEmpty)
    #expect(Set(one.trash).isSuperset(of: names.map { "JPEG<\($0)>" }))
  }

  @Test("photos that go with their task come into the trash from their files, and are not fetched for it")
  func trashedFromFiles() async throws {
    let (world, one, _) = try await pair()
    for name in ["front", "back"] { try one.drop("kitchen/\(name).jpg", name) }
    try await one.settle()
    _ = one.network.takeRequests()
    try one.remove("kitchen.json")
    try await syncOverTime(one)
    try await one.settle()
    #expect(world.objects.isEmpty)
    #expect(one.trash.filter { $0.hasPrefix("JPEG") }.sorted() == ["JPEG<back>", "JPEG<front>"])
    #expect(!one.network.takeRequests().contains { $0.hasPrefix("GET /storage/v1/object/authenticated") })
  }

  @Test("a picture that is removed before the row names it is in the trash")
  func removedBeforeRow() async throws {
    let (world, one, _) = try await pair()
    try one.drop("kitchen/front.jpg", "first")
    try one.drop("garden/gate.jpg", "gate")
    try await one.settle()
    try one.drop("kitchen/front.jpg", "second")
    one.network.answerInstead { $0.hasPrefix("PATCH /rest/v1/task_photos") ? (503, "{}") : nil }
    try await one.sync()
    #expect(world.objects.count == 3)
    try one.files.person.remove("photos/kitchen/front.jpg")
    try await syncOverTime(one)
    one.network.answerInstead(nil)
    one.advance(.seconds(60))
    try await one.settle()
    #expect(world.photos == ["gate.jpg": "JPEG<gate>"] && world.objects.count == 1)
    #expect(one.trash.contains("JPEG<second>"))
  }

  @Test(
    "a file that was touched unseen before its row went goes, too; one that was replaced unseen stays",
    arguments: [true, false])
  func touchedAndGone(isSame: Bool) async throws {
    let (world, one, _) = try await pair()
    try one.drop("kitchen/front.jpg", "front")
    try await one.settle()
    world.ask("DELETE", "/rest/v1/task_photos?name=eq.front.jpg")
    if !isSame { try one.drop("kitchen/front.jpg", "other") }
    try one.files.person.setModified("photos/kitchen/front.jpg", FileTime(nanoseconds: 1_700_000_000_000_000_000))
    // No event tells of it.
    _ = await one.exchange()
    _ = try await one.workspace.writeRows()
    #expect(try one.records.map(\.state) == [.unread])
    _ = try await PhotoTransfers(one.workspace).run(isOnline: false)
    _ = try await one.workspace.writeRows()
    #expect(one.photos == (isSame ? [:] : ["kitchen/front.jpg": "JPEG<other>"]))
    #expect(one.trash == (isSame ? ["JPEG<front>"] : []))
    try await one.settle()
    #expect(world.photos == (isSame ? [:] : ["front.jpg": "JPEG<other>"]))
  }

  @Test("a file that is recognised as a photo of the server has the name that the photo has everywhere")
  func recognisedUnderOtherName() async throws {
    let (world, one, two) = try await pair()
    try two.drop("kitchen/front.jpg", "front")
    try await two.settle()
    try one.drop("kitchen/face.jpg", "front")
    try await one.settle()
    try await one.settle()
    #expect(world.photos == ["front.jpg": "JPEG<front>"])
    #expect(one.photos == ["kitchen/front.jpg": "JPEG<front>"])
    #expect(try one.isPhotoQuiet)
  }

  @Test("a photo that could not be fetched is forgotten with its row")
  func goneUnfetched() async throws {
    let (world, one, two) = try await pair()
    try two.drop("kitchen/front.jpg", "front")
    try await two.settle()
    one.network.answerInstead { line in
      line.hasPrefix("GET /storage/v1/object/authenticated")
        ? (400, #"{"statusCode": "403", "error": "Unauthorized", "message": "not yours", "code": "AccessDenied"}"#)
        : nil
    }
    try await one.settle()
    #expect(try one.records.map(\.state) == [.failed])
    world.ask("DELETE", "/rest/v1/task_photos?name=eq.front.jpg")
    try await one.settle()
    #expect(try one.records.isEmpty)
  }

  // MARK: Places

  @Test("a photo that was replaced and moved elsewhere is replaced and moved here, and is not moved back")
  func replacedAndMoved() async throws {
    let (world, one, two) = try await pair()
    try one.drop("kitchen/front.jpg", "first")
    try await one.settle()
    try await two.settle()
    try two.drop("kitchen/front.jpg", "second")
    try two.files.person.createFolder("photos/garden")
    try two.files.person.rename("photos/kitchen/front.jpg", "photos/garden/gate.jpg")
    try await two.settle()
    try await one.settle()
    try await two.settle()
    #expect(world.photos == ["gate.jpg": "JPEG<second>"])
    #expect(world.photoRows.first?["task_id"] == .string(key(2)))
    for replica in [one, two] { #expect(replica.photos == ["garden/gate.jpg": "JPEG<second>"]) }
    #expect(try one.isPhotoQuiet && two.isPhotoQuiet)
  }

  @Test("a photo that is moved elsewhere while it is fetched comes to its new place")
  func movedWhileFetched() async throws {
    let (world, one, two) = try await pair()
    try two.drop("kitchen/front.jpg", "front")
    try await two.settle()
    let (server, network) = (world.server, one.network)
    network.beforeAnswer { line in
      guard line.hasPrefix("GET /storage/v1/object/authenticated") else { return }
      network.beforeAnswer(nil)
      server.asOwner(
        "PATCH", "/rest/v1/task_photos?name=eq.front.jpg", ["name": "face.jpg", "task_id": .string(key(2))])
    }
    try await one.settle()
    try await one.settle()
    #expect(one.photos == ["garden/face.jpg": "JPEG<front>"])
    #expect(world.photos == ["face.jpg": "JPEG<front>"])
    #expect(try one.isPhotoQuiet)
  }

  @Test("a photo that is on the server only has the place that its row has now")
  func renamedUnfetched() async throws {
    let (world, one, two) = try await pair(["download": "none"])
    try two.drop("kitchen/front.jpg", "front")
    try await two.settle()
    try await one.settle()
    #expect(try one.records.map(\.path) == ["photos/kitchen/front.jpg"])
    world.ask("PATCH", "/rest/v1/task_photos?name=eq.front.jpg", ["name": "face.jpg", "task_id": .string(key(2))])
    try await one.settle()
    #expect(try one.records.map(\.path) == ["photos/garden/face.jpg"])
  }

  // MARK: Uploads

  /// Has a gateway answer for the server when it is asked for an object.
  private func refuseToTell(_ replica: Replica) {
    replica.network.answerInstead { line in
      line.hasPrefix("GET /storage/v1/object/info/")
        ? (
          400, #"{"statusCode": "413", "error": "Payload too large", "message": "too large", "code": "EntityTooLarge"}"#
        )
        : nil
    }
  }

  @Test("an upload whose answer was lost leaves nothing in the bucket when its photo goes", arguments: [true, false])
  func removedInDoubt(withItsTask: Bool) async throws {
    let (world, one, _) = try await pair()
    try one.drop("kitchen/front.jpg", "front")
    let network = one.network
    network.beforeAnswer { request in
      guard request.hasPrefix("POST /storage/v1/object/photos/") else { return }
      network.beforeAnswer(nil)
      network.loseAnswer(1)
    }
    #expect(try await one.sync().failure?.isConnectivity == true)
    #expect(world.objects.count == 1)
    try one.files.person.remove("photos/kitchen/front.jpg")
    if withItsTask { try one.remove("kitchen.json") }
    one.advance(.seconds(30))
    try await syncOverTime(one)
    try await one.settle()
    #expect(world.objects.isEmpty && world.photoRows.isEmpty)
    #expect(one.trash.contains("JPEG<front>"))
    #expect(try one.isPhotoQuiet)
  }

  @Test("a row that is made again after somebody deleted it has its object again")
  func madeAgain() async throws {
    let (world, one, two) = try await pair()
    try one.drop("kitchen/front.jpg", "front")
    let network = one.network
    network.beforeAnswer { request in
      guard request.hasPrefix("POST /rest/v1/task_photos") else { return }
      network.beforeAnswer(nil)
      network.loseAnswer(1)
    }
    try await one.sync()
    try await two.settle()
    try two.files.person.remove("photos/kitchen/front.jpg")
    try await syncOverTime(two)
    #expect(world.photoRows.isEmpty && world.objects.isEmpty)
    one.advance(.seconds(30))
    try await one.settle()
    try await two.settle()
    #expect(world.photos == ["front.jpg": "JPEG<front>"] && world.objects.count == 1)
    for replica in [one, two] { #expect(replica.photos == ["kitchen/front.jpg": "JPEG<front>"]) }
    #expect(try one.isPhotoQuiet && two.isPhotoQuiet)
  }

  @Test("an insert whose answer was lost is repeated, and its object is looked for and not sent again")
  func repeated() async throws {
    let (world, one, _) = try await pair()
    try one.drop("kitchen/front.jpg", "front")
    let network = one.network
    network.answerInstead { request in
      guard request.hasPrefix("POST /rest/v1/task_photos") else { return nil }
      network.answerInstead(nil)
      return (200, "<html>")
    }
    try await one.sync()
    one.advance(.seconds(30))
    _ = network.takeRequests()
    try await one.settle()
    let requests = network.takeRequests()
    #expect(requests.count { $0.hasPrefix("POST /storage/v1/object/photos/") } == 0)
    #expect(requests.count { $0.hasPrefix("GET /storage/v1/object/info/") } == 1)
    #expect(world.photos == ["front.jpg": "JPEG<front>"])
    #expect(try one.isPhotoQuiet)
  }

  @Test("an object that arrived and is not told of at once is not given up, and not sent twice")
  func refusedToTell() async throws {
    let (world, one, _) = try await pair()
    try one.drop("kitchen/front.jpg", "front")
    refuseToTell(one)
    try await one.sync()
    #expect(try one.records.map(\.state) == [.waiting])
    one.network.answerInstead(nil)
    one.advance(.seconds(30))
    _ = one.network.takeRequests()
    try await one.settle()
    #expect(world.photos == ["front.jpg": "JPEG<front>"] && world.objects.count == 1)
    #expect(!one.network.takeRequests().contains { $0.hasPrefix("POST /storage/v1/object/photos/") })
    #expect(try one.isPhotoQuiet)
  }

  // MARK: The clock

  @Test("a file that is still to be read is read soon when the clock is set back, and a second try is made soon")
  func clockSetBack() async throws {
    let (world, one, _) = try await pair()
    try one.drop("kitchen/front.jpg", "front")
    _ = try await one.workspace.scan()
    #expect(try one.records.map(\.state) == [.unread])
    one.setClock(forwardBy: .seconds(-3_600))
    _ = try await one.workspace.tick()
    let due = try #require(try await one.workspace.nextPhotoReadDue())
    #expect(due <= one.client.now + .seconds(1))
    refuseToTell(one)
    try await one.sync()
    one.network.answerInstead(nil)
    one.setClock(forwardBy: .seconds(-3_600))
    _ = try await one.workspace.tick()
    #expect(try #require(try await one.workspace.nextPhotoDue()) <= one.client.now + .seconds(2))
    one.advance(.seconds(2))
    try await one.settle()
    #expect(world.photos == ["front.jpg": "JPEG<front>"])
  }
}
