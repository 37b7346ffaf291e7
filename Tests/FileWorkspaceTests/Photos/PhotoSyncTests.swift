import LosslessJSON
import OfflineEngine
import Testing

@testable import FileWorkspace

@Suite("Photos between two devices")
struct PhotoSyncTests {
  private func pair() async throws -> (TaskWorld, Replica, Replica) {
    let world = try await TaskWorld.make([task(1, "kitchen"), task(2, "garden")])
    let (one, two) = (try world.photoReplica(), try world.photoReplica())
    try await one.sync()
    try await two.sync()
    return (world, one, two)
  }

  @Test("a photo dropped into a task's folder is in the bucket, in its row and on the other device")
  func drop() async throws {
    let (world, one, two) = try await pair()
    try one.drop("kitchen/front.jpg", "front")
    try await one.settle()
    #expect(world.photos == ["front.jpg": "JPEG<front>"])
    let row = try #require(world.photoRows.first)
    #expect(row["task_id"] == .string(key(1)) && row["size_bytes"] == 11 && row["content_type"] == "image/jpeg")
    #expect(row["object_path"] == .string("\(world.session.user.id)/\(row["id"]?.stringValue ?? "")"))
    try await two.settle()
    #expect(two.photos == ["kitchen/front.jpg": "JPEG<front>"])
    #expect(try one.isPhotoQuiet && two.isPhotoQuiet)
    _ = one.network.takeWrites()
    #expect(try await one.sync().isQuiet)
    #expect(one.network.takeWrites().isEmpty)
  }

  @Test("offline it waits, filed, and goes with its task, which goes first")
  func offline() async throws {
    let (world, one, two) = try await pair()
    one.network.isConnected = false
    try one.write("attic.json", #"{"title": "attic"}"#)
    try one.drop("attic/roof.jpg", "roof")
    try await one.sync()
    #expect(try one.records.map(\.state) == [.waiting])
    one.network.isConnected = true
    try await one.settle()
    #expect(world.photos == ["roof.jpg": "JPEG<roof>"])
    try await two.settle()
    #expect(two.photos == ["attic/roof.jpg": "JPEG<roof>"])
    #expect(try one.isPhotoQuiet && two.isPhotoQuiet)
  }

  @Test("another picture under the same name is a new object, and the old one goes")
  func overwrite() async throws {
    let (world, one, two) = try await pair()
    try one.drop("kitchen/front.jpg", "first")
    try await one.settle()
    try await two.settle()
    let before = try #require(world.objects.keys.first)
    try one.drop("kitchen/front.jpg", "second")
    try await one.settle()
    #expect(world.photos == ["front.jpg": "JPEG<second>"])
    #expect(world.objects.count == 1 && world.objects[before] == nil)
    try await two.settle()
    #expect(two.photos == ["kitchen/front.jpg": "JPEG<second>"])
    #expect(two.trash == ["JPEG<first>"])
    #expect(try one.isPhotoQuiet && two.isPhotoQuiet)
  }

  @Test("moved to another task, renamed, copied and removed, it is so on the other device")
  func changes() async throws {
    let (world, one, two) = try await pair()
    try one.drop("kitchen/front.jpg", "front")
    try one.drop("kitchen/back.jpg", "back")
    try await one.settle()
    try await two.settle()
    let objects = Set(world.objects.keys)
    try one.files.person.createFolder("photos/garden")
    try one.files.person.rename("photos/kitchen/front.jpg", "photos/garden/front.jpg")
    try one.files.person.rename("photos/kitchen/back.jpg", "photos/kitchen/rear.jpg")
    try await one.settle()
    try await two.settle()
    #expect(two.photos == ["garden/front.jpg": "JPEG<front>", "kitchen/rear.jpg": "JPEG<back>"])
    #expect(Set(world.objects.keys) == objects)
    try one.drop("garden/copy.jpg", "front")
    try one.files.person.remove("photos/kitchen/rear.jpg")
    try await one.settle()
    try await two.settle()
    #expect(two.photos == ["garden/front.jpg": "JPEG<front>", "garden/copy.jpg": "JPEG<front>"])
    #expect(world.photos == ["front.jpg": "JPEG<front>", "copy.jpg": "JPEG<front>"])
    #expect(world.objects.count == 2)
    // A person's removal leaves nothing behind here but the object, so its bytes are fetched before that goes.
    #expect(one.trash == ["JPEG<back>"])
    #expect(two.trash == ["JPEG<back>"])
    #expect(try one.isPhotoQuiet && two.isPhotoQuiet)
  }

  @Test("a photo removed while git only looks is gone; one that git took away is held", arguments: [false, true])
  func removedUnderGit(isCheckout: Bool) async throws {
    let (world, one, _) = try await pair()
    for name in ["front", "back", "side"] { try one.drop("kitchen/\(name).jpg", name) }
    try await one.settle()
    let person = one.files.person
    try one.recordOfGit("commit")
    try await one.settle()
    try person.save(".git/index.lock", [])
    try person.remove("photos/kitchen/front.jpg")
    try await one.sync()
    if isCheckout { try one.recordOfGit("commit", "checkout") }
    try person.remove(".git/index.lock")
    try await one.settle()
    #expect(try await one.workspace.summary().photos.held == (isCheckout ? 1 : 0))
    #expect(world.photoRows.count == (isCheckout ? 3 : 2))
    guard isCheckout else { return }
    #expect(
      try await one.workspace.summary().holds == [
        "photos: 1 photo is missing (photos/kitchen/front.jpg); 'tidemark restore photos' brings them back, 'tidemark "
          + "confirm' deletes their rows"
      ])
    #expect(try await one.workspace.restore("photos", path: "photos").message == "1 missing photo comes down again")
    try await one.settle()
    #expect(one.photos["kitchen/front.jpg"] == "JPEG<front>" && one.photos.count == 3)
    #expect(world.photoRows.count == 3)
    #expect(try one.isPhotoQuiet)
  }

