import Foundation
import StandInServer
import SupabaseAPI
import Testing

@testable import OfflineEngine

@Suite("Downloads that go on", .timeLimit(.minutes(3))) struct ResumedDownloadTests {
  private let png = UploadOptions(contentType: "image/png")
  private static let large = [UInt8]((0..<3_000_001).map { UInt8(truncatingIfNeeded: $0 &* 13 &+ $0 >> 8) })

  /// The statuses of downloads, in order.
  private func statuses(_ desk: PhotoDesk) -> [Int] {
    desk.server.requests.filter { $0.method == "GET" && $0.path.contains("/object/authenticated/") }.map(\.status)
  }

  private func names(_ desk: PhotoDesk) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: desk.place("")).filter { !$0.hasPrefix("state.sqlite") }
      .sorted()
  }

  /// A desk with an object, whose first download into `back` was cut in its middle.
  private func cut() async throws -> PhotoDesk {
    let desk = try await PhotoDesk()
    try await desk.photos.upload(desk.key("a"), data: Self.large, options: png)
    desk.server.faults = [StandInFault(.truncate, method: "GET", path: "/storage/v1/object/authenticated")]
    await #expect(throws: OfflineError.self) { try await desk.photos.download(desk.key("a"), to: desk.place("back")) }
    #expect(try !names(desk).contains("back"))
    return desk
  }

  @Test("what had come in is not fetched again, and progress begins where it was", arguments: [false, true])
  func goesOn(isRestarted: Bool) async throws {
    let desk = try await cut()
    if isRestarted { try await desk.restart() }
    var first: TransferProgress?
    for try await event in desk.photos.downloading(desk.key("a"), to: desk.place("back")) {
      if case .progress(let progress) = event { first = first ?? progress }
    }
    #expect(statuses(desk).last == 206)
    #expect(try desk.bytes(desk.place("back")) == Self.large)
    #expect(try names(desk) == ["back"])
    if let first { #expect(first.bytes >= Int64(Self.large.count / 2) && first.total == Int64(Self.large.count)) }
  }

  @Test("an object that has other bytes by then comes whole, also where the server gives a part of them")
  func changed() async throws {
    let desk = try await cut()
    let other = Array(Self.large.reversed())
    try await desk.photos.update(desk.key("a"), data: other, options: png)
    try await desk.photos.download(desk.key("a"), to: desk.place("back"))
    #expect(statuses(desk).last == 200)
    #expect(try desk.bytes(desk.place("back")) == other)
    #expect(try names(desk) == ["back"])

    let another = try await cut()
    another.server.faults = [
      StandInFault(
        .answer(
          status: 206, contentType: "image/png",
          headers: ["ETag": "\"other\"", "Content-Range": "bytes 1500000-1500001/1500002"], body: "xx"), method: "GET")
    ]
    try await another.photos.download(another.key("a"), to: another.place("back"))
    #expect(try another.bytes(another.place("back")) == Self.large)
  }

  @Test("an object that is shorter than what had come in is fetched anew")
  func shorter() async throws {
    let desk = try await cut()
    try await desk.photos.update(desk.key("a"), data: [1, 2], options: png)
    desk.server.faults = [
      StandInFault(
        .answer(
          status: 416, contentType: "application/json",
          body: #"{"statusCode":"416","error":"invalid_range","message":"Range not satisfiable"}"#), method: "GET")
    ]
    try await desk.photos.download(desk.key("a"), to: desk.place("back"))
    #expect(try desk.bytes(desk.place("back")) == [1, 2])
  }

  @Test("what had come of another object, or for another file, is left alone")
  func others() async throws {
    let desk = try await cut()
    try await desk.photos.upload(desk.key("b"), data: [7, 8, 9], options: png)
    try await desk.photos.download(desk.key("b"), to: desk.place("back"))
    #expect(try desk.bytes(desk.place("back")) == [7, 8, 9])
    try await desk.photos.download(desk.key("a"), to: desk.place("elsewhere"))
    #expect(try desk.bytes(desk.place("elsewhere")) == Self.large)
    #expect(statuses(desk).suffix(2) == [200, 200])
    try await desk.photos.download(desk.key("a"), to: desk.place("back"))
    #expect(statuses(desk).last == 206)
    #expect(try desk.bytes(desk.place("back")) == Self.large)
    #expect(try names(desk) == ["back", "elsewhere"])
  }

  @Test("a refusal leaves nothing behind")
  func refused() async throws {
    let desk = try await cut()
    try await desk.photos.remove([desk.key("a")])
    await #expect(throws: OfflineError.self) { try await desk.photos.download(desk.key("a"), to: desk.place("back")) }
    #expect(try names(desk) == [])
  }
}
