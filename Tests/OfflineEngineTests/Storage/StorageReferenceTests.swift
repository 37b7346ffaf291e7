import Foundation
import StandInServer
import SupabaseAPI
import Testing

@testable import OfflineEngine

@Suite("Files in a bucket", .timeLimit(.minutes(3))) struct StorageReferenceTests {
  private let png = UploadOptions(contentType: "image/png", cacheSeconds: 60, userMetadata: ["task": "1"])

  private func code(_ work: () async throws -> Void) async -> String {
    do {
      try await work()
      return "nothing"
    } catch {
      return (error as? OfflineError)?.serverError?.code ?? "\(error)"
    }
  }

  @Test("an object is stored with its type, its caching and its metadata, read back, replaced and removed")
  func life() async throws {
    let desk = try await PhotoDesk()
    let (photos, key) = (desk.photos, desk.key("a b.png"))
    #expect(try await photos.exists(key) == false)
    let made = try await photos.upload(key, data: [1, 2, 3], options: png)
    #expect(made.path == key && made.id != nil)
    #expect(try await photos.exists(key))
    #expect(try await photos.download(key) == [1, 2, 3])
    let info = try await photos.info(key)
    #expect((info.id, info.path, info.sizeBytes) == (made.id, key, 3))
    #expect((info.contentType, info.cacheControl, info.userMetadata) == ("image/png", "max-age=60", ["task": "1"]))
    #expect(await code { _ = try await photos.upload(key, data: [4], options: png) } == "KeyAlreadyExists")
    try await photos.update(key, data: [4], options: UploadOptions(contentType: "image/gif"))
    let changed = try await photos.info(key)
    #expect((changed.id, changed.sizeBytes, changed.userMetadata) == (made.id, 1, [:]))
    #expect(changed.etag != info.etag && changed.version != info.version)
    #expect(try await photos.remove([key, desk.key("none")]) == [key])
    #expect(await code { _ = try await photos.info(key) } == "NoSuchKey")
    #expect(try await photos.remove([]) == [])
  }

  @Test("a folder is listed by name or by time, searched and cut")
  func list() async throws {
    let desk = try await PhotoDesk()
    for name in ["b.png", "a.png", "t/c.png"] { try await desk.photos.upload(desk.key(name), data: [1], options: png) }
    func names(_ options: ListOptions = ListOptions()) async throws -> [String] {
      try await desk.photos.list(desk.user, options: options).map(\.name)
    }
    #expect(try await names() == ["a.png", "b.png", "t"])
    #expect(try await names(ListOptions(limit: 1, offset: 1)) == ["b.png"])
    #expect(try await names(ListOptions(column: .createdAt, isDescending: true)) == ["a.png", "b.png", "t"])
    #expect(try await names(ListOptions(search: "B")) == ["b.png"])
    let entries = try await desk.photos.list(desk.user)
    #expect((entries[0].sizeBytes, entries[0].contentType, entries[0].isFolder) == (1, "image/png", false))
    #expect(entries[2].isFolder)
    #expect(try await desk.photos.list().map(\.name) == [desk.user])
  }

  @Test("an object is moved and copied")
  func transfer() async throws {
    let desk = try await PhotoDesk()
    let photos = desk.photos
    try await photos.upload(desk.key("a"), data: [1, 2], options: png)
    try await photos.move(from: desk.key("a"), to: desk.key("t/b"))
    #expect(try await photos.exists(desk.key("a")) == false)
    #expect(try await photos.copy(from: desk.key("t/b"), to: desk.key("c")).path == desk.key("c"))
    #expect(try await photos.download(desk.key("c")) == [1, 2])
    #expect(await code { try await photos.move(from: desk.key("t/b"), to: desk.key("c")) } == "KeyAlreadyExists")
    #expect(await code { try await photos.move(from: desk.key("none"), to: desk.key("d")) } == "NoSuchKey")
  }

  @Test("a signed URL opens an object for anybody; of several each says for itself")
  func signing() async throws {
    let desk = try await PhotoDesk()
    try await desk.photos.upload(desk.key("a b"), data: Array("bytes".utf8), options: png)
    let url = try await desk.photos.createSignedURL(desk.key("a b"), expiresIn: 60, download: "x.png")
    let got = try await desk.http.send(HTTPRequest(method: "GET", url: url))
    #expect(got.body == Array("bytes".utf8))
    #expect(got.fields["Content-Disposition"] == "attachment; filename=\"x.png\";")
    let many = try await desk.photos.createSignedURLs([desk.key("a b"), desk.key("none")], expiresIn: 60)
    #expect(many.map(\.path) == [desk.key("a b"), desk.key("none")])
    #expect(try await desk.http.send(HTTPRequest(method: "GET", url: many[0].url ?? "")).status == 200)
    #expect(many[1].url == nil && many[1].error != nil)
    let small = try await desk.photos.createSignedURL(
      desk.key("a b"), expiresIn: 60, transform: ImageTransformation(width: 512))
    #expect(small.contains("/render/image/sign/photos/"))
  }

  @Test("leave to upload is good for one object, from memory and from a file")
  func signedUpload() async throws {
    let desk = try await PhotoDesk()
    let first = try await desk.photos.createSignedUploadURL(desk.key("a"))
    try await desk.photos.uploadToSignedURL(first.path, token: first.token, data: [1], options: png)
    #expect(try await desk.photos.download(desk.key("a")) == [1])
    let second = try await desk.photos.createSignedUploadURL(desk.key("a"), upsert: true)
    let file = try desk.file("b", [1, 2])
    try await desk.photos.uploadToSignedURL(second.path, token: second.token, from: file, options: png)
    #expect(try await desk.photos.download(desk.key("a")) == [1, 2])
    #expect(
      await code { try await desk.photos.uploadToSignedURL(desk.key("b"), token: first.token, data: [1], options: png) }
        == "InvalidSignature")
  }

  @Test("a file goes up and comes down through its name, and its progress only rises to the end")
  func files() async throws {
    let desk = try await PhotoDesk()
    let bytes = [UInt8]((0..<2_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    let file = try desk.file("a.png", bytes)
    var seen: [Int64] = []
    var uploaded: UploadedObject?
    for try await event in desk.photos.uploading(desk.key("a"), from: file, options: png) {
      switch event {
      case .progress(let progress):
        seen.append(progress.bytes)
        #expect(progress.total == 2_000_000)
      case .finished(let object): uploaded = object
      }
    }
    #expect(uploaded?.path == desk.key("a"))
    #expect(seen == seen.sorted())
    var downloaded: DownloadedObject?
    for try await event in desk.photos.downloading(desk.key("a"), to: desk.place("back.png")) {
      if case .finished(let object) = event { downloaded = object }
    }
    #expect(try desk.bytes(desk.place("back.png")) == bytes)
    #expect(downloaded?.contentType == "image/png")
    #expect(downloaded?.etag == (try await desk.photos.info(desk.key("a")).etag))
  }

  @Test("a download that fails does not touch the file that is there, and leaves nothing once it has come")
  func failedDownload() async throws {
    let desk = try await PhotoDesk()
    try await desk.photos.upload(desk.key("a"), data: [UInt8](repeating: 7, count: 100_000), options: png)
    let file = try desk.file("kept", [1])
    desk.server.faults = [StandInFault(.truncate, path: "/storage/v1/object/authenticated")]
    await #expect(throws: OfflineError.self) { try await desk.photos.download(desk.key("a"), to: file) }
    #expect(await code { _ = try await desk.photos.download(desk.key("none"), to: file) } == "NoSuchKey")
    #expect(try desk.bytes(file) == [1])
    try await desk.photos.download(desk.key("a"), to: file)
    #expect(try desk.bytes(file).count == 100_000)
    let names = try FileManager.default.contentsOfDirectory(atPath: desk.folder.path(percentEncoded: false))
    #expect(!names.contains { $0.hasSuffix(".part") })
  }

  @Test("what cannot be is refused once, with the code for it")
  func refusals() async throws {
    let desk = try await PhotoDesk()
    #expect(await code { try await desk.photos.upload(desk.key("a"), data: [1]) } == "InvalidMimeType")
    #expect(await code { try await desk.photos.upload("other/a", data: [1], options: png) } == "AccessDenied")
    #expect(await code { try await desk.photos.upload(desk.key("Küche"), data: [1], options: png) } == "InvalidKey")
    #expect(await code { try await desk.client.storage("none").upload("a", data: [1], options: png) } == "NoSuchBucket")
    #expect(await code { _ = try await desk.client.storage("none").exists("a") } == "NoSuchBucket")
    let missing = desk.place("missing")
    await #expect(throws: OfflineError.self) {
      try await desk.photos.upload(desk.key("a"), from: missing, options: png)
    }
    #expect(desk.lines.filter { $0 == "POST object/photos" }.count == 2)
  }

  @Test("an expired token is refreshed once, and the call is made again")
  func refresh() async throws {
    let desk = try await PhotoDesk()
    try await desk.photos.upload(desk.key("a"), data: [1], options: png)
    desk.server.faults = [StandInFault(.expiredToken, path: "/storage/v1/")]
    #expect(try await desk.photos.download(desk.key("a")) == [1])
    #expect(desk.lines.suffix(2) == ["GET object/authenticated", "GET object/authenticated"])
  }

  @Test("with network access off nothing is sent, and URLs that need no server are still made")
  func networkOff() async throws {
    let desk = try await PhotoDesk()
    desk.client.disableNetwork()
    let before = desk.lines.count
    let photos = desk.photos
    for work in [
      { _ = try await photos.upload("a", data: [1]) }, { _ = try await photos.download("a") },
      { _ = try await photos.exists("a") }, { _ = try await photos.list() }, { _ = try await photos.remove(["a"]) },
      { _ = try await photos.createSignedURL("a", expiresIn: 1) }, { try await photos.move(from: "a", to: "b") },
    ] as [@Sendable () async throws -> Void] {
      do {
        try await work()
        Issue.record("nothing was thrown")
      } catch OfflineError.networkDisabled {
      } catch {
        Issue.record(error)
      }
    }
    #expect(desk.lines.count == before)
    #expect(try photos.publicURL("a").hasSuffix("/storage/v1/object/public/photos/a"))
  }
}
