import LosslessJSON

/// What a new workspace begins with; compiled into the program, so that no folder has to be found at run time.
public struct WorkspaceTemplate: Sendable, Hashable {
  /// A file of a template.
  public struct File: Sendable, Hashable {
    /// The path in the workspace.
    public var path: String
    /// The text.
    public var bytes: [UInt8]
  }

  /// The template's name, as given to `tidemark init --template`.
  public let name: String
  /// The settings, with placeholders for the server.
  public let settings: [UInt8]
  /// What makes the tables in a Supabase project.
  public let schemaSQL: [UInt8]
  /// The tables for a local stand-in, as its schema file.
  public let standInSchema: [UInt8]

  /// Tasks as JSON files, with photos.
  public static let tasksAndPhotos = WorkspaceTemplate(
    name: "tasks-and-photos", settings: PackageResources.tidemark_json, schemaSQL: PackageResources.schema_sql,
    standInSchema: PackageResources.schema_json)

  /// People and the companies they work for.
  public static let contacts = WorkspaceTemplate(
    name: "contacts", settings: PackageResources.contacts_tidemark_json,
    schemaSQL: PackageResources.contacts_schema_sql, standInSchema: PackageResources.contacts_schema_json)

  /// All templates.
  public static let all = [tasksAndPhotos, contacts]

  /// The template of a name, or nil where there is none.
  public static func named(_ name: String) -> WorkspaceTemplate? { all.first { $0.name == name } }

  /// Returns the files that a new workspace on a server begins with.
  public func files(server: ServerSettings) -> [File] {
    let text = WorkspaceSettings.text(self, server: server)
    var files = [
      File(path: WorkspaceSettings.fileName, bytes: Array(text.utf8)),
      File(path: ".gitignore", bytes: PackageResources.gitignore),
      File(path: ".gitattributes", bytes: PackageResources.gitattributes),
      File(path: "schema.sql", bytes: schemaSQL),
    ]
    if let settings = try? WorkspaceSettings(parsing: Array(text.utf8)) {
      files.append(File(path: SchemaFile.editorSettingsPath, bytes: Array(SchemaFile.editorSettings(settings).utf8)))
    }
    return files
  }
}

extension WorkspaceSettings {
  /// Returns the text of tidemark.json for a new workspace: the template's, with the server's address and key.
  public static func text(_ template: WorkspaceTemplate = .tasksAndPhotos, server: ServerSettings) -> String {
    guard let document = try? JSONDocument(parsing: template.settings) else {
      return String(decoding: template.settings, as: UTF8.self)
    }
    return document.setting("server", to: server.json).text
  }
}
