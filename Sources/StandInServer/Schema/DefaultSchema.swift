/// The schema that is served when no file is named: the template's `schema.json`.
enum DefaultSchema {
  static var text: String { String(decoding: PackageResources.schema_json, as: UTF8.self) }
}
