import LosslessJSON
import Testing

@testable import StandInServer
@testable import tidemark_conformance

@Suite("Signed URLs of Storage") struct StorageSigningTests {
  private func sign(_ desk: StorageDesk, _ path: String, _ body: JSONValue = ["expiresIn": "60"]) throws -> String {
    let url = try desk.json("POST", "object/sign/\(path)", body).json.text("signedURL")
    #expect(url.hasPrefix("/"))
    return String(url.dropFirst())
  }

  @Test("a signed URL gives the object to anybody until it expires")
  func one() throws {
    let desk = try StorageDesk()
    _ = try desk.put("notes/a b", "hello")
    let url = try sign(desk, "notes/a%20b")
    #expect(url.hasPrefix("object/sign/notes/a b?token="))
    let encoded = url.replacing(" ", with: "%20")
    let got = try desk.ask("GET", encoded, as: .nobody)
    #expect(got.text == "hello")
    #expect(got.field("Expires") == "Sun, 18 Oct 2026 13:01:27 GMT")
    #expect(got.field("Cache-Control") == nil)
    #expect(try desk.ask("GET", encoded, as: .nobody, [("Range", "bytes=0-0")]).text == "h")
    desk.project.clock.advance(seconds: 60)
    let late = try desk.ask("GET", encoded, as: .nobody)
    #expect(late.problem == "400 400 InvalidJWT InvalidJWT")
    #expect(late.json["message"] == "\"exp\" claim timestamp check failed")
  }

  @Test("a token of another path, another use or another maker is refused")
  func wrongTokens() throws {
    let desk = try StorageDesk()
    _ = try desk.put("notes/a", "x")
    _ = try desk.put("notes/b", "x")
    let token = try sign(desk, "notes/a").split(separator: "=", maxSplits: 1)[1]
    #expect(
      try desk.ask("GET", "object/sign/notes/b?token=\(token)").problem == "400 400 InvalidSignature InvalidSignature")
    let upload = try desk.ask("PUT", "object/upload/sign/notes/a?token=\(token)", body: [1])
    #expect(upload.problem == "400 400 InvalidSignature InvalidSignature")
    let session = desk.token(StorageDesk.annID)
    #expect(try desk.ask("GET", "object/sign/notes/a?token=\(session)").json.text("code") == "InvalidSignature")
    #expect(try desk.ask("GET", "object/sign/notes/a?token=x.y.z").json.text("code") == "InvalidJWT")
    #expect(try desk.ask("GET", "object/sign/notes/a").problem == "400 400 Error InvalidRequest")
    // Nor does a URL's token open anything else.
    let other = try desk.ask("GET", "object/authenticated/notes/b", as: .nobody, [("Authorization", "Bearer \(token)")])
    #expect(other.problem == "400 404 not_found NoSuchKey")
  }

  @Test("what cannot be read cannot be signed, and a time must be told")
  func refusals() throws {
    let desk = try StorageDesk()
    _ = try desk.put("notes/a", "x")
    #expect(try desk.json("POST", "object/sign/notes/b", ["expiresIn": 60]).problem == "400 404 not_found NoSuchKey")
    for body: JSONValue in [[:], ["expiresIn": 0], ["expiresIn": "soon"]] {
      #expect(try desk.json("POST", "object/sign/notes/a", body).problem == "400 400 Error InvalidRequest")
    }
  }

  @Test("many are signed at once, and each says for itself whether it could be")
  func many() throws {
    let desk = try StorageDesk()
    _ = try desk.put("notes/a", "x")
    let answers = try desk.json("POST", "object/sign/notes", ["expiresIn": "60", "paths": ["a", "zz"]]).json.arrayValue
    let (first, second) = (answers?.first, answers?.last)
    #expect(first?["error"] == .null && first?["path"] == "a")
    #expect(try desk.ask("GET", String((first?.text("signedURL") ?? "").dropFirst()), as: .nobody).text == "x")
    #expect(second?["signedURL"] == .null)
    #expect(second?.text("error").isEmpty == false)
    #expect(try desk.json("POST", "object/sign/notes", ["expiresIn": 60]).problem == "400 400 Error InvalidRequest")
  }

  @Test("an upload to a signed URL needs no token, replaces only what was signed for, and belongs to the signer")
  func upload() throws {
    let desk = try StorageDesk()
    let path = "photos/\(StorageDesk.annID)/a"
    let made = try desk.ask("POST", "object/upload/sign/\(path)").json
    let url = String(made.text("url").dropFirst())
    #expect(url == "object/upload/sign/\(path)?token=\(made.text("token"))")
    #expect(try desk.ask("PUT", url, as: .nobody, body: Array("one".utf8)).json["Key"] == .string(path))
    #expect(try desk.ask("GET", "object/\(path)").text == "one")
    #expect(try desk.ask("PUT", url, as: .nobody, body: [1]).problem == "400 409 Duplicate KeyAlreadyExists")
    #expect(try desk.ask("POST", "object/upload/sign/\(path)").problem == "400 409 Duplicate KeyAlreadyExists")
    let again = try desk.ask("POST", "object/upload/sign/\(path)", [("x-upsert", "true")]).json.text("url").dropFirst()
    #expect(try desk.ask("PUT", String(again), as: .nobody, body: Array("two".utf8)).status == 200)
    #expect(try desk.ask("GET", "object/\(path)").text == "two")
    desk.project.clock.advance(seconds: 7_200)
    #expect(try desk.ask("PUT", String(again), as: .nobody, body: [1]).problem == "400 400 InvalidJWT InvalidJWT")
    let denied = try desk.ask("POST", "object/upload/sign/photos/\(StorageDesk.bobID)/a")
    #expect(denied.problem == "400 403 Unauthorized AccessDenied")
  }
}
