import LosslessJSON
import OfflineEngine
import StandInServer
import SupabaseAPI
import Testing

@testable import FileWorkspace

@Suite("Transfers of photos that are broken off")
struct PhotoTransferTests {
  private func pair() async throws -> (TaskWorld, Replica, Replica) {
    let world = try await TaskWorld.make([task(1, "kitchen")])
    let (one, two) = (try world.photoReplica(), try world.photoReplica())
    try await one.sync()
    try await two.sync()
    return (world, one, two)
  }

  /// Words of so many bytes.
  private static func words(_ count: Int, _ first: Character = "a") -> String {
    String(first) + String(repeating: "x", count: count - 1)
  }

  private func requests(_ world: TaskWorld, _ method: String, _ path: String) -> [StandInRecord] {
    world.server.requests.filter { $0.method == method && $0.path.hasPrefix("/storage/v1/\(path)") }
  }

  private func parts(_ replica: Replica) -> [String] {
    replica.files.person.paths(below: PhotoTransfers.folder).map { WorkspacePath.name(of: $0) }
  }

  // MARK: Fetching

  /// A photo of 4,000 bytes whose way to the second device was cut in its middle.
  private func cutFetch() async throws -> (TaskWorld, Replica, Replica) {
    let (world, one, two) = try await pair()
    try one.drop("kitchen/front.jpg", Self.words(4_000))
    try await one.settle()
    world.server.faults = [StandInFault(.truncate, method: "GET", path: "/storage/v1/object/authenticated")]
    #expect(try await two.sync().failure?.isConnectivity == true)
    #expect(two.photos.isEmpty && parts(two).count == 1)
    return (world, one, two)
  }

  @Test("a fetch that was cut goes on with the rest, also in another process", arguments: [false, true])
  func resumedFetch(isRestarted: Bool) async throws {
    let (world, one, two) = try await cutFetch()
    if isRestarted { try two.restart() }
    try await two.settle()
    #expect(two.photos == one.photos)
    #expect(requests(world, "GET", "object/authenticated/").map(\.status) == [200, 206])
    #expect(parts(two).isEmpty)
    #expect(try two.isPhotoQuiet)
  }

  @Test("what was fetched of a photo that is another picture by then is thrown away")
  func replacedMeanwhile() async throws {
    let (world, one, two) = try await cutFetch()
    try one.drop("kitchen/front.jpg", "later")
    try await one.settle()
    try two.restart()
    try await two.settle()
    #expect(two.photos == ["kitchen/front.jpg": "JPEG<later>"])
    #expect(requests(world, "GET", "object/authenticated/").map(\.status).suffix(1) == [200])
    try two.restart()
    try await two.sync()
    #expect(parts(two).isEmpty)
  }

  @Test("bytes that are not those of the row are never put in place, and fetched anew")
  func damagedPart() async throws {
    let (_, one, two) = try await cutFetch()
    let part = PhotoTransfers.folder + "/" + parts(two)[0]
    try two.files.person.save(part, Array(repeating: 65, count: two.files.person.bytes(part)?.count ?? 0))
    try await two.sync()
    #expect(two.photos.isEmpty)
    two.advance(.seconds(30))
    try await two.settle()
    #expect(two.photos == one.photos)
  }

  @Test("a part that is whole already is put in place without asking for it")
  func wholePart() async throws {
    let (world, one, two) = try await cutFetch()
    let part = PhotoTransfers.folder + "/" + parts(two)[0]
    try two.files.person.save(part, FakePhoto.bytes(Self.words(4_000)))
    try await two.settle()
    #expect(two.photos == one.photos)
    #expect(requests(world, "GET", "object/authenticated/").count == 1)
  }

  // MARK: Sending

  private static let large = words((6 << 20) + 100)

  /// A photo of two pieces, of which the server has one when the cable comes out.
  private func cutUpload() async throws -> (TaskWorld, Replica) {
    let (world, one, _) = try await pair()
    try one.drop("kitchen/front.jpg", Self.large)
    world.server.faults = [StandInFault(.dropBefore, times: 1, skipping: 1, method: "PATCH")]
    #expect(try await one.sync().failure?.isConnectivity == true)
    #expect(requests(world, "PATCH", "upload/resumable").map(\.status) == [204, 0])
    return (world, one)
  }

