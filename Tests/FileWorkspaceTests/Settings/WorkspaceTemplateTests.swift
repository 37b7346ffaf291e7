import FileWorkspace
import LosslessJSON
import Testing

@Suite("Templates") struct WorkspaceTemplateTests {
  @Test("a template's settings are read, with the server that was given")
  func settings() throws {
    let server = try ServerSettings(url: "http://127.0.0.1:54321/", key: "a\\b")
    for template in WorkspaceTemplate.all {
      let text = WorkspaceSettings.text(template, server: server)
      let settings = try WorkspaceSettings(parsing: Array(text.utf8))
      #expect(settings.server == server)
      #expect(!text.contains("PROJECT"))
      #expect(!text.contains("PUBLISHABLE-KEY"))
      #expect(text.hasSuffix("}\n"))
      #expect(WorkspaceTemplate.named(template.name) == template)
    }
    #expect(WorkspaceTemplate.named("none") == nil)
  }

  @Test("tasks have a key of the device, a version and a name")
  func tasks() throws {
    let server = try ServerSettings(url: "http://127.0.0.1:54321", key: "k")
    let settings = try WorkspaceSettings(parsing: Array(WorkspaceSettings.text(server: server).utf8))
    let tasks = try #require(settings.collection(folder: "tasks"))
    #expect(tasks.table == "tasks")
    #expect(tasks.key == ["id"])
    #expect(tasks.keyMadeBy == .device)
    #expect(tasks.version == "updated_at")
    #expect(tasks.cursor == "updated_at")
    #expect(tasks.name == "title")
    #expect(tasks.columns.map(\.name) == ["id", "title", "notes", "done"])
    #expect(settings.settle == .milliseconds(50))
  }

  @Test("contacts have two collections, with a number, a day, a condition and a column that is only shown")
  func contacts() throws {
    let server = try ServerSettings(url: "http://127.0.0.1:54321", key: "k")
    let settings = try WorkspaceSettings(
      parsing: Array(WorkspaceSettings.text(.contacts, server: server).utf8))
    #expect(settings.collections.map(\.folder) == ["companies", "people"])
    #expect(settings.collection(folder: "companies")?.column("discount")?.type == .number)
    let people = try #require(settings.collection(folder: "people"))
    #expect(people.column("birthday")?.type == .date)
    #expect(people.column("created_at")?.isReadOnly == true)
    #expect(people.conditions == [RowCondition("archived", .eq, false)])
  }

  @Test("the files of a new workspace are its settings, what git needs, and the schema")
  func files() throws {
    let server = try ServerSettings(url: "http://127.0.0.1:54321", key: "k")
    let files = WorkspaceTemplate.tasksAndPhotos.files(server: server)
    #expect(
      files.map(\.path) == ["tidemark.json", ".gitignore", ".gitattributes", "schema.sql", ".vscode/settings.json"])
    for file in files {
      #expect(file.bytes.last == UInt8(ascii: "\n"))
      #expect(!String(decoding: file.bytes, as: UTF8.self).contains("\u{FFFD}"))
    }
    let ignored = String(decoding: files[1].bytes, as: UTF8.self)
    #expect(ignored.contains("/.tidemark/"))
    for kind in SideFileKind.allCases { #expect(ignored.contains(FileNames.sideFile(kind, of: "*.json"))) }
  }
}
