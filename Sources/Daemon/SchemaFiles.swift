import FileWorkspace

/// The JSON Schemas on the disk.
enum SchemaFiles {
  /// Writes those that differ from what the settings now say.
  ///
  /// They are for editors alone: where they cannot be written, on a full disk for instance, the workspace works as well.
  static func refresh(_ settings: WorkspaceSettings, in files: any FileSystem) {
    for schema in SchemaFile.all(settings) {
      let bytes = Array(schema.text.utf8)
      if let found = try? files.read(schema.path, bytesMax: RowFile.bytesMax), found.bytes == bytes { continue }
      _ = try? files.createFolder(StateFolder.schemas, isPrivate: false)
      try? files.replace(schema.path, with: bytes, temporaryFolder: StateFolder.temporary)
    }
  }
}
