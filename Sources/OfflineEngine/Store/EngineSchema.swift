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
    Migration(
      "requests, counts and queries",
      """
      ALTER TABLE mutation ADD COLUMN request TEXT;
      -- Refusals of a table or column that the server may learn of, and when the last one counted.
      ALTER TABLE mutation ADD COLUMN unknown_count INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE mutation ADD COLUMN unknown_at INTEGER;
      CREATE INDEX mutation_of_table ON mutation (user_id, table_name, list, id);

      -- How many writes stand where, moved by the same statement that moves the write.
      CREATE TABLE mutation_count (
        user_id TEXT NOT NULL,
        list TEXT NOT NULL,
        table_name TEXT NOT NULL,
        number INTEGER NOT NULL,
        PRIMARY KEY (user_id, list, table_name)
      ) WITHOUT ROWID;
      INSERT INTO mutation_count
        SELECT user_id, list, table_name, count(*) FROM mutation GROUP BY user_id, list, table_name;
      CREATE TRIGGER mutation_comes AFTER INSERT ON mutation BEGIN
        INSERT INTO mutation_count VALUES (NEW.user_id, NEW.list, NEW.table_name, 1)
          ON CONFLICT DO UPDATE SET number = number + 1;
      END;
      CREATE TRIGGER mutation_goes AFTER DELETE ON mutation BEGIN
        UPDATE mutation_count SET number = number - 1
          WHERE user_id = OLD.user_id AND list = OLD.list AND table_name = OLD.table_name;
      END;
      CREATE TRIGGER mutation_moves AFTER UPDATE OF list, user_id ON mutation BEGIN
        UPDATE mutation_count SET number = number - 1
          WHERE user_id = OLD.user_id AND list = OLD.list AND table_name = OLD.table_name;
        INSERT INTO mutation_count VALUES (NEW.user_id, NEW.list, NEW.table_name, 1)
          ON CONFLICT DO UPDATE SET number = number + 1;
      END;

      -- What the server last answered to a query of one identity, in the answer's order.
      CREATE TABLE cached_query (
        id INTEGER PRIMARY KEY,
        user_id TEXT NOT NULL,
        schema_name TEXT NOT NULL,
        table_name TEXT NOT NULL,
        query TEXT NOT NULL,
        fetched_at INTEGER NOT NULL,
        is_stale INTEGER NOT NULL DEFAULT 0,
        UNIQUE (user_id, schema_name, table_name, query)
      );
      -- Places lie between their neighbours', so that a row comes or goes without moving the others.
      CREATE TABLE cached_query_row (
        query_id INTEGER NOT NULL REFERENCES cached_query (id) ON DELETE CASCADE,
        position REAL NOT NULL,
        key TEXT,
        body TEXT NOT NULL,
        PRIMARY KEY (query_id, position)
      ) WITHOUT ROWID;
      CREATE INDEX cached_query_row_of_key ON cached_query_row (key, query_id);

      -- How often what is shown of a table may have changed, for those who follow it.
      CREATE TABLE table_change (
        user_id TEXT NOT NULL,
        table_name TEXT NOT NULL,
        number INTEGER NOT NULL,
        PRIMARY KEY (user_id, table_name)
      ) WITHOUT ROWID;
      CREATE TRIGGER mutation_changes_table_by_coming AFTER INSERT ON mutation BEGIN
        INSERT INTO table_change VALUES (NEW.user_id, NEW.table_name, 1) ON CONFLICT DO UPDATE SET number = number + 1;
      END;
      CREATE TRIGGER mutation_changes_table_by_going AFTER DELETE ON mutation BEGIN
        INSERT INTO table_change VALUES (OLD.user_id, OLD.table_name, 1) ON CONFLICT DO UPDATE SET number = number + 1;
      END;
      CREATE TRIGGER mutation_changes_table AFTER UPDATE OF list, user_id, body, request ON mutation BEGIN
        INSERT INTO table_change VALUES (NEW.user_id, NEW.table_name, 1) ON CONFLICT DO UPDATE SET number = number + 1;
      END;
      """),
    Migration(
      "rows by version",
      """
      -- Keys and versions without the rows' values: counted at every pull.
      CREATE INDEX cached_row_version ON cached_row (user_id, table_name, key, version) WHERE body IS NOT NULL;
      """),
    Migration(
      "overlap of pulls",
      "ALTER TABLE pull_state ADD COLUMN overlap_read_at INTEGER;"),
  ]
}
