import SQLite

extension Migration {
  /// The engine's tables, oldest step first.
  ///
  /// Append only.
  static let engine: [Migration] = [
    Migration(
      "rows, mutations and pulls",
      """
      -- Rows as the server last showed them. A body of NULL is a row that was seen and is gone.
      CREATE TABLE cached_row (
        user_id TEXT NOT NULL,
        table_name TEXT NOT NULL,
        key TEXT NOT NULL,
        body TEXT,
        version TEXT,
        is_stale INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (user_id, table_name, key)
      ) WITHOUT ROWID;
      CREATE INDEX cached_row_stale ON cached_row (user_id, table_name) WHERE is_stale;

      -- The queue, the rejected list and the conflicted list: a write is in exactly one, named by `list`.
      CREATE TABLE mutation (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        user_id TEXT NOT NULL,
        table_name TEXT NOT NULL,
        key TEXT NOT NULL,
        key_values TEXT NOT NULL,
        operation TEXT NOT NULL,
        body TEXT NOT NULL,
        base TEXT,
        base_version TEXT,
        coalesces INTEGER NOT NULL,
        created_at INTEGER NOT NULL,
        send_count INTEGER NOT NULL DEFAULT 0,
        list TEXT NOT NULL DEFAULT 'queued',
        listed_at INTEGER,
        message TEXT,
        server_error TEXT,
        server TEXT,
        server_version TEXT,
        changed_on_server TEXT,
        conflicting_columns TEXT
      );
      CREATE INDEX mutation_in_list ON mutation (user_id, list, id);
      CREATE INDEX mutation_of_row ON mutation (user_id, table_name, key, list, id);

      -- Rows whose content may have changed since the one consumer last looked.
      CREATE TABLE row_change (
        user_id TEXT NOT NULL,
        table_name TEXT NOT NULL,
        key TEXT NOT NULL,
        PRIMARY KEY (user_id, table_name, key)
      ) WITHOUT ROWID;

      CREATE TABLE pull_state (
        user_id TEXT NOT NULL,
        table_name TEXT NOT NULL,
        cursor TEXT,
        cursor_key TEXT,
        cursor_seen_at INTEGER,
        swept_at INTEGER,
        held_vanished INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (user_id, table_name)
      ) WITHOUT ROWID;

      CREATE TABLE note (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
      """),
    Migration(
      "made rows",
      """
      -- The server's answer to an insert, until the one who made the row has looked at it.
      CREATE TABLE made_row (
        user_id TEXT NOT NULL,
        table_name TEXT NOT NULL,
        key TEXT NOT NULL,
        body TEXT NOT NULL,
        PRIMARY KEY (user_id, table_name, key)
      ) WITHOUT ROWID;
      """),
  ]
}
