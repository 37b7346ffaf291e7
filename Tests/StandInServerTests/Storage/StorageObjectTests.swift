import LosslessJSON
import Testing

@testable import StandInServer
@testable import tidemark_conformance

@Suite("Objects in Storage") struct StorageObjectTests {
  // MARK: Uploads

  @Test("an upload answers with the object's id and its full key, and the object comes back as it was")
  func upload() throws {
    let desk = try StorageDesk()
    let made = try desk.put("notes/a/b%20c.txt", "hello", [("cache-control", "max-age=3600")])
    #expect(made.status == 200)
    #expect(made.json["Key"] == "notes/a/b c.txt")
    #expect(UUIDText.normalised(made.json.text("Id")) != nil)
    let got = try desk.ask("GET", "object/notes/a/b%20c.txt")
    #expect((got.status, got.text) == (200, "hello"))
    #expect(got.field("Content-Type") == "text/plain")
    #expect(got.field("Cache-Control") == "max-age=3600")
    #expect(got.field("Accept-Ranges") == "bytes")
    #expect(got.field("X-Robots-Tag") == "none")
    #expect(got.field("ETag")?.hasPrefix("\"") == true)
    #expect(got.field("Last-Modified") == "Sun, 18 Oct 2026 13:00:27 GMT")
  }

  @Test("a raw body takes its type, its caching and its metadata from the head")
  func raw() throws {
    let desk = try StorageDesk()
    let metadata = "eyJrIjogInYifQ=="
    _ = try desk.ask("POST", "object/notes/bare", body: [1, 2])
    _ = try desk.put("notes/full", "x", type: "image/png", [("x-metadata", metadata), ("x-robots-tag", "all")])
    _ = try desk.put("notes/odd", "x", [("x-metadata", "no base64!")])
    let bare = try desk.ask("GET", "object/info/notes/bare").json
    #expect(bare["content_type"] == "application/octet-stream")
    #expect(bare["cache_control"] == "no-cache")
    #expect(bare["metadata"] == [:])
    let full = try desk.ask("GET", "object/info/notes/full").json
    #expect(full["content_type"] == "image/png")
    #expect(full["metadata"] == ["k": "v"])
    #expect(try desk.ask("GET", "object/notes/full").field("X-Robots-Tag") == "all")
    #expect(try desk.ask("GET", "object/info/notes/odd").json["metadata"] == [:])
  }

