import LosslessJSON
import Testing

@testable import StandInServer
@testable import tidemark_conformance

@Suite("Buckets of Storage") struct StorageBucketTests {
  @Test("the service key makes, reads, changes, empties and removes a bucket")
  func life() throws {
    let desk = try StorageDesk()
    let body: JSONValue = ["name": "new", "public": true, "file_size_limit": "2KB", "allowed_mime_types": ["text/*"]]
    #expect(try desk.json("POST", "bucket", as: .service, body).json == ["name": "new"])
    #expect(try desk.json("POST", "bucket", as: .service, body).problem == "400 409 Duplicate BucketAlreadyExists")
    let made = try desk.ask("GET", "bucket/new", as: .service).json
    #expect(
      made == [
        "id": "new", "name": "new", "owner": "", "public": true, "file_size_limit": 2048,
        "allowed_mime_types": ["text/*"], "created_at": "2026-10-18T13:00:27.486Z",
        "updated_at": "2026-10-18T13:00:27.486Z",
      ])
    let change: JSONValue = ["public": false, "file_size_limit": .null]
    #expect(try desk.json("PUT", "bucket/new", as: .service, change).json == ["message": "Successfully updated"])
    let changed = try desk.ask("GET", "bucket/new", as: .service).json
    #expect((changed["public"], changed["file_size_limit"]) == (false, .null))
    #expect(changed["allowed_mime_types"] == ["text/*"])
    _ = try desk.put("new/a", "x", as: .service)
    #expect(
      try desk.json("DELETE", "bucket/new", as: .service, [:]).problem == "400 409 ResourceNotEmpty ResourceNotEmpty")
    #expect(try desk.json("POST", "bucket/new/empty", as: .service, [:]).status == 200)
    #expect(try desk.ask("GET", "object/new/a", as: .service).problem == "400 404 not_found NoSuchKey")
    #expect(try desk.json("DELETE", "bucket/new", as: .service, [:]).json == ["message": "Successfully deleted"])
    #expect(try desk.ask("GET", "bucket/new", as: .service).problem == "400 404 Bucket not found NoSuchBucket")
  }

  @Test("the list is sorted, searched and cut as it is asked for")
  func list() throws {
    let desk = try StorageDesk()
    func names(_ query: String) throws -> [String] {
      try desk.ask("GET", "bucket\(query)", as: .service).json.arrayValue?.map { $0.text("id") } ?? []
    }
    #expect(try names("") == ["drop", "mine", "notes", "photos", "shop", "small"])
    #expect(try names("?limit=2&offset=1") == ["mine", "notes"])
    #expect(try names("?search=O&sortColumn=name&sortOrder=desc") == ["shop", "photos", "notes", "drop"])
    #expect(try desk.ask("GET", "bucket", as: .service).json.arrayValue?.first?["type"] == "STANDARD")
    #expect(try desk.ask("GET", "bucket?sortColumn=x", as: .service).problem == "400 400 Error InvalidRequest")
  }

  @Test("users see the buckets that a policy shows, and change none")
  func users() throws {
    let desk = try StorageDesk()
    #expect(try desk.ask("GET", "bucket").json.arrayValue?.map { $0.text("id") } == ["small"])
    #expect(try desk.ask("GET", "bucket", as: .anon).text == "[]")
    let small = try desk.ask("GET", "bucket/small").json
    #expect((small["file_size_limit"], small["allowed_mime_types"]) == (10, ["text/plain", "image/*"]))
    for (bucket, person) in [("notes", StorageDesk.Person.ann), ("small", .anon)] {
      let problem = try desk.ask("GET", "bucket/\(bucket)", as: person).problem
      #expect(problem == "400 404 Bucket not found NoSuchBucket")
    }
    #expect(
      try desk.json("PUT", "bucket/small", ["public": true]).problem == "400 404 Bucket not found NoSuchBucket")
    #expect(try desk.json("POST", "bucket", ["name": "x"]).problem == "400 403 Unauthorized AccessDenied")
    #expect(try desk.json("DELETE", "bucket/notes", [:]).problem == "400 404 Bucket not found NoSuchBucket")
    #expect(try desk.json("POST", "bucket/notes/empty", [:]).problem == "403 403 Unauthorized AccessDenied")
    #expect(try desk.ask("GET", "bucket", as: .nobody).problem == "400 400 Error InvalidRequest")
  }

  static let wrong: [(JSONValue, String)] = [
    (["name": " x"], "400 400 Invalid Input InvalidBucketName"),
    (["name": "a/b"], "400 400 Invalid Input InvalidBucketName"),
    (["name": ""], "400 400 Invalid Input InvalidBucketName"),
    (["name": "ü"], "400 400 Invalid Input InvalidBucketName"),
    ([:], "400 400 Error InvalidRequest"), (["name": "x", "file_size_limit": "much"], "400 400 Error InvalidRequest"),
    (["name": "x", "file_size_limit": "9TB"], "400 413 Payload too large EntityTooLarge"),
    (["name": "x", "allowed_mime_types": ["text"]], "400 415 invalid_mime_type InvalidMimeType"),
    (["name": "x", "public": "yes"], "400 400 Error InvalidRequest"),
  ]

  @Test("a bucket that cannot be is refused", arguments: wrong)
  func refusals(body: JSONValue, problem: String) throws {
    #expect(try StorageDesk().json("POST", "bucket", as: .service, body).problem == problem)
  }

  @Test("a change must change something")
  func emptyChange() throws {
    let desk = try StorageDesk()
    #expect(
      try desk.json("PUT", "bucket/notes", as: .service, ["id": "notes"]).problem == "400 400 Error InvalidRequest")
  }

  static let mistakes: [(String, String)] = [
    (#"{"buckets": {"a/b": {}}}"#, "'a/b' cannot name a bucket"),
    (#"{"buckets": {"a": {"fileSizeLimit": 0}}}"#, "expected a positive number of bytes"),
    (
      #"{"policies": [{"actions": ["read"], "condition": "always"}]}"#, "expected one of select, insert, update, delete"
    ),
    (#"{"policies": [{"actions": [], "condition": "x"}]}"#, "unknown 'x'; it is one of ownerFolder, owner, always"),
    (#"{"bucket": {}}"#, "unknown member 'bucket'; known are buckets, policies"),
  ]

  @Test("a schema file's mistakes about Storage are named", arguments: mistakes)
  func schema(storage: String, reason: String) {
    #expect(
      performing: { try Schema(parsing: #"{"tables": {}, "storage": \#(storage)}"#) },
      throws: { "\($0)".hasSuffix(reason) })
  }
}
