/// Where the photos of a collection's rows lie.
public struct PhotosSettings: Sendable, Hashable {
  /// A folder directly in the workspace; the photos of `tasks/a.json` lie in its subfolder `a`.
  public var folder: String

  /// Photos in a folder.
  public init(folder: String) { self.folder = folder }

  init(_ node: SettingsNode) throws(SettingsError) {
    try node.requireObject(of: ["folder"])
    folder = try CollectionSettings.folder(try node.member("folder", "the photos' folder"))
  }

  /// The folder of the photos that belong to the row's file of this name.
  func path(forFileNamed name: String) -> String {
    WorkspacePath.joined(folder, name.hasSuffix(".json") ? String(name.dropLast(5)) : name)
  }
}