  @Test(
    "a form gives the object as its first file, whatever the part is called, and fields before it",
    arguments: ["file", ""])
  func form(partName: String) throws {
    let desk = try StorageDesk()
    let form = StorageDesk.form(
      [("cacheControl", "60"), ("metadata", #"{"k": "v"}"#)], file: Array("hi".utf8),
      type: "text/plain;charset=UTF-8", partName: partName)
    let made = try desk.ask("POST", "object/notes/f", [("Content-Type", form.type)], body: form.body)
    #expect(made.status == 200)
    let info = try desk.ask("GET", "object/info/notes/f").json
    #expect(info["content_type"] == "text/plain;charset=UTF-8")
    #expect(info["cache_control"] == "max-age=60")
    #expect(info["metadata"] == ["k": "v"])
    #expect(info["size"] == 2)
    let typed = StorageDesk.form([("contentType", "image/gif")], file: [1])
    _ = try desk.ask("POST", "object/notes/g", [("Content-Type", typed.type)], body: typed.body)
    #expect(try desk.ask("GET", "object/info/notes/g").json["content_type"] == "image/gif")
  }

  @Test("a form without a file or without its end stores nothing")
  func brokenForm() throws {
    let desk = try StorageDesk()
    let form = StorageDesk.form([], file: Array("hi".utf8))
    let cut = try desk.ask("POST", "object/notes/f", [("Content-Type", form.type)], body: Array(form.body.dropLast(6)))
    #expect(cut.problem == "400 400 Error InvalidRequest")
    let field = Array("--BOUND\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nb\r\n--BOUND--\r\n".utf8)
    let fileless = try desk.ask("POST", "object/notes/f", [("Content-Type", form.type)], body: field)
    #expect(fileless.problem == "400 400 Error InvalidRequest")
    let bare = try desk.ask("POST", "object/notes/f", [("Content-Type", "multipart/form-data")], body: field)
    #expect(bare.problem == "400 400 Error InvalidRequest")
    #expect(try desk.ask("GET", "object/info/notes/f").problem == "400 404 not_found NoSuchKey")
  }

  @Test("a key that is taken is refused, unless the upload says exactly x-upsert: true")
  func upsert() throws {
    let desk = try StorageDesk()
    let first = try desk.put("notes/a", "one", [("x-metadata", "eyJrIjogInYifQ==")])
    #expect(try desk.put("notes/a", "two").problem == "400 409 Duplicate KeyAlreadyExists")
    #expect(try desk.put("notes/a", "two", [("x-upsert", "True")]).problem == "400 409 Duplicate KeyAlreadyExists")
    let before = try desk.ask("GET", "object/info/notes/a").json
    let second = try desk.put("notes/a", "two", [("x-upsert", "true")])
    #expect(second.json["Id"] == first.json["Id"])
    let after = try desk.ask("GET", "object/info/notes/a").json
    #expect(before["version"] != after["version"])
    #expect(before["etag"] != after["etag"])
    #expect(after["metadata"] == [:])
    #expect(try desk.ask("GET", "object/notes/a").text == "two")
  }

  @Test("PUT replaces an object, and makes one where there is none")
  func put() throws {
    let desk = try StorageDesk()
    for text in ["one", "two"] {
      #expect(try desk.ask("PUT", "object/notes/a", body: Array(text.utf8)).json["Key"] == "notes/a")
      #expect(try desk.ask("GET", "object/notes/a").text == text)
    }
  }

  @Test("a bucket's limits hold for raw bodies and for forms")
  func limits() throws {
    let desk = try StorageDesk()
    #expect(try desk.put("small/a", "0123456789").status == 200)
    #expect(try desk.put("small/b", "0123456789A").problem == "400 413 Payload too large EntityTooLarge")
    #expect(try desk.put("small/b", "x", type: "video/mp4").problem == "400 415 invalid_mime_type InvalidMimeType")
    #expect(try desk.put("small/c", "x", type: "image/webp").status == 200)
    let large = StorageDesk.form([], file: Array("0123456789A".utf8))
    let answer = try desk.ask("POST", "object/small/d", [("Content-Type", large.type)], body: large.body)
    #expect(answer.problem == "400 413 Payload too large EntityTooLarge")
    let typed = StorageDesk.form([], file: [1], type: "application/pdf")
    let refused = try desk.ask("POST", "object/small/d", [("Content-Type", typed.type)], body: typed.body)
    #expect(refused.json["message"] == "mime type application/pdf is not supported")
  }

  @Test("a folder's placeholder must be empty")
  func placeholder() throws {
    let desk = try StorageDesk()
    #expect(try desk.put("notes/x/.emptyFolderPlaceholder", "").status == 200)
    #expect(try desk.put("notes/y/.emptyFolderPlaceholder", "x").status == 400)
  }

  // MARK: Keys

  @Test("every allowed character may be in a key")
  func allowedCharacters() throws {
    let desk = try StorageDesk()
    let key = "aZ09_!.*'() &$@=;:+,?-"
    let path = key.utf8.map { "%" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    #expect(try desk.put("notes/d/\(path)", "x").json["Key"] == .string("notes/d/\(key)"))
    #expect(try desk.ask("GET", "object/notes/d/\(path)").text == "x")
    // In a path a plus is a plus.
    #expect(try desk.put("notes/a+b", "x").json["Key"] == "notes/a+b")
  }

  @Test(
    "a key with any other character is refused",
    arguments: [
      "a%23b", "a%25b", "a~b", "%5Ba%5D", "%7Ba%7D", "a%5Cb", "a%22b", "%3Ca%3E", "a%7Cb", "a%60b", "a%5Eb", "a%09b",
      "a%00b", "K%C3%BCche.jpg", "%E7%81%AF", "a%FFb",
    ])
  func refusedCharacters(key: String) throws {
    let desk = try StorageDesk()
    #expect(try desk.put("notes/\(key)", "x").problem == "400 400 InvalidKey InvalidKey")
  }

  @Test(
    "keys that look like paths are names and nothing else",
    arguments: ["../../x", "..%2F..%2Fx", "/etc/passwd", "a//b", "."])
  func traversal(key: String) throws {
    let desk = try StorageDesk()
    #expect(try desk.put("notes/\(key)", "safe").status == 200)
    #expect(try desk.ask("GET", "object/notes/\(key)").text == "safe")
    let names = try desk.json("POST", "object/list-v2/notes", [:]).json["objects"]?.arrayValue?.map { $0.text("name") }
    #expect(names == [QueryText.decodedPath(key)])
  }

  @Test("keys differ by case")
  func keyCase() throws {
    let desk = try StorageDesk()
    _ = try desk.put("notes/A", "large")
    #expect(try desk.put("notes/a", "small").status == 200)
    #expect(try desk.ask("GET", "object/notes/A").text == "large")
  }

  // MARK: Downloads

  static let ranges: [(String, Int, String, String?)] = [
    ("bytes=0-1", 206, "he", "bytes 0-1/5"), ("bytes=3-", 206, "lo", "bytes 3-4/5"),
    ("bytes=-2", 206, "lo", "bytes 3-4/5"), ("bytes=-9", 206, "hello", "bytes 0-4/5"),
    ("bytes=1-99", 206, "ello", "bytes 1-4/5"), ("bytes=0-1,3-4", 200, "hello", nil), ("bytes=x", 200, "hello", nil),
    ("bytes=3-1", 200, "hello", nil), ("lines=0-1", 200, "hello", nil),
  ]

  @Test("a range gives a part, and what is none gives the whole", arguments: ranges)
  func range(field: String, status: Int, text: String, range: String?) throws {
    let desk = try StorageDesk()
    _ = try desk.put("notes/a", "hello")
    let answer = try desk.ask("GET", "object/notes/a", [("Range", field)])
    #expect((answer.status, answer.text, answer.field("Content-Range")) == (status, text, range))
  }

  @Test("a range beyond the end is refused, and an older content is not gone on with")
  func rangeEdges() throws {
    let desk = try StorageDesk()
    _ = try desk.put("notes/a", "hello")
    let beyond = try desk.ask("GET", "object/notes/a", [("Range", "bytes=5-")])
    #expect(beyond.problem == "416 416 invalid_range InvalidRange")
    let tag = try desk.ask("GET", "object/notes/a").field("ETag") ?? ""
    #expect(try desk.ask("GET", "object/notes/a", [("Range", "bytes=1-"), ("If-Range", tag)]).status == 206)
    #expect(try desk.ask("GET", "object/notes/a", [("Range", "bytes=1-"), ("If-Range", "\"old\"")]).status == 200)
  }

  @Test("a client that has the content gets 304 without a body")
  func conditional() throws {
    let desk = try StorageDesk()
    _ = try desk.put("notes/a", "hello")
    let tag = try desk.ask("GET", "object/notes/a").field("ETag") ?? ""
    for value in [tag, "W/\(tag)", "\"x\", \(tag)", "*"] {
      let answer = try desk.ask("GET", "object/notes/a", [("If-None-Match", value)])
      #expect((answer.status, answer.field("ETag")) == (304, tag))
    }
    #expect(try desk.ask("GET", "object/notes/a", [("If-None-Match", "\"x\"")]).status == 200)
    let since = [("Sun, 18 Oct 2026 13:00:27 GMT", 304), ("Sun, 18 Oct 2026 13:00:26 GMT", 200), ("yesterday", 200)]
    for (time, status) in since {
      #expect(try desk.ask("GET", "object/notes/a", [("If-Modified-Since", time)]).status == status)
    }
  }

  @Test("HEAD tells the size and the tag, and 400 for what is not there")
  func head() throws {
    let desk = try StorageDesk()
    _ = try desk.put("notes/a", "hello")
    let there = try desk.ask("HEAD", "object/notes/a")
    #expect((there.status, there.field("Content-Length"), there.body) == (200, "5", []))
    #expect(there.field("ETag") == (try desk.ask("GET", "object/notes/a").field("ETag")))
    #expect(try desk.ask("HEAD", "object/notes/b").status == 400)
  }

  @Test("download names the file to save, and pages come as plain text")
  func presentation() throws {
    let desk = try StorageDesk()
    _ = try desk.put("notes/a", "<script>", type: "text/html")
    #expect(try desk.ask("GET", "object/notes/a").field("Content-Type") == "text/plain")
    let cases = [
      ("download", "attachment;"), ("download=", "attachment;"),
      ("download=o%20t.txt", "attachment; filename=\"o t.txt\";"),
      ("download=K%C3%BC", "attachment; filename*=UTF-8''K%C3%BC;"),
      ("download=a%0d%0aX:%20y", "attachment; filename*=UTF-8''a%0D%0AX%3A%20y;"),
    ]
    for (query, expected) in cases {
      #expect(try desk.ask("GET", "object/notes/a?\(query)").field("Content-Disposition") == expected)
    }
  }

  @Test("info gives what is known of an object")
  func info() throws {
    let desk = try StorageDesk()
    _ = try desk.put("notes/a", "hello")
    for path in ["object/info/notes/a", "object/info/authenticated/notes/a"] {
      let info = try desk.ask("GET", path).json
      #expect(
        info.objectValue?.names == [
          "id", "name", "version", "bucket_id", "size", "content_type", "cache_control", "etag", "metadata",
          "last_modified", "created_at",
        ])
      #expect(info["size"] == 5)
      #expect(info["created_at"] == "2026-10-18T13:00:27.486Z")
    }
    _ = try desk.put("shop/a", "x", as: .service)
    #expect(try desk.ask("GET", "object/info/public/shop/a", as: .nobody).status == 200)
  }

  // MARK: Moving, copying, removing

  @Test("a moved object keeps its id, its bytes and its metadata")
  func move() throws {
    let desk = try StorageDesk()
    _ = try desk.put("notes/a", "hello", [("x-metadata", "eyJrIjogInYifQ==")])
    let before = try desk.ask("GET", "object/info/notes/a").json
    let body: JSONValue = ["bucketId": "notes", "sourceKey": "a", "destinationKey": "c/d"]
    #expect(try desk.json("POST", "object/move", body).json == ["message": "Successfully moved"])
    let after = try desk.ask("GET", "object/info/notes/c/d").json
    for member in ["id", "created_at", "metadata", "size"] { #expect(before[member] == after[member]) }
    #expect(try desk.ask("GET", "object/notes/c/d").text == "hello")
    #expect(try desk.json("POST", "object/move", body).problem == "400 404 not_found NoSuchKey")
    _ = try desk.put("notes/a", "other")
    #expect(try desk.json("POST", "object/move", body).problem == "400 409 Duplicate KeyAlreadyExists")
    let away: JSONValue = [
      "bucketId": "notes", "sourceKey": "a", "destinationKey": "e", "destinationBucket": "small",
    ]
    #expect(try desk.json("POST", "object/move", away).status == 200)
    #expect(try desk.ask("GET", "object/small/e").text == "other")
  }

  @Test("a copy has an id and a life of its own")
  func copy() throws {
    let desk = try StorageDesk()
    _ = try desk.put("notes/a", "hello", [("x-metadata", "eyJrIjogInYifQ==")])
    let body: JSONValue = ["bucketId": "notes", "sourceKey": "a", "destinationKey": "b"]
    let made = try desk.json("POST", "object/copy", body).json
    #expect(made["Key"] == "notes/b")
    #expect(made["name"] == "b")
    #expect(made["bucket_id"] == "notes")
    _ = try desk.ask("DELETE", "object/notes/a")
    #expect(try desk.ask("GET", "object/notes/b").text == "hello")
    #expect(try desk.ask("GET", "object/info/notes/b").json["metadata"] == ["k": "v"])
    #expect(try desk.json("POST", "object/copy", body).problem == "400 404 not_found NoSuchKey")
    _ = try desk.put("notes/a", "new")
    #expect(try desk.json("POST", "object/copy", body).problem == "400 409 Duplicate KeyAlreadyExists")
    let replaced = try desk.ask(
      "POST", "object/copy", [("x-upsert", "true"), ("Content-Type", "application/json")],
      body: body.serializedBytes())
    #expect(replaced.status == 200)
    #expect(try desk.ask("GET", "object/notes/b").text == "new")
    let bare: JSONValue = [
      "bucketId": "notes", "sourceKey": "b", "destinationKey": "c", "copyMetadata": false,
      "metadata": ["mimetype": "image/png"],
    ]
    _ = try desk.json("POST", "object/copy", bare)
    #expect(try desk.ask("GET", "object/info/notes/c").json["content_type"] == "image/png")
  }

  @Test("removing many answers with the rows that were there")
  func removeMany() throws {
    let desk = try StorageDesk()
    for key in ["a", "b/c", "b"] { _ = try desk.put("notes/\(key)", "x") }
    let removed = try desk.json("DELETE", "object/notes", ["prefixes": ["a", "no such", "b"]])
    #expect(removed.json.arrayValue?.map { $0.text("name") } == ["a", "b"])
    #expect(removed.json.arrayValue?.first?["bucket_id"] == "notes")
    #expect(try desk.ask("GET", "object/notes/b/c").text == "x")
    #expect(try desk.json("DELETE", "object/nowhere", ["prefixes": ["a"]]).text == "[]")
    #expect(try desk.json("DELETE", "object/notes", ["prefixes": []]).problem == "400 400 Error InvalidRequest")
    #expect(try desk.json("DELETE", "object/notes", [:]).problem == "400 400 Error InvalidRequest")
  }

  @Test("removing one says whether it was there")
  func removeOne() throws {
    let desk = try StorageDesk()
    _ = try desk.put("notes/a", "x")
    #expect(try desk.ask("DELETE", "object/notes/a").json == ["message": "Successfully deleted"])
    #expect(try desk.ask("DELETE", "object/notes/a").problem == "400 404 not_found NoSuchKey")
    #expect(try desk.ask("DELETE", "object/nowhere/a").problem == "400 404 Bucket not found NoSuchBucket")
  }
}