  @Test("a file moved over another that was no whole picture either is the only one that waits")
  func movedOverUnfinished() async throws {
    let (_, one, _) = try await pair()
    try one.files.person.createFolder("photos/kitchen")
    for name in ["front", "back"] {
      try one.files.person.save("photos/kitchen/\(name).jpg", Array("JPEG<\(name)".utf8))
    }
    try await one.sync()
    #expect(try one.records.map(\.state) == [.failed, .failed])
    let moved = try #require(try one.records.first { $0.path == "photos/kitchen/front.jpg" })
    try one.files.person.rename("photos/kitchen/front.jpg", "photos/kitchen/back.jpg")
    _ = try await one.workspace.scan()
    #expect(try one.records.filter { $0.path != nil }.map(\.id) == [moved.id])
    for _ in 0..<3 {
      try await one.sync()
      one.advance(.seconds(20))
    }
    #expect(try one.records.map(\.state) == [.failed])
    #expect(try one.records.map(\.path) == ["photos/kitchen/back.jpg"])
  }

  @Test("a photo that another device moved to another task does not go with its old one")
  func movedBeforeTaskDeleted() async throws {
    let (world, one, two) = try await pair()
    try one.drop("kitchen/front.jpg", "front")
    try await one.settle()
    try await two.settle()
    one.network.isConnected = false
    try one.remove("kitchen.json")
    for _ in 0..<3 {
      try await one.sync()
      one.advance(.seconds(20))
    }
    try two.files.person.createFolder("photos/garden")
    try two.files.person.rename("photos/kitchen/front.jpg", "photos/garden/front.jpg")
    try await two.settle()
    one.network.isConnected = true
    try await one.settle()
    try await two.settle()
    #expect(world.rows.keys.sorted() == [key(2)])
    #expect(world.photoRows.map { $0["task_id"] } == [.string(key(2))])
    #expect(world.photos == ["front.jpg": "JPEG<front>"])
    for replica in [one, two] { #expect(replica.photos == ["garden/front.jpg": "JPEG<front>"]) }
    #expect(try one.isPhotoQuiet && two.isPhotoQuiet)
  }

  @Test("a task's photos go with it, their objects only when its delete was accepted")
  func taskDeleted() async throws {
    let (world, one, two) = try await pair()
    try one.drop("kitchen/front.jpg", "front")
    try await one.settle()
    try await two.settle()
    try one.remove("kitchen.json")
    one.network.isConnected = false
    try await one.sync()
    one.network.isConnected = true
    #expect(world.objects.count == 1)
    try await one.settle()
    try await two.settle()
    #expect(world.rows.count == 1 && world.photoRows.isEmpty)
    #expect(world.objects.isEmpty)
    #expect(one.photos.isEmpty && two.photos.isEmpty)
    #expect(one.trash.contains("JPEG<front>") && two.trash.contains("JPEG<front>"))
    #expect(try one.isPhotoQuiet && two.isPhotoQuiet)
  }

  @Test("a folder renamed alone, or with its task's file, deletes nothing", arguments: [true, false])
  func folderRenamed(_ isTogether: Bool) async throws {
    let (world, one, two) = try await pair()
    try one.drop("kitchen/front.jpg", "front")
    try await one.settle()
    try await two.settle()
    try one.files.person.rename("photos/kitchen", "photos/scullery")
    if isTogether { try one.move("kitchen.json", "scullery.json") }
    try await one.settle()
    try await two.settle()
    #expect(world.photos == ["front.jpg": "JPEG<front>"])
    #expect(one.photos == ["scullery/front.jpg": "JPEG<front>"])
    #expect(two.photos == ["kitchen/front.jpg": "JPEG<front>"])
    #expect(try one.isPhotoQuiet && two.isPhotoQuiet)
  }

  @Test("renamed in a folder that belongs to no task, a photo has its new name wherever it goes then")
  func renamedElsewhere() async throws {
    let (world, one, two) = try await pair()
    try one.drop("kitchen/front.jpg", "front")
    try await one.settle()
    try await two.settle()
    try one.files.person.createFolder("photos/best")
    try one.files.person.rename("photos/kitchen/front.jpg", "photos/best/front.jpg")
    try await one.settle()
    try one.files.person.rename("photos/best/front.jpg", "photos/best/face.jpg")
    try await one.settle()
    try one.files.person.createFolder("photos/garden")
    try one.files.person.rename("photos/best/face.jpg", "photos/garden/face.jpg")
    try await one.settle()
    try await two.settle()
    #expect(world.photos == ["face.jpg": "JPEG<front>"])
    #expect(two.photos == ["garden/face.jpg": "JPEG<front>"])
    #expect(try one.isPhotoQuiet && two.isPhotoQuiet)
  }

  @Test("replaced on both sides while apart, both pictures stay")
  func bothReplaced() async throws {
    let (world, one, two) = try await pair()
    try one.drop("kitchen/front.jpg", "first")
    try await one.settle()
    try await two.settle()
    try one.drop("kitchen/front.jpg", "mine")
    try two.drop("kitchen/front.jpg", "yours")
    two.network.isConnected = false
    try await two.sync()
    two.network.isConnected = true
    try await one.settle()
    try await two.settle()
    try await one.settle()
    #expect(Set(one.photos.values) == ["JPEG<mine>", "JPEG<yours>"])
    #expect(one.photos == two.photos)
    #expect(one.photos["kitchen/front.jpg"] == "JPEG<mine>")
    #expect(world.objects.count == 2)
    #expect(try one.isPhotoQuiet && two.isPhotoQuiet)
  }

  @Test("a folder without a task holds its photos, and lets them go when there is one")
  func held() async throws {
    let (world, one, _) = try await pair()
    try one.drop("cellar/wine.jpg", "wine")
    try await one.settle()
    #expect(world.photoRows.isEmpty)
    #expect(try one.records.map(\.state) == [.held])
    #expect(try await one.workspace.summary().problems.map(\.path) == ["photos/cellar/wine.jpg"])
    try one.write("cellar.json", "")
    try await one.settle()
    #expect(world.photos == ["wine.jpg": "JPEG<wine>"])
    #expect(try one.isPhotoQuiet)
  }

  @Test("a photo whose task goes while its row is on the way waits for another one, and leaves nothing in the bucket")
  func ownerGoes() async throws {
    let (world, one, _) = try await pair()
    try one.drop("kitchen/front.jpg", "front")
    let server = world.server
    one.network.beforeAnswer { line in
      if line.hasPrefix("POST /rest/v1/task_photos") { server.asOwner("DELETE", "/rest/v1/tasks?id=eq.\(key(1))") }
    }
    try await one.settle()
    one.network.beforeAnswer(nil)
    try await one.settle()
    #expect(one.photos == ["kitchen/front.jpg": "JPEG<front>"])
    #expect(try one.records.map(\.state) == [.held])
    #expect(world.objects.isEmpty)
    try one.write("kitchen.json", #"{"title": "kitchen"}"#)
    try await one.settle()
    #expect(world.photos == ["front.jpg": "JPEG<front>"])
    #expect(world.objects.count == 1)
    #expect(try one.isPhotoQuiet)
  }

  @Test("a photo that waits for a task which goes before it was sent waits for another one")
  func ownerGoesBefore() async throws {
    let (world, one, _) = try await pair()
    one.network.isConnected = false
    try one.drop("kitchen/front.jpg", "front")
    try await one.sync()
    #expect(try one.records.map(\.state) == [.waiting])
    world.ask("DELETE", "/rest/v1/tasks?id=eq.\(key(1))")
    one.network.isConnected = true
    try await one.settle()
    try await one.settle()
    #expect(one.photos == ["kitchen/front.jpg": "JPEG<front>"])
    #expect(try one.records.map(\.state) == [.held])
    #expect(world.objects.isEmpty)
  }

  @Test("a photo that was renamed elsewhere before its row was seen here is renamed here")
  func renamedAtOnce() async throws {
    let (world, one, _) = try await pair()
    try one.drop("kitchen/front.jpg", "front")
    let server = world.server
    one.network.beforeAnswer { line in
      guard line.hasPrefix("GET /rest/v1/task_photos") else { return }
      server.asOwner("PATCH", "/rest/v1/task_photos?name=eq.front.jpg", ["name": "face.jpg"])
    }
    try await one.settle()
    try await one.settle()
    #expect(one.photos == ["kitchen/face.jpg": "JPEG<front>"])
    #expect(world.photos == ["face.jpg": "JPEG<front>"])
    #expect(try one.isPhotoQuiet)
  }

  @Test("a photo whose place a person's own file takes before its bytes came gets another place")
  func placeTaken() async throws {
    let (world, one, two) = try await pair()
    try two.drop("kitchen/front.jpg", "theirs")
    try await two.settle()
    one.network.answerInstead { line in
      line.hasPrefix("GET /storage/v1/object/authenticated") ? (503, "{}") : nil
    }
    try await one.sync()
    #expect(try one.records.map(\.path) == ["photos/kitchen/front.jpg"])
    try one.drop("kitchen/front.jpg", "mine")
    try await one.sync()
    one.network.answerInstead(nil)
    one.advance(.seconds(30))
    try await one.settle()
    #expect(Set(one.photos.values) == ["JPEG<mine>", "JPEG<theirs>"])
    #expect(one.photos["kitchen/front.jpg"] == "JPEG<mine>")
    #expect(world.objects.count == 2)
    #expect(try one.isPhotoQuiet)
  }

  @Test("a photo whose row goes before it was seen here is gone as any other, and is not sent again and again")
  func rowGoesAtOnce() async throws {
    let (world, one, _) = try await pair()
    try one.drop("kitchen/front.jpg", "front")
    let server = world.server
    one.network.beforeAnswer { line in
      guard line.hasPrefix("GET /rest/v1/task_photos") else { return }
      server.asOwner("DELETE", "/rest/v1/task_photos?name=eq.front.jpg")
    }
    _ = one.network.takeRequests()
    for _ in 0..<4 { try await one.sync() }
    #expect(one.network.takeRequests().count { $0.hasPrefix("POST /storage/v1/object/photos/") } == 1)
    #expect(one.photos.isEmpty && one.trash == ["JPEG<front>"])
    #expect(try one.records.isEmpty)
  }

  @Test("'why' says of a photo what it waits for")
  func why() async throws {
    let (_, one, _) = try await pair()
    try one.drop("kitchen/front.jpg", "front")
    try one.drop("cellar/wine.jpg", "wine")
    func what(_ path: String) throws -> String {
      try one.client.read {
        try FileAnswer(about: path, $0, one.settings, files: one.files, now: one.client.now).what
      }
    }
    #expect(try what("photos/kitchen/front.jpg") == "nothing is known of a photo here")
    try await one.settle()
    #expect(try what("photos/kitchen/front.jpg") == "a photo; file, bucket and row agree")
    #expect(try what("photos/cellar/wine.jpg").contains("no 'tasks/cellar.json' is there"))
    #expect(try what("photos/kitchen/.x.jpg.tmp") == "not a photo: names like this are left alone")
  }

  @Test("a folder without a task makes one where the settings say so")
  func added() async throws {
    let world = try await TaskWorld.make([])
    let one = try world.photoReplica(["newFolders": "add"])
    try await one.sync()
    try one.drop("cellar/wine.jpg", "wine")
    try await one.settle()
    #expect(world.rows.values.map { $0["title"] } == ["cellar"])
    #expect(world.photos == ["wine.jpg": "JPEG<wine>"])
    #expect(try one.isPhotoQuiet)
  }
}
