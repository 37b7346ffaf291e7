import Foundation
import Testing

@Suite("The template contacts, with real processes and files", .timeLimit(.minutes(5))) struct ContactsTests {
  private static func site() async throws -> (site: Site, a: Replica, b: Replica) {
    let site = try await Site(serving: ["--template", "contacts"])
    let a = try await site.workspace("a", isFirst: true, options: ["--template", "contacts"])
    let b = try await site.workspace("b", isFirst: false, options: ["--template", "contacts"])
    return (site, a, b)
  }

  @Test("a person and their company travel there and back, with a number, a day and a column that is only shown")
  func roundTrip() async throws {
    let (site, a, b) = try await Self.site()
    defer { withExtendedLifetime(site) {} }
    let company = "0b7f4c52-3d0e-4f5e-9a51-6f6a0d2f7a11"
    try a.write("companies/acme.json", "{\"id\": \"\(company)\", \"name\": \"Acme\", \"discount\": 12.50}")
    try a.write(
      "people/ada.json", "{\"name\": \"Ada Lovelace\", \"birthday\": \"1815-12-10\", \"company_id\": \"\(company)\"}")
    #expect(try await a.sync()["synced"] == 2)

    #expect(try await b.sync()["filesWritten"] == 2)
    #expect(try b.text("companies/acme.json").contains("\"discount\": 12.50"), "a number keeps its digits")
    let ada = try b.row("people/ada-lovelace.json")
    #expect(ada["birthday"] as? String == "1815-12-10")
    #expect(ada["company_id"] as? String == company)
    #expect(ada["created_at"] is String, "a column that is only shown comes from the server")
    #expect(ada["archived"] == nil)

    try b.edit("people/ada-lovelace.json") { $0["phone"] = "+44 20 7946 0000" }
    try a.write("companies/acme.json", "{\"id\": \"\(company)\", \"name\": \"Acme\", \"discount\": 15}")
    #expect(try await b.sync()["synced"] == 1)
    try await a.sync()
    try await b.sync()
    #expect(try a.row("people/ada.json")["phone"] as? String == "+44 20 7946 0000")
    #expect(try b.row("companies/acme.json")["discount"] as? Int == 15)

    try b.remove("people/ada-lovelace.json")
    try await b.sync()
    try await a.sync()
    #expect(!a.exists("people/ada.json"))
    #expect(a.exists("companies/acme.json"))
    #expect(try await a.sync().values.allSatisfy { $0 == 0 }, "all in step: nothing left to do")
  }

  @Test("what the server's checks refuse stands beside its file, and a value of a wrong type is never sent")
  func refusals() async throws {
    let (site, a, _) = try await Self.site()
    defer { withExtendedLifetime(site) {} }
    try a.write("companies/greedy.json", "{\"name\": \"Greedy\", \"discount\": 140}")
    try a.write("companies/word.json", "{\"name\": \"Word\", \"discount\": \"much\"}")
    let report = try await a.sync(expecting: 4)
    #expect(report["rejected"] == 1)
    #expect(report["problems"] == 1)
    #expect(a.exists("companies/greedy.refused.json"))
    let problem = try a.row("companies/greedy.refused.json")["$problem"] as? [String: Any]
    #expect((problem?["message"] as? String)?.contains("companies_discount_is_a_percentage") == true)
  }

  @Test("rows that do not meet the condition have no files")
  func condition() async throws {
    let (site, a, b) = try await Self.site()
    defer { withExtendedLifetime(site) {} }
    try a.write("people/grace.json", "{\"name\": \"Grace Hopper\"}")
    try a.write("people/ada.json", "{\"name\": \"Ada Lovelace\"}")
    try await a.sync()
    // A workspace with other settings sees all people, and whether they are archived.
    let all = try await site.workspace("all", isFirst: false, options: ["--template", "contacts"])
    let settings = try all.text("tidemark.json").replacing("\"archived\": false", with: "\"archived\": {\"neq\": null}")
    try all.write(
      "tidemark.json", settings.replacing("\"phone text\"", with: "\"phone text\", \"archived boolean\""))
    try await all.sync()
    #expect(try all.row("people/grace-hopper.json")["archived"] as? Bool == false)
    try all.edit("people/grace-hopper.json") { $0["archived"] = true }
    try await all.sync()
    try await b.sync()
    #expect(b.exists("people/ada-lovelace.json"))
    #expect(!b.exists("people/grace-hopper.json"))
    // Fewer rows than there were: the workspace that has its file finds it gone.
    try await a.sync()
    #expect(!a.exists("people/grace.json"))
  }

  @Test("'init' lays down schemas and tells the editor of them, and they follow the settings")
  func schemas() async throws {
    let (site, a, _) = try await Self.site()
    defer { withExtendedLifetime(site) {} }
    let settings = try JSONSerialization.jsonObject(with: Data(a.text("tidemark.json").utf8)) as? [String: Any]
    #expect(settings?["$schema"] as? String == "./.tidemark/schema.json")
    #expect(try a.row(".tidemark/schema.json")["title"] as? String == "tidemark.json")
    let associations = try a.row(".vscode/settings.json")["json.schemas"] as? [[String: Any]]
    #expect(
      associations?.map { $0["url"] as? String } == [
        "./.tidemark/schema/companies.json", "./.tidemark/schema/people.json",
      ])
    let people = try a.row(".tidemark/schema/people.json")["properties"] as? [String: Any]
    #expect(people?["birthday"] != nil)

    try a.write("tidemark.json", try a.text("tidemark.json").replacing("        \"phone text\",\n", with: ""))
    try await a.sync()
    let changed = try a.row(".tidemark/schema/people.json")["properties"] as? [String: Any]
    #expect(changed?["phone"] == nil)
    #expect(changed?["birthday"] != nil)
  }
}
