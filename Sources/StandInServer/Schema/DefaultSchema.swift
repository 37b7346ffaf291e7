/// The schema that is served when no file is named: the same text as the template's `schema.json`.
enum DefaultSchema {
  static let text = """
    {
      "tables": {
        "tasks": {
          "columns": [
            {"name": "id", "type": "uuid", "notNull": true, "default": {"function": "gen_random_uuid"}},
            {"name": "user_id", "type": "uuid", "notNull": true, "default": {"function": "auth.uid"}},
            {"name": "title", "type": "text", "notNull": true,
             "check": {"name": "tasks_title_not_blank", "notBlank": true}},
            {"name": "notes", "type": "text"},
            {"name": "done", "type": "boolean", "notNull": true, "default": false},
            {"name": "created_at", "type": "timestamptz", "notNull": true, "default": {"function": "now"}},
            {"name": "updated_at", "type": "timestamptz", "notNull": true, "default": {"function": "now"}}
          ],
          "primaryKey": ["id"],
          "owner": "user_id",
          "version": {"column": "updated_at", "kind": "now"}
        }
      }
    }

    """
}