  @Test("a large photo goes on where its upload was cut, also in another process", arguments: [false, true])
  func resumedUpload(isRestarted: Bool) async throws {
    let (world, one) = try await cutUpload()
    if isRestarted { try one.restart() }
    try await one.settle()
    #expect(requests(world, "POST", "upload/resumable").count == 1)
    #expect(requests(world, "PATCH", "upload/resumable").map(\.status) == [204, 0, 204])
    #expect(world.objects.count == 1 && world.photos["front.jpg"]?.utf8.count == (6 << 20) + 106)
    #expect(try one.isPhotoQuiet)
  }

  @Test("a large photo that is another one by then is begun anew, and only that arrives")
  func changedUpload() async throws {
    let (world, one) = try await cutUpload()
    try one.drop("kitchen/front.jpg", Self.words((6 << 20) + 100, "b"))
    try await one.settle()
    #expect(requests(world, "POST", "upload/resumable").count == 2)
    #expect(requests(world, "DELETE", "upload/resumable").map(\.status) == [204])
    #expect(world.objects.count == 1 && world.photos["front.jpg"]?.hasPrefix("JPEG<b") == true)
    #expect(try one.isPhotoQuiet)
  }

  @Test("a large photo that is renamed meanwhile goes on under its new name")
  func renamedUpload() async throws {
    let (world, one) = try await cutUpload()
    try one.files.person.rename("photos/kitchen/front.jpg", "photos/kitchen/back.jpg")
    try await one.settle()
    #expect(requests(world, "POST", "upload/resumable").count == 1)
    #expect(world.photos.keys.sorted() == ["back.jpg"] && world.objects.count == 1)
    #expect(try one.isPhotoQuiet)
  }

  @Test("a large photo that is removed meanwhile is given up on the server, too")
  func removedUpload() async throws {
    let (world, one) = try await cutUpload()
    try one.files.person.remove("photos/kitchen/front.jpg")
    for _ in 0..<3 {
      try await one.sync()
      one.advance(.seconds(30))
    }
    #expect(requests(world, "DELETE", "upload/resumable").map(\.status) == [204])
    #expect(world.objects.isEmpty && world.photoRows.isEmpty)
    #expect(try one.isPhotoQuiet)
  }

  @Test("when the answer to any request of a large upload is lost, the object is there once", arguments: 1...8)
  func lostAnswers(_ number: Int) async throws {
    let (world, one, two) = try await pair()
    try one.drop("kitchen/front.jpg", Self.large)
    _ = try await one.workspace.scan()
    _ = try await PhotoTransfers(one.workspace).run(isOnline: false)
    one.advance(.seconds(1))
    _ = try await PhotoTransfers(one.workspace).run(isOnline: false)
    one.network.loseAnswer(number)
    _ = try await PhotoTransfers(one.workspace).run(isOnline: true)
    one.advance(.seconds(30))
    try one.restart()
    try await one.settle()
    #expect(world.objects.count == 1 && world.photoRows.count == 1, "after \(number)")
    #expect(requests(world, "PATCH", "upload/resumable").count <= 3, "after \(number)")
    try await two.settle()
    #expect(two.photos == one.photos)
  }

  // MARK: What lies under the key

  /// Has the answer lost to the first upload.
  private func loseUpload(_ one: Replica) async throws {
    let network = one.network
    network.beforeAnswer { request in
      guard request.hasPrefix("POST /storage/v1/object/photos/") else { return }
      network.beforeAnswer(nil)
      network.loseAnswer(1)
    }
    #expect(try await one.sync().failure?.isConnectivity == true)
    one.advance(.seconds(30))
  }

