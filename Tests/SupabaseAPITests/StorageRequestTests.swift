import LosslessJSON
import Testing

@testable import SupabaseAPI

@Suite("Requests to Storage") struct StorageRequestTests {
  private func path(_ key: String) throws -> ObjectPath { try ObjectPath(bucket: "notes", key: key) }

  @Test("the same calls are made as by the Python client, where both say the same")
  func pythonClient() throws {
    let text = UploadOptions(contentType: "text/plain")
    let ours: [StorageRequest] = [
      .upload(try path("a/b c.txt"), text, replaces: false, body: nil),
      .upload(try path("a.bin"), UploadOptions(), replaces: true, body: nil),
      .list("notes", folder: "a", ListOptions(limit: 2, column: .updatedAt, isDescending: true, search: "b")),
      .list("notes", folder: "", ListOptions()),
      .transfer("move", try path("a.bin"), try path("c/d.bin"), upserts: false),
      .transfer("copy", try path("c/d.bin"), try path("e.bin"), upserts: false),
      .remove("notes", [try path("e.bin"), try path("no such")]),
      .sign(try path("a/b c.txt"), seconds: 60, transform: nil),
      .sign("notes", [try path("a/b c.txt"), try path("zz")], seconds: 60),
      .signUpload(try path("up/x y.bin"), upserts: false),
    ]
    let lines = String(decoding: try fixture("python-client-storage-requests.jsonl"), as: UTF8.self)
      .split(separator: "\n")
    #expect(lines.count == ours.count)
    for (line, request) in zip(lines, ours) {
      let theirs = try JSONValue(parsing: String(line))
      let sent = request.httpRequest(project: try testProject(), accessToken: nil)
      #expect(sent.method == theirs["method"]?.stringValue)
      #expect(String(sent.url.dropFirst(testURL.count)) == theirs["path"]?.stringValue)
      #expect(sent.fields["x-upsert"] == theirs["upsert"]?.stringValue)
      // It writes the number as a text, and names a file that the server takes from the URL.
      var expected = theirs["body"]?.objectValue
      expected?["download"] = nil
      if let seconds = expected?["expiresIn"]?.stringValue.flatMap({ Int64($0) }) {
        expected?["expiresIn"] = .integer(seconds)
      }
      #expect(try sent.body.map { try JSONValue(parsing: $0) } == expected.map(JSONValue.object))
    }
  }

  @Test("an upload says its type, its caching and its metadata in the head")
  func uploadHead() throws {
    let options = UploadOptions(contentType: "image/png", cacheSeconds: 60, upsert: true, userMetadata: ["k": "ü"])
    let request = StorageRequest.upload(try path("a"), options, replaces: false, body: [1])
    #expect(request.fields["Content-Type"] == "image/png")
    #expect(request.fields["Cache-Control"] == "max-age=60")
    #expect(request.fields["x-upsert"] == "true")
    #expect(request.fields["x-metadata"] == "eyJrIjoiw7wifQ==")
    #expect(StorageRequest.upload(try path("a"), options, replaces: true, body: [1]).fields["x-upsert"] == nil)
  }

  @Test(
    "Base64 has its padding",
    arguments: [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("~~~?", "fn5+Pw==")])
  func base64(text: String, expected: String) {
    #expect(Base64.encode(Array(text.utf8)) == expected)
  }

  @Test("slashes at the ends and repeated ones are no part of a key")
  func slashes() throws {
    #expect(try path("/a//b/").key == "a/b")
    #expect(try path("a b/+?.txt").encoded == "notes/a%20b/%2B%3F.txt")
  }

  @Test(
    "a key that no server takes, or that would name another place, is refused here",
    arguments: [
      "", "/", "..", "a/../b", "./a", "Küche.jpg", "a#b", "a\u{0}b", "a\nb", "100%",
    ])
  func badKeys(key: String) {
    #expect(performing: { try path(key) }, throws: { ($0 as? SupabaseError)?.serverError?.code == "InvalidKey" })
  }

