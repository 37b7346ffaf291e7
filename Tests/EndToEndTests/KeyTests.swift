import Foundation
import Testing

@Suite("Rows whose keys are not made here: of two columns, or by the server", .timeLimit(.minutes(5)))
struct KeyTests {
  /// A project with stock of two key columns and notes that the server numbers, and two workspaces of it.
  private struct Shop {
    let site: Site
    let a: Replica
    let b: Replica

    init() async throws {
      let schema = FileManager.default.temporaryDirectory.appendingPathComponent("schema-\(UUID().uuidString).json")
      try Data(Self.schema.utf8).write(to: schema)
      defer { try? FileManager.default.removeItem(at: schema) }
      site = try await Site(serving: ["--schema", schema.path])
      (a, b) = try await site.replicas()
      for replica in [a, b] {
        try replica.write(
          "tidemark.json",
          """
          {"server": {"url": "\(site.url)", "key": "\(site.key)"}, "collections": [
            {"folder": "stock", "table": "stock", "key": ["shop", "item"], "version": "updated_at",
             "cursor": "updated_at", "name": null,
             "columns": ["shop text", "item integer", "amount integer", "note text"]},
            {"folder": "notes", "table": "notes", "key": "id", "keyMadeBy": "server", "version": "updated_at",
             "cursor": "updated_at", "name": "title", "columns": ["id integer", "title text required"]}
          ]}
          """)
        // Makes the folders.
        try await replica.sync()
      }
    }

    private static let schema = """
      {"tables": {
        "stock": {
          "columns": [
            {"name": "shop", "type": "text", "notNull": true},
            {"name": "item", "type": "integer", "notNull": true},
            {"name": "user_id", "type": "uuid", "notNull": true, "default": {"function": "auth.uid"}},
            {"name": "amount", "type": "integer"},
            {"name": "note", "type": "text"},
            {"name": "updated_at", "type": "timestamptz", "notNull": true, "default": {"function": "now"}}
          ],
          "primaryKey": ["shop", "item"], "owner": "user_id", "version": {"column": "updated_at", "kind": "now"}
        },
        "notes": {
          "columns": [
            {"name": "id", "type": "integer", "notNull": true},
            {"name": "user_id", "type": "uuid", "notNull": true, "default": {"function": "auth.uid"}},
            {"name": "title", "type": "text", "notNull": true},
            {"name": "updated_at", "type": "timestamptz", "notNull": true, "default": {"function": "now"}}
          ],
          "primaryKey": ["id"], "owner": "user_id", "version": {"column": "updated_at", "kind": "now"}
        }
      }}
      """

    /// Has both sync until nothing is left to do.
    func settle() async throws {
      for replica in [a, b, a, b] { try await replica.converge() }
    }