  @Test("an upload whose answer was lost is known again by its hash, and not sent twice")
  func knownByHash() async throws {
    let (world, one, _) = try await pair()
    try one.drop("kitchen/front.jpg", "front")
    try await loseUpload(one)
    try await one.settle()
    #expect(requests(world, "POST", "object/photos/").count == 1)
    #expect(world.photos == ["front.jpg": "JPEG<front>"] && world.objects.count == 1)
  }

  @Test("another object of the same size under the key is never taken for the photo")
  func otherObject() async throws {
    let (world, one, two) = try await pair()
    try one.drop("kitchen/front.jpg", "front")
    try await loseUpload(one)
    let key = try #require(world.objects.keys.first)
    let server = world.server
    let answer = server.answer(
      StandInRequest(
        method: "PUT", target: "/storage/v1/object/photos/\(key)",
        fields: [
          ("Host", "127.0.0.1"), ("apikey", server.serviceKey), ("Authorization", "Bearer \(server.serviceKey)"),
          ("Content-Type", "image/jpeg"),
        ], body: FakePhoto.bytes("other")))
    #expect(answer.status == 200)
    try await one.settle()
    #expect(world.photos == ["front.jpg": "JPEG<front>"])
    try await two.settle()
    #expect(two.photos == ["kitchen/front.jpg": "JPEG<front>"])
    #expect(try one.isPhotoQuiet && two.isPhotoQuiet)
  }

  @Test(
    "where a server keeps no metadata, an ETag that is the MD5 of the bytes says the same", arguments: [true, false])
  func knownByETag(isSame: Bool) async throws {
    let (world, one, _) = try await pair()
    try one.drop("kitchen/front.jpg", "front")
    one.network.answerInstead { request in
      guard request.hasPrefix("GET /storage/v1/object/info/") else { return nil }
      let etag = isSame ? "3aaa6c4328b2b0e29adf94d0f5ece500" : "00000000000000000000000000000000"
      return (
        200, #"{"id": "00000000-0000-4000-8000-000000000001", "name": "x", "size": 11, "etag": "\"\#(etag)\""}"#
      )
    }
    try await loseUpload(one)
    _ = try await one.sync()
    #expect(requests(world, "POST", "object/photos/").count == (isSame ? 1 : 2))
  }

  // MARK: What the bucket takes

  @Test("what the bucket does not take is a problem before a byte of it is sent, until the bucket takes it")
  func limits() async throws {
    let (world, one, _) = try await pair()
    world.ask("PUT", "/storage/v1/bucket/photos", ["file_size_limit": 11])
    try one.drop("kitchen/front.jpg", "front")
    try one.drop("kitchen/large.jpg", "larger")
    try await one.settle()
    #expect(world.photos == ["front.jpg": "JPEG<front>"])
    #expect(requests(world, "POST", "object/photos/").count == 1)
    let problem = try await one.workspace.summary().problems.first
    #expect(problem?.path == "photos/kitchen/large.jpg")
    #expect(problem?.message.contains("12 bytes") == true && problem?.message.contains("at most 11 bytes") == true)
    world.ask("PUT", "/storage/v1/bucket/photos", ["file_size_limit": 12, "allowed_mime_types": ["image/png"]])
    one.advance(.seconds(61))
    #expect(try await one.workspace.retryPhotos([]) == 1)
    try await one.settle()
    #expect(try await one.workspace.summary().problems.first?.message.contains("image/png") == true)
    world.ask("PUT", "/storage/v1/bucket/photos", ["allowed_mime_types": ["image/*"]])
    one.advance(.seconds(61))
    #expect(try await one.workspace.retryPhotos([]) == 1)
    try await one.settle()
    #expect(world.photos.count == 2)
    #expect(requests(world, "POST", "object/photos/").count == 2)
  }

  // MARK: A lost state

