import LosslessJSON

/// A JSON Schema that lies in the workspace, so that editors complete and check what a person types.
///
/// They are made from the settings anew whenever a workspace is opened, and so are never meant for git.
public struct SchemaFile: Sendable, Hashable {
  /// The schema of tidemark.json.
  ///
  /// It lies beside the folder of the others, since a collection may have any name.
  public static let settingsPath = ".tidemark/schema.json"
  /// The schema of a person's own settings, which lie outside of the workspace.
  public static let userSettingsPath = ".tidemark/user-settings-schema.json"
  /// The settings of VS Code and its relatives that tell them which schema belongs to which file.
  public static let editorSettingsPath = ".vscode/settings.json"

  /// The path in the workspace.
  public var path: String
  /// The text.
  public var text: String

  private static let ofSettings = SchemaFile(path: settingsPath, text: text(WorkspaceSettings.schema))
  private static let ofUserSettings = SchemaFile(path: userSettingsPath, text: text(UserSettings.schema))

  /// Returns the schemas of a workspace: that of its settings, and one a collection.
  public static func all(_ settings: WorkspaceSettings) -> [SchemaFile] {
    [ofSettings, ofUserSettings]
      + settings.collections.map { SchemaFile(path: path(of: $0), text: text($0.fileSchema)) }
  }

  /// Returns the text of `.vscode/settings.json` for a new workspace.
  public static func editorSettings(_ settings: WorkspaceSettings) -> String {
    let associations = settings.collections.map { collection -> JSONValue in
      // What the server refused holds only its answer where nothing of the row ever arrived.
      let refused = FileNames.sideFile(.refused, of: "*.json")
      return [
        "fileMatch": [.string("/\(collection.folder)/*.json"), .string("!/\(collection.folder)/\(refused)")],
        "url": .string("./\(path(of: collection))"),
      ]
    }
    return text(["json.schemas": .array(associations)])
  }

  private static func path(of collection: CollectionSettings) -> String {
    "\(StateFolder.schemas)/\(collection.folder).json"
  }

  private static func text(_ schema: JSONValue) -> String { schema.serialized(.pretty) + "\n" }
}
