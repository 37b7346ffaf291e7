import Foundation
import Testing

@testable import SupabaseAPI

/// Compares a text with a file beside the tests; a missing file is written and fails the run, so that it gets read.
func expectGolden(
  _ actual: String, _ name: String, at location: SourceLocation = #_sourceLocation, in testFile: String = #filePath
) throws {
  let file = URL(fileURLWithPath: testFile).deletingLastPathComponent().appendingPathComponent("Goldens/\(name).txt")
  let isRecording = ProcessInfo.processInfo.environment["UPDATE_GOLDENS"] != nil
  guard !isRecording, let expected = try? String(contentsOf: file, encoding: .utf8) else {
    try actual.write(to: file, atomically: true, encoding: .utf8)
    Issue.record("recorded \(file.lastPathComponent): read the diff, run again", sourceLocation: location)
    return
  }
  #expect(actual == expected, sourceLocation: location)
}

/// The bytes of a fixture beside the tests.
func fixture(_ name: String, in testFile: String = #filePath) throws -> [UInt8] {
  let folder = URL(fileURLWithPath: testFile).deletingLastPathComponent().appendingPathComponent("Fixtures")
  return Array(try Data(contentsOf: folder.appendingPathComponent(name)))
}

extension HTTPRequest {
  /// The request as it is sent: method and place, headers, an empty line, the body.
  var asSent: String {
    let place = url.dropFirst(testURL.count)
    let head = ["\(method) \(place)"] + fields.fields.map { "\($0.name): \($0.value)" }
    return head.joined(separator: "\n") + "\n\n" + (body.map { String(decoding: $0, as: UTF8.self) + "\n" } ?? "")
  }
}

let testURL = "https://project.example"

/// The project of every test.
func testProject() throws -> Project { try Project(url: testURL, key: Secret("publishable-key")) }

/// An exchange that keeps what it is given and answers from a list.
actor ScriptedExchange: HTTPExchange {
  private(set) var requests: [HTTPRequest] = []
  private var answers: [Result<HTTPResponse, HTTPError>]

  init(_ answers: Result<HTTPResponse, HTTPError>...) {
    self.answers = answers
  }

  func send(_ request: HTTPRequest) async throws(HTTPError) -> HTTPResponse {
    requests.append(request)
    guard !answers.isEmpty else { throw .closed }
    return try answers.removeFirst().get()
  }
}

extension HTTPResponse {
  /// An answer with a text as body.
  init(_ status: Int, _ body: String = "", _ fields: HTTPFields = [:]) {
    self.init(status: status, fields: fields, body: Array(body.utf8))
  }
}