  @Test("files whose records are lost are the photos that the server has, whichever is known first")
  func lostRecords() async throws {
    let (world, one, two) = try await pair()
    for name in ["a", "b"] { try one.drop("kitchen/\(name).jpg", name) }
    try one.drop("kitchen/c.jpg", "a")
    try await one.settle()
    let (rows, objects, photos) = (world.photoRows, world.objects, one.photos)
    let three = try world.photoReplica()
    for (path, words) in photos {
      try three.files.person.createFolder("photos/kitchen")
      try three.files.person.save("photos/\(path)", Array(words.utf8))
    }
    for _ in 0..<4 { try await three.sync() }
    #expect(world.photoRows == rows && world.objects == objects)
    #expect(three.photos == photos)
    #expect(try three.isPhotoQuiet)
    // Another picture under a name that the server has is a photo of its own.
    try two.files.person.createFolder("photos/kitchen")
    try two.drop("kitchen/a.jpg", "other")
    try await two.settle()
    try await two.settle()
    #expect(world.photoRows.count == 4 && two.photos.count == 4)
  }

  // MARK: Events

  @Test("an event has its own folder listed, however many there are")
  func oneFolder() async throws {
    let rows = (1...60).map { task($0, "t\($0)") }
    let world = try await TaskWorld.make(rows)
    let one = try world.photoReplica()
    try await one.sync()
    for number in 1...60 { try one.drop("t\(number)/a.jpg", "\(number)") }
    try await one.settle()
    func cost(_ path: String) async throws -> Int {
      let before = one.files.operationCount
      _ = try await one.workspace.look(at: [path])
      return one.files.operationCount - before
    }
    try one.drop("t7/b.jpg", "new")
    #expect(try await cost("photos/t7/b.jpg") < 12)
    #expect(try one.records.count == 61)
    try one.edit("t9.json", ["notes": "n"])
    #expect(try await cost("tasks/t9.json") < 40)
    try await one.settle()
    #expect(world.photos.count == 2 && world.photoRows.count == 61)
  }

  @Test(
    "a photo that moves between folders is one photo, whichever folder is looked at first", arguments: [true, false])
  func moved(isTargetFirst: Bool) async throws {
    let (world, one, _) = try await pair()
    world.insert([task(2, "garden")])
    try await one.sync()
    try one.drop("kitchen/front.jpg", "front")
    try await one.settle()
    let object = world.objects.keys.first
    try one.files.person.createFolder("photos/garden")
    try one.files.person.rename("photos/kitchen/front.jpg", "photos/garden/gate.jpg")
    let paths = ["photos/garden/gate.jpg", "photos/kitchen/front.jpg"]
    for path in isTargetFirst ? paths : paths.reversed() { _ = try await one.workspace.look(at: [path]) }
    try await one.settle()
    #expect(world.photoRows.map { $0["task_id"] } == [.string(key(2))])
    #expect(world.photos == ["gate.jpg": "JPEG<front>"] && world.objects.keys.first == object)
    #expect(try one.isPhotoQuiet && one.records.count == 1)
  }

  @Test("a second name of a photo's file in another folder is a photo of its own")
  func linked() async throws {
    let (world, one, _) = try await pair()
    try one.drop("kitchen/front.jpg", "front")
    try await one.settle()
    try one.files.person.createFolder("photos/garden")
    try one.files.link("photos/kitchen/front.jpg", "photos/garden/front.jpg")
    _ = try await one.workspace.look(at: ["photos/garden/front.jpg"])
    #expect(try one.records.map(\.lastPath).sorted() == ["photos/garden/front.jpg", "photos/kitchen/front.jpg"])
    #expect(world.photoRows.count == 1)
  }

  @Test("a photo that is gone from its folder is deleted by a complete listing alone")
  func gone() async throws {
    let (world, one, _) = try await pair()
    for name in ["a", "b", "c", "d"] { try one.drop("kitchen/\(name).jpg", name) }
    try await one.settle()
    try one.files.person.remove("photos/kitchen/a.jpg")
    _ = try await one.workspace.look(at: ["photos/kitchen/a.jpg"])
    #expect(try await one.workspace.hasOpenAbsences())
    #expect(try one.records.count == 4)
    one.advance(.seconds(20))
    _ = try await one.workspace.tick()
    #expect(try one.records.count == 3)
    try await one.settle()
    #expect(world.photoRows.count == 3 && world.objects.count == 3)
  }
}