  @Test("a download with a token takes the route that says when the token is no longer good")
  func downloads() throws {
    func place(_ isSignedIn: Bool, _ transform: ImageTransformation? = nil) throws -> String {
      StorageRequest.download(try path("a"), isSignedIn: isSignedIn, transform: transform, fields: [:])
        .url(try testProject()).dropFirst(testURL.count).description
    }
    #expect(try place(true) == "/storage/v1/object/authenticated/notes/a")
    #expect(try place(false) == "/storage/v1/object/notes/a")
    let transform = ImageTransformation(width: 100, height: 50, resize: .cover, quality: 80)
    #expect(
      try place(true, transform)
        == "/storage/v1/render/image/authenticated/notes/a?width=100&height=50&resize=cover&quality=80")
  }

  @Test("public and authenticated URLs need no server")
  func urls() throws {
    let storage = StorageClient(project: try testProject(), http: ScriptedExchange())
    #expect(storage.publicURL(try path("a/b c.txt")) == "\(testURL)/storage/v1/object/public/notes/a/b%20c.txt")
    #expect(
      storage.publicURL(try path("a"), transform: ImageTransformation(width: 1), download: "o.txt")
        == "\(testURL)/storage/v1/render/image/public/notes/a?width=1&download=o.txt")
    #expect(storage.authenticatedURL(try path("a")) == "\(testURL)/storage/v1/object/authenticated/notes/a")
  }

  static let failures: [(Int, String, HTTPFields, String)] = [
    (
      400, #"{"statusCode":"404","error":"not_found","message":"Object not found","code":"NoSuchKey"}"#, [:],
      "refused 404 NoSuchKey"
    ),
    (400, #"{"statusCode":"404","error":"not_found","message":"Object not found"}"#, [:], "refused 404 NoSuchKey"),
    (404, #"{"statusCode":404,"error":"Bucket not found","message":"x"}"#, [:], "refused 404 NoSuchBucket"),
    (
      400, #"{"statusCode":"409","error":"Duplicate","message":"The resource already exists"}"#, [:],
      "refused 409 KeyAlreadyExists"
    ),
    (400, #"{"statusCode":"413","error":"Payload too large","message":"x"}"#, [:], "refused 413 EntityTooLarge"),
    (400, #"{"statusCode":"415","error":"invalid_mime_type","message":"x"}"#, [:], "refused 415 InvalidMimeType"),
    (
      400, #"{"statusCode":"403","error":"Unauthorized","message":"new row violates row-level security policy"}"#, [:],
      "refused 403 AccessDenied"
    ),
    (
      400, #"{"statusCode":"403","error":"Unauthorized","message":"\"exp\" claim timestamp check failed"}"#, [:],
      "token 403 AccessDenied"
    ),
    (
      400, #"{"statusCode":"403","error":"Unauthorized","message":"Invalid Compact JWS"}"#, [:],
      "token 403 AccessDenied"
    ),
    (400, #"{"statusCode":"423","error":"ResourceLocked","message":"x"}"#, [:], "unavailable 423"),
    (544, #"{"statusCode":"544","error":"DatabaseTimeout","message":"x"}"#, [:], "unavailable 544"),
    (429, "slow down", ["Retry-After": "7"], "unavailable 429"),
    (502, "<html>", [:], "unavailable 502"), (413, "<html>", [:], "refused 413 EntityTooLarge"),
    (401, #"{"message":"Invalid API key"}"#, [:], "gateway 401"), (404, "<html>", [:], "none 404"),
    (302, "", [:], "none 302"),
  ]

  @Test("an answer without success means what its body says, whoever sent it", arguments: failures)
  func judging(status: Int, body: String, fields: HTTPFields, expected: String) {
    let failure = StorageAnswer.failure(RawAnswer(HTTPResponse(status, body, fields)))
    let text =
      switch failure {
      case .refused(let error): "refused \(error.status) \(error.code)"
      case .tokenRefused(let error): "token \(error.status) \(error.code)"
      case .unavailable(let status, _, _): "unavailable \(status)"
      case .gatewayRefused(let status, _): "gateway \(status)"
      case .notAnAnswer(let status, _, _): "none \(status)"
      default: "\(failure)"
      }
    #expect(text == expected)
  }

  @Test("a success that is no answer of Storage is none", arguments: ["<html>", "", "[]", #"{"Id":"x"}"#])
  func oddSuccess(body: String) async throws {
    let storage = StorageClient(project: try testProject(), http: ScriptedExchange(.success(HTTPResponse(200, body))))
    await #expect(throws: SupabaseError.self) {
      try await storage.upload(try path("a"), .bytes([1]), UploadOptions(), accessToken: nil)
    }
  }

  @Test("a signed URL is encoded, and a file name goes along")
  func signedURL() async throws {
    let answer = HTTPResponse(200, #"{"signedURL":"/object/sign/notes/a/b c.txt?token=t.o.k"}"#)
    let storage = StorageClient(project: try testProject(), http: ScriptedExchange(.success(answer)))
    let url = try await storage.createSignedURL(try path("a/b c.txt"), expiresIn: 60, download: "o t", accessToken: nil)
    #expect(url == "\(testURL)/storage/v1/object/sign/notes/a/b%20c.txt?token=t.o.k&download=o%20t")
  }

  @Test("the token of a resumable upload goes to the project, whatever place an answer names")
  func foreignLocation() async throws {
    let answer = HTTPResponse(201, "", ["Location": "http://evil.example/storage/v1/upload/resumable/cGxhY2U"])
    let http = ScriptedExchange(.success(answer), .success(HTTPResponse(204, "", ["Upload-Offset": "0"])))
    let resumable = ResumableClient(project: try testProject(), http: http)
    let place = try await resumable.create(try path("a"), length: 9, UploadOptions(), accessToken: Secret("user"))
    #expect(place == "cGxhY2U")
    _ = try await resumable.offset(place, accessToken: Secret("user"))
    let urls = await http.requests.map(\.url)
    #expect(urls == ["\(testURL)/storage/v1/upload/resumable", "\(testURL)/storage/v1/upload/resumable/cGxhY2U"])
    let begun = await http.requests[0]
    #expect(
      begun.fields["Upload-Metadata"]
        == "bucketName bm90ZXM=,objectName YQ==,contentType YXBwbGljYXRpb24vb2N0ZXQtc3RyZWFt,cacheControl MzYwMA==")
  }

  @Test("a piece that leaves the place where it was, or beyond its end, is no answer", arguments: [3, 2, 7, Int64.max])
  func impossibleOffset(offset: Int64) async throws {
    struct Piece: HTTPBodySource {
      let count: Int64 = 3
      func read(at position: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int { 0 }
    }
    let answers = [5, offset].map { HTTPResponse(204, "", ["Upload-Offset": String($0)]) }
    let http = ScriptedExchange(.success(answers[0]), .success(answers[1]))
    let resumable = ResumableClient(project: try testProject(), http: http)
    #expect(try await resumable.send("p", from: 3, Piece(), upserts: false, accessToken: nil) == 5)
    await #expect(throws: SupabaseError.self) {
      try await resumable.send("p", from: 3, Piece(), upserts: false, accessToken: nil)
    }
  }

  @Test("no description of a request shows its key, its token or its body")
  func descriptions() throws {
    let request = StorageRequest.uploadSigned(
      try path("hidden"), Secret("hidden"), UploadOptions(), body: Array("hidden".utf8))
    var text = ""
    dump(request, to: &text)
    #expect(!"\(request) \(text)".contains("hidden"))
  }
}