    /// The name of the other replica's file of a row.
    func name(of shop: String, _ item: Int) throws -> String {
      let names = try FileManager.default.contentsOfDirectory(atPath: "\(b.path)/stock").filter {
        $0.hasSuffix(".json")
      }
      return try "stock/"
        + #require(
          names.first { name in
            let row = try? b.row("stock/\(name)")
            return row?["shop"] as? String == shop && row?["item"] as? Int == item
          })
    }
  }

  @Test("a row of two key columns is made, edited, renamed, merged and deleted")
  func life() async throws {
    let shop = try await Shop()
    let (a, b) = (shop.a, shop.b)
    try a.write("stock/tea.json", "{\"shop\": \"corner\", \"item\": 7, \"amount\": 1, \"note\": null}")
    try a.write("stock/jam.json", "{\"shop\": \"corner\", \"item\": 8, \"amount\": 2}")
    try a.write("stock/oil.json", "{\"shop\": \"a/b, \\\"c\\\"\", \"item\": 7}")
    #expect(try await a.sync()["synced"] == 3)
    #expect(try await b.sync()["filesWritten"] == 3)
    let tea = try shop.name(of: "corner", 7)
    _ = try shop.name(of: "a/b, \"c\"", 7)

    try b.edit(tea) { $0["amount"] = 5 }
    try a.edit("stock/tea.json") { $0["note"] = "green" }
    a.move("stock/tea.json", to: "stock/green tea.json")
    try await shop.settle()
    #expect(try a.row("stock/green tea.json")["amount"] as? Int == 5)
    #expect(try b.row(tea)["note"] as? String == "green")

    // The same column on both: both versions stand side by side, and mine is kept.
    try b.edit(tea) { $0["amount"] = 6 }
    try await b.sync()
    try a.edit("stock/green tea.json") { $0["amount"] = 7 }
    try await a.sync(expecting: 4)
    #expect(try a.row("stock/green tea.json")["amount"] as? Int == 6)
    #expect(try a.row("stock/green tea.mine.json")["amount"] as? Int == 7)
    a.move("stock/green tea.mine.json", to: "stock/green tea.json")
    try await shop.settle()
    #expect(try b.row(tea)["amount"] as? Int == 7)

    try await a.run("undo", "--dry-run").expectSuccess()
    try b.remove(tea)
    try await b.converge()
    try await a.sync()
    #expect(!a.exists("stock/green tea.json"))
    // A row that was removed elsewhere comes back under its key: there is no other.
    #expect(try await a.run("undo").output.contains("restored"))
    try await shop.settle()
    #expect(try a.row("stock/green tea.json")["amount"] as? Int == 7)
    #expect(try b.row(try shop.name(of: "corner", 7))["amount"] as? Int == 7)
    #expect(try await a.run("doctor").status == 0)
  }

  @Test("a new file must say the whole key, and a copy one of its own")
  func missingKey() async throws {
    let shop = try await Shop()
    let a = shop.a
    try a.write("stock/part.json", "{\"shop\": \"corner\", \"amount\": 1}")
    try a.write("stock/empty.json", "")
    try a.write("notes/new.json", "{\"title\": \"New\"}")
    try a.write("stock/tea.json", "{\"shop\": \"corner\", \"item\": 7}")
    try await a.sync(expecting: 4)
    try a.write("stock/copy.json", try a.text("stock/tea.json"))
    try await a.sync(expecting: 4)
    let status = try await a.run("status").output
    for said in [
      "stock/part.json:1:1: a new row needs its key, that is 'shop', 'item': no keys are made here for table 'stock'",
      "stock/empty.json:1:1: a new row needs its key", "notes/new.json:1:1: a new row needs its key, that is 'id'",
      "stock/copy.json:1:1: the key ('shop', 'item') is that of another file, of which this is a copy",
    ] { #expect(status.contains(said), "\(status)") }
    #expect(try await a.run("add", "--to", "notes", "Title").errors.contains("no keys are made here for 'notes'"))

    try a.edit("stock/part.json") { $0["item"] = 8 }
    try a.edit("stock/copy.json") { $0["item"] = 9 }
    try a.write("notes/new.json", "{\"id\": 12, \"title\": \"New\"}")
    try a.remove("stock/empty.json")
    #expect(try await a.sync()["synced"] == 3)
    try await shop.b.sync()
    #expect(try shop.b.row("notes/new.json")["id"] as? Int == 12)
  }

  @Test("the key of a row cannot be changed, and a deleted row is made again only by command")
  func usedKey() async throws {
    let shop = try await Shop()
    let a = shop.a
    for item in 1...4 { try a.write("stock/\(item).json", "{\"shop\": \"corner\", \"item\": \(item)}") }
    try await a.sync()
    try a.edit("stock/1.json") { $0["item"] = 20 }
    try await a.sync(expecting: 4)
    #expect(try await a.run("status").output.contains("a row keeps its key, and another row is another file"))
    try a.edit("stock/1.json") { $0["item"] = 1 }
    try a.remove("stock/2.json")
    try await a.converge()
    try a.write("stock/again.json", "{\"shop\": \"corner\", \"item\": 2, \"note\": \"again\"}")
    try await a.sync(expecting: 4)
    #expect(try await a.run("status").output.contains("run 'tidemark restore' with this file's name to make it again"))
    try await a.run("restore", "stock/again.json").expectSuccess()
    try await shop.settle()
    #expect(try shop.b.row(try shop.name(of: "corner", 2))["note"] as? String == "again")
  }
}
