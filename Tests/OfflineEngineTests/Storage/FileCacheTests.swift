import Foundation
import StandInServer
import SupabaseAPI
import Testing

@testable import OfflineEngine

@Suite("Copies of objects on this device", .timeLimit(.minutes(3))) struct FileCacheTests {
  private let png = UploadOptions(contentType: "image/png")

  private func names(_ desk: PhotoDesk) -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: desk.place("state.sqlite.files"))) ?? []
  }

  private func downloads(_ desk: PhotoDesk) -> [Int] {
    desk.server.requests.filter { $0.method == "GET" && $0.path.hasPrefix("/storage/v1/object/authenticated") }
      .map(\.status)
  }

  @Test("an object is fetched once, and again only when its content is another")
  func validation() async throws {
    let desk = try await PhotoDesk()
    let (photos, key) = (desk.photos, desk.key("a"))
    try await photos.upload(key, data: [1, 2], options: png)
    #expect(try photos.cachedFile(key) == nil)
    let first = try await photos.ensureCachedFile(key)
    #expect(try desk.bytes(first.path) == [1, 2])
    #expect((first.sizeBytes, first.contentType) == (2, "image/png"))
    #expect(try photos.cachedFile(key) == first)
    let second = try await photos.ensureCachedFile(key)
    #expect(second.path == first.path && second.fetchedAt >= first.fetchedAt)
    #expect(downloads(desk) == [200, 304])
    // Another device replaces it.
    try await desk.another().storage("photos").update(key, data: [3], options: png)
    let third = try await photos.ensureCachedFile(key)
    #expect(try desk.bytes(third.path) == [3])
    #expect(third.etag != first.etag)
    #expect(names(desk).count == 1)
  }

  @Test("copies outlive the program, and what has no row goes")
  func restart() async throws {
    let desk = try await PhotoDesk()
    try await desk.photos.upload(desk.key("a"), data: [1], options: png)
    let kept = try await desk.photos.ensureCachedFile(desk.key("a"))
    try Data().write(to: URL(filePath: kept.path + ".left"))
    try await desk.restart()
    #expect(try desk.photos.cachedFile(desk.key("a")) == kept)
    #expect(names(desk).count == 1)
  }

  @Test("with network access off a download is answered from the copy, and so is what wants one")
  func networkOff() async throws {
    let desk = try await PhotoDesk()
    let (photos, key) = (desk.photos, desk.key("a"))
    for name in ["a", "b"] { try await photos.upload(desk.key(name), data: [1, 2], options: png) }
    let kept = try await photos.ensureCachedFile(key)
    desk.client.disableNetwork()
    #expect(try await photos.download(key) == [1, 2])
    #expect(try await photos.download(key, to: desk.place("out")).contentType == "image/png")
    #expect(try desk.bytes(desk.place("out")) == [1, 2])
    #expect(try await photos.ensureCachedFile(key) == kept)
    for work in [
      { _ = try await photos.download(desk.key("b")) }, { _ = try await photos.ensureCachedFile(desk.key("b")) },
      { _ = try await photos.download(key, transform: ImageTransformation(width: 1)) },
    ] as [() async throws -> Void] {
      do {
        try await work()
        Issue.record("nothing was thrown")
      } catch OfflineError.networkDisabled {
      }
    }
  }

  @Test("without a connection the copy is given, however old")
  func connectionLost() async throws {
    let desk = try await PhotoDesk()
    try await desk.photos.upload(desk.key("a"), data: [1], options: png)
    let kept = try await desk.photos.ensureCachedFile(desk.key("a"))
    desk.server.faults = [StandInFault(.dropBefore, times: nil)]
    #expect(try await desk.photos.ensureCachedFile(desk.key("a")) == kept)
  }

  @Test("the least used copies go where they are too many bytes, and never the newest")
  func bounds() async throws {
    let desk = try await PhotoDesk(fileCacheBytesMax: 25)
    for name in ["a", "b", "c"] {
      try await desk.photos.upload(desk.key(name), data: [UInt8](repeating: 1, count: 10), options: png)
    }
    for name in ["a", "b"] { _ = try await desk.photos.ensureCachedFile(desk.key(name)) }
    // A use: now `b` is the one that was unused for longest.
    _ = try desk.photos.cachedFile(desk.key("a"))
    _ = try await desk.photos.ensureCachedFile(desk.key("c"))
    #expect(try ["a", "b", "c"].map { try desk.photos.cachedFile(desk.key($0)) != nil } == [true, false, true])
    #expect(names(desk).count == 2)
    try await desk.photos.upload(desk.key("d"), data: [UInt8](repeating: 1, count: 40), options: png)
    let large = try await desk.photos.ensureCachedFile(desk.key("d"))
    #expect(try desk.bytes(large.path).count == 40)
    #expect(names(desk).count == 1)
  }

  @Test("what this device replaces, moves or removes has no copy any more")
  func ownChanges() async throws {
    let desk = try await PhotoDesk()
    let photos = desk.photos
    for change in ["update", "move", "remove"] {
      try await photos.upload(desk.key(change), data: [1], options: png)
      _ = try await photos.ensureCachedFile(desk.key(change))
    }
    try await photos.update(desk.key("update"), data: [2], options: png)
    try await photos.move(from: desk.key("move"), to: desk.key("moved"))
    try await photos.remove([desk.key("remove")])
    for change in ["update", "move", "remove"] { #expect(try photos.cachedFile(desk.key(change)) == nil) }
    #expect(names(desk).isEmpty)
  }

  @Test("an object that is gone takes its copy with it")
  func gone() async throws {
    let desk = try await PhotoDesk()
    try await desk.photos.upload(desk.key("a"), data: [1], options: png)
    _ = try await desk.photos.ensureCachedFile(desk.key("a"))
    try await desk.another().storage("photos").remove([desk.key("a")])
    await #expect(throws: OfflineError.self) { try await desk.photos.ensureCachedFile(desk.key("a")) }
    #expect(try desk.photos.cachedFile(desk.key("a")) == nil)
  }

  @Test("clearing the data on this device takes the copies along")
  func clearing() async throws {
    let desk = try await PhotoDesk()
    try await desk.photos.upload(desk.key("a"), data: [1], options: png)
    _ = try await desk.photos.ensureCachedFile(desk.key("a"))
    try await desk.client.clearLocalData()
    #expect(names(desk).isEmpty)
    #expect(try desk.photos.cachedFile(desk.key("a")) == nil)
  }
}
