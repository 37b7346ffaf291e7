import LosslessJSON
import Testing

@testable import StandInServer
@testable import tidemark_conformance

@Suite("Lists of Storage") struct StorageListTests {
  private func desk(_ keys: [String]) throws -> StorageDesk {
    let desk = try StorageDesk()
    for key in keys {
      _ = try desk.put("notes/\(key)", key)
      desk.project.clock.advance(seconds: 1)
    }
    return desk
  }

  private func names(_ desk: StorageDesk, _ body: JSONValue) throws -> [String] {
    try desk.json("POST", "object/list/notes", body).json.arrayValue?.map { $0.text("name") } ?? []
  }

  private static let keys = ["b.txt", "a.txt", "c/1", "c/2", "c/d/3", "Cc/x", "ab.txt"]

  static let lists: [(JSONValue, [String])] = [
    (["prefix": ""], ["Cc", "a.txt", "ab.txt", "b.txt", "c"]),
    (["prefix": "c"], ["1", "2", "d"]),
    (["prefix": "C/"], ["1", "2", "d"]),
    (["prefix": "c/d"], ["3"]),
    (["prefix": "", "search": "a"], ["a.txt", "ab.txt"]),
    (["prefix": "", "search": "A"], ["a.txt", "ab.txt"]),
    (["prefix": "", "limit": 2], ["Cc", "a.txt"]),
    (["prefix": "", "limit": 2, "offset": 3], ["b.txt", "c"]),
    (["prefix": "", "sortBy": ["column": "name", "order": "desc"]], ["c", "b.txt", "ab.txt", "a.txt", "Cc"]),
    (["prefix": "c", "sortBy": ["column": "updated_at", "order": "desc"]], ["2", "1", "d"]),
    (["prefix": "c", "sortBy": ["column": "created_at", "order": "asc"]], ["d", "1", "2"]),
    (["prefix": "none"], []),
  ]

  @Test("a folder is listed with its sub-folders, under names of its own", arguments: lists)
  func folder(body: JSONValue, expected: [String]) throws {
    #expect(try names(try desk(Self.keys), body) == expected)
  }

  @Test("an object has its times and what the server knows of it; a folder has nothing but its name")
  func entries() throws {
    let desk = try desk(["a/b", "c"])
    let list = try desk.json("POST", "object/list/notes", ["prefix": ""]).json.arrayValue ?? []
    #expect(
      list.first == [
        "name": "a", "id": .null, "updated_at": .null, "created_at": .null, "last_accessed_at": .null,
        "metadata": .null,
      ])
    let metadata = list.last?["metadata"]?.objectValue ?? [:]
    #expect(
      metadata.names == [
        "eTag", "size", "mimetype", "cacheControl", "lastModified", "contentLength", "httpStatusCode",
      ])
    #expect((metadata["size"], metadata["contentLength"], metadata["httpStatusCode"]) == (1, 1, 200))
  }

  @Test("a list without a prefix or with a strange column is refused; one of a strange bucket is empty")
  func refusals() throws {
    let desk = try desk([])
    #expect(try desk.json("POST", "object/list/notes", [:]).problem == "400 400 Error InvalidRequest")
    let odd: JSONValue = ["prefix": "", "sortBy": ["column": "size"]]
    #expect(try desk.json("POST", "object/list/notes", odd).problem == "400 400 Error InvalidRequest")
    #expect(try desk.json("POST", "object/list/nowhere", ["prefix": ""]).text == "[]")
    #expect(try desk.ask("POST", "object/list/notes", body: Array("[".utf8)).problem == "400 400 Error InvalidRequest")
  }

  @Test("a list has 100 entries unless it is told otherwise")
  func standardLimit() throws {
    let desk = try StorageDesk()
    for number in 0..<105 { _ = try desk.put("notes/\(number)", "") }
    #expect(try names(desk, ["prefix": ""]).count == 100)
    #expect(try names(desk, ["prefix": "", "limit": 5_000]).count == 105)
  }

  // MARK: The second kind

  private func page(_ desk: StorageDesk, _ body: JSONValue) throws -> (folders: [String], objects: [String], JSONValue)
  {
    let answer = try desk.json("POST", "object/list-v2/notes", body).json
    func names(_ member: String) -> [String] { answer[member]?.arrayValue?.map { $0.text("name") } ?? ["missing"] }
    return (names("folders"), names("objects"), answer)
  }

  @Test("the second kind lists whole keys at any depth, or groups them at the next slash")
  func recursive() throws {
    let desk = try desk(Self.keys)
    let all = try page(desk, [:])
    #expect(all.objects == ["Cc/x", "a.txt", "ab.txt", "b.txt", "c/1", "c/2", "c/d/3"])
    #expect(all.folders.isEmpty)
    #expect(all.2["hasNext"] == false)
    let grouped = try page(desk, ["prefix": "c/", "with_delimiter": true])
    #expect((grouped.folders, grouped.objects) == (["c/d/"], ["c/1", "c/2"]))
    // The prefix is text as it is: nothing is added, and case counts.
    #expect(try page(desk, ["prefix": "a"]).objects == ["a.txt", "ab.txt"])
    #expect(try page(desk, ["prefix": "A"]).objects == [])
  }

  static let sortings: [JSONValue] = [
    .null, ["column": "name", "order": "desc"], ["column": "created_at", "order": "asc"],
    ["column": "updated_at", "order": "desc"],
  ]

  @Test("pages give every entry once, whatever is added and removed meanwhile", arguments: sortings, [false, true])
  func pages(sorting: JSONValue, groups: Bool) throws {
    let desk = try desk(Self.keys)
    var seen: [String] = []
    var cursor: JSONValue?
    for turn in 0..<20 {
      var body: JSONObject = ["limit": 2, "with_delimiter": .bool(groups)]
      if !sorting.isNull { body["sortBy"] = sorting }
      body["cursor"] = cursor
      let found = try page(desk, .object(body))
      seen += found.folders + found.objects
      cursor = found.2["nextCursor"]
      if turn == 0 { _ = try desk.json("DELETE", "object/notes", ["prefixes": [.string(found.objects.first ?? "")]]) }
      if found.2["hasNext"] == false { break }
      #expect(cursor != nil)
    }
    let expected = groups ? ["Cc/", "a.txt", "ab.txt", "b.txt", "c/"] : Self.keys
    #expect(seen.sorted() == expected.sorted())
  }

  @Test("a cursor that is none is refused")
  func cursor() throws {
    let desk = try desk([])
    let answer = try desk.json("POST", "object/list-v2/notes", ["cursor": "x"])
    #expect(answer.problem == "400 400 Error InvalidRequest")
  }
}
