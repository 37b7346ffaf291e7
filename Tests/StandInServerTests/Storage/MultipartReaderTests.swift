import Testing

@testable import StandInServer
@testable import tidemark_conformance

@Suite("Forms") struct MultipartReaderTests {
  /// What is in a form, with its bytes handed in as pieces of a size.
  private func read(_ body: [UInt8], pieces: Int, type: String = "multipart/form-data; boundary=b-1") throws -> [String]
  {
    var reader = try #require(try MultipartReader(contentType: type))
    var found: [String] = []
    var place = 0
    while place < body.count {
      let piece = Array(body[place..<min(place + pieces, body.count)])
      try piece.withUnsafeBytes { bytes in
        try reader.take(bytes) { event in
          switch event {
          case .part(let part): found.append("\(part.name)|\(part.filename ?? "-")|\(part.contentType ?? "-")=")
          case .data(let data): found[found.count - 1] += String(decoding: data, as: UTF8.self)
          case .end: found[found.count - 1] += "."
          }
        }
      }
      place += pieces
    }
    if !reader.isComplete { found.append("incomplete") }
    return found
  }

  private let form = Array(
    """
    preamble\r\n--b-1\r\nContent-Disposition: form-data; name="a"\r\n\r\none\r\n--b-1  \r\n\
    content-disposition: form-data; name=""; filename="x; \\"y\\".png"\r\nContent-Type: image/png\r\n\r\n\
    \r\n--b-\r\n--b-2\r\r\n\r\n--b-1\r\n\r\n\r\n--b-1--\r\nepilogue
    """.utf8)

  @Test("a form is the same in pieces of any size", arguments: [1, 2, 3, 5, 7, 11, 64, 4_096])
  func pieces(size: Int) throws {
    #expect(
      try read(form, pieces: size) == [
        "a|-|-=one.", "|x; \"y\".png|image/png=\r\n--b-\r\n--b-2\r\r\n.", "|-|-=.",
      ])
  }

  @Test("a form without its end is known to be none")
  func incomplete() throws {
    let cut = Array(form.dropLast("--\r\nepilogue".utf8.count))
    #expect(try read(cut, pieces: 9).last == "incomplete")
  }

  @Test("a type that is no form is told apart from a form without a boundary")
  func types() throws {
    #expect(try MultipartReader(contentType: "text/plain") == nil)
    #expect(try MultipartReader(contentType: "Multipart/Form-Data; Boundary=\"a b\"") != nil)
    #expect(throws: MultipartReader.Malformed.self) { try MultipartReader(contentType: "multipart/form-data") }
  }

  @Test("a head without end is not gathered for ever")
  func endlessHead() throws {
    let body = Array("--b-1\r\n".utf8) + [UInt8](repeating: 65, count: 20_000)
    #expect(throws: MultipartReader.Malformed.self) { try read(body, pieces: 1_000) }
  }
}
