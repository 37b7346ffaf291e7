import Foundation
import StandInServer
import SupabaseAPI
import Testing

@testable import OfflineEngine

@Suite("Uploads in pieces", .timeLimit(.minutes(3))) struct ResumableRunTests {
  private let png = UploadOptions(contentType: "image/png", userMetadata: ["k": "v"])
  private static let large = [UInt8]((0..<(13 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 13 &+ $0 >> 8) })

  private func steps(_ desk: PhotoDesk) -> [String] {
    desk.lines.filter { $0.contains("upload/resumable") }.map { String($0.prefix { $0 != " " }) }
  }

  @Test("a file of more than six mebibytes goes in pieces of that size, with all that is said of it")
  func whole() async throws {
    let desk = try await PhotoDesk()
    let file = try desk.file("a", Self.large)
    var last: Int64 = 0
    for try await event in desk.photos.uploading(desk.key("a"), from: file, options: png) {
      if case .progress(let progress) = event {
        #expect(progress.bytes >= last)
        last = progress.bytes
      }
    }
    #expect(steps(desk) == ["POST", "PATCH", "PATCH", "PATCH"])
    let info = try await desk.photos.info(desk.key("a"))
    #expect((info.sizeBytes, info.contentType, info.userMetadata) == (Int64(Self.large.count), "image/png", ["k": "v"]))
    try await desk.photos.download(desk.key("a"), to: desk.place("back"))
    #expect(try desk.bytes(desk.place("back")) == Self.large)
    #expect(last <= Int64(Self.large.count))
  }

  @Test("an upload that was broken off goes on in another run of the program, without what had come in")
  func restart() async throws {
    let desk = try await PhotoDesk()
    let file = try desk.file("a", Self.large)
    desk.server.faults = [StandInFault(.dropBefore, times: nil, skipping: 1, method: "PATCH")]
    await #expect(throws: OfflineError.self) { try await desk.photos.upload(desk.key("a"), from: file, options: png) }
    #expect(try await desk.photos.exists(desk.key("a")) == false)
    let before = steps(desk).count
    desk.server.faults = []
    try await desk.restart()
    try await desk.photos.upload(desk.key("a"), from: file, options: png)
    let after = Array(steps(desk).dropFirst(before))
    #expect(after.first == "HEAD" && !after.contains("POST"))
    #expect(after.filter { $0 == "PATCH" }.count <= 2)
    try await desk.photos.download(desk.key("a"), to: desk.place("back"))
    #expect(try desk.bytes(desk.place("back")) == Self.large)
  }

  @Test("a file that is another one by now begins anew")
  func changedBetween() async throws {
    let desk = try await PhotoDesk()
    var file = try desk.file("a", Self.large)
    desk.server.faults = [StandInFault(.dropBefore, times: nil, skipping: 1, method: "PATCH")]
    await #expect(throws: OfflineError.self) { try await desk.photos.upload(desk.key("a"), from: file, options: png) }
    desk.server.faults = []
    let other = Array(Self.large.reversed())
    file = try desk.file("a", other)
    try await desk.photos.upload(desk.key("a"), from: file, options: png)
    try await desk.photos.download(desk.key("a"), to: desk.place("back"))
    #expect(try desk.bytes(desk.place("back")) == other)
  }

  @Test("an upload that the server forgot begins anew")
  func forgotten() async throws {
    let desk = try await PhotoDesk()
    let file = try desk.file("a", Self.large)
    desk.server.faults = [StandInFault(.dropBefore, times: nil, skipping: 1, method: "PATCH")]
    await #expect(throws: OfflineError.self) { try await desk.photos.upload(desk.key("a"), from: file, options: png) }
    desk.server.faults = [StandInFault(.answer(status: 410, contentType: "text/plain", body: "gone"), method: "HEAD")]
    try await desk.photos.upload(desk.key("a"), from: file, options: png)
    #expect(steps(desk).filter { $0 == "POST" }.count == 2)
    #expect(try await desk.photos.info(desk.key("a")).sizeBytes == Int64(Self.large.count))
  }

  @Test("a piece whose answer was unclear is asked for before it is sent again")
  func unclear() async throws {
    let desk = try await PhotoDesk()
    let file = try desk.file("a", Self.large)
    desk.server.faults = [
      StandInFault(
        .answer(status: 503, contentType: "text/plain", body: "acquiring lock timeout"), skipping: 1, method: "PATCH")
    ]
    try await desk.photos.upload(desk.key("a"), from: file, options: png)
    #expect(steps(desk).contains("HEAD"))
    #expect(try await desk.photos.info(desk.key("a")).sizeBytes == Int64(Self.large.count))
  }

  @Test("a large file that may not be stored is refused before its bytes are sent, under the code for it")
  func refusals() async throws {
    let desk = try await PhotoDesk()
    let file = try desk.file("a", Self.large)
    for (key, options, code) in [
      ("other/a", png, "AccessDenied"), (desk.key("b"), UploadOptions(), "InvalidMimeType"),
    ] {
      do {
        try await desk.photos.upload(key, from: file, options: options)
        Issue.record("nothing was thrown")
      } catch OfflineError.refused(let error) {
        #expect(error.code == code)
      }
    }
    try await desk.photos.upload(desk.key("a"), data: [1], options: png)
    do {
      try await desk.photos.upload(desk.key("a"), from: file, options: png)
      Issue.record("nothing was thrown")
    } catch OfflineError.refused(let error) {
      #expect(error.code == "KeyAlreadyExists")
    }
    #expect(!steps(desk).contains("PATCH"))
    try await desk.photos.update(desk.key("a"), from: file, options: png)
    #expect(try await desk.photos.info(desk.key("a")).sizeBytes == Int64(Self.large.count))
  }
}
