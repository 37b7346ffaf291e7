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
    Migration(
      "lists of shared rows",
      """
      -- What lists of one user's table show of its rows. Rows that they show alike are stored once.
      CREATE TABLE list_shape (
        id INTEGER PRIMARY KEY,
        user_id TEXT NOT NULL,
        schema_name TEXT NOT NULL,
        table_name TEXT NOT NULL,
        selection TEXT NOT NULL,
        -- The bytes of the rows' texts.
        bytes INTEGER NOT NULL DEFAULT 0,
        UNIQUE (user_id, schema_name, table_name, selection)
      );
      -- What the server last answered to a query of one identity, with what is known since.
      CREATE TABLE cached_list (
        id INTEGER PRIMARY KEY,
        user_id TEXT NOT NULL,
        schema_name TEXT NOT NULL,
        table_name TEXT NOT NULL,
        query TEXT NOT NULL,
        shape_id INTEGER NOT NULL REFERENCES list_shape (id),
        fetched_at INTEGER NOT NULL,
        is_stale INTEGER NOT NULL DEFAULT 0,
        -- The number of rows at which the server stopped, although more were asked for.
        cut_at INTEGER,
        used_at INTEGER NOT NULL,
        row_count INTEGER NOT NULL DEFAULT 0,
        UNIQUE (user_id, schema_name, table_name, query)
      );
      CREATE INDEX cached_list_by_use ON cached_list (used_at, id);
      CREATE INDEX cached_list_of_shape ON cached_list (shape_id);
      CREATE TRIGGER cached_list_goes AFTER DELETE ON cached_list BEGIN
        DELETE FROM list_shape WHERE id = OLD.shape_id
          AND NOT EXISTS (SELECT 1 FROM cached_list WHERE shape_id = OLD.shape_id);
      END;

      -- A row as lists of a shape show it; lists that were fetched at other times may show another.
      CREATE TABLE list_row (
        id INTEGER PRIMARY KEY,
        shape_id INTEGER NOT NULL,
        key TEXT,
        body TEXT NOT NULL
      );
      CREATE INDEX list_row_of_key ON list_row (shape_id, key);
      CREATE TRIGGER list_row_comes AFTER INSERT ON list_row BEGIN
        UPDATE list_shape SET bytes = bytes + length(CAST(NEW.body AS BLOB)) WHERE id = NEW.shape_id;
      END;
      CREATE TRIGGER list_row_changes AFTER UPDATE OF body ON list_row BEGIN
        UPDATE list_shape SET bytes = bytes + length(CAST(NEW.body AS BLOB)) - length(CAST(OLD.body AS BLOB))
          WHERE id = NEW.shape_id;
      END;
      CREATE TRIGGER list_row_goes AFTER DELETE ON list_row BEGIN
        UPDATE list_shape SET bytes = bytes - length(CAST(OLD.body AS BLOB)) WHERE id = OLD.shape_id;
      END;

      -- The rows of each list in its order. Places leave room between them, so that a row comes without moving others.
      CREATE TABLE list_member (
        list_id INTEGER NOT NULL REFERENCES cached_list (id) ON DELETE CASCADE,
        place INTEGER NOT NULL,
        row_id INTEGER NOT NULL,
        PRIMARY KEY (list_id, place)
      ) WITHOUT ROWID;
      CREATE INDEX list_member_of_row ON list_member (row_id, list_id);
      CREATE TRIGGER list_member_comes AFTER INSERT ON list_member BEGIN
        UPDATE cached_list SET row_count = row_count + 1 WHERE id = NEW.list_id;
      END;
      CREATE TRIGGER list_member_goes AFTER DELETE ON list_member BEGIN
        UPDATE cached_list SET row_count = row_count - 1 WHERE id = OLD.list_id;
        DELETE FROM list_row WHERE id = OLD.row_id
          AND NOT EXISTS (SELECT 1 FROM list_member WHERE row_id = OLD.row_id);
      END;
      CREATE TRIGGER list_member_shows_another AFTER UPDATE OF row_id ON list_member BEGIN
        DELETE FROM list_row WHERE id = OLD.row_id
          AND NOT EXISTS (SELECT 1 FROM list_member WHERE row_id = OLD.row_id);
      END;

      INSERT INTO list_shape (user_id, schema_name, table_name, selection)
        SELECT DISTINCT user_id, schema_name, table_name,
          coalesce(json_extract(query, '$.select'), json_extract(query, '$.columns'), '*') FROM cached_query;
      INSERT INTO cached_list
        (id, user_id, schema_name, table_name, query, shape_id, fetched_at, is_stale, used_at)
        SELECT old.id, old.user_id, old.schema_name, old.table_name, old.query, shape.id, old.fetched_at, old.is_stale,
          old.fetched_at
        FROM cached_query AS old JOIN list_shape AS shape USING (user_id, schema_name, table_name)
        WHERE shape.selection =
          coalesce(json_extract(old.query, '$.select'), json_extract(old.query, '$.columns'), '*');
      INSERT INTO list_row (id, shape_id, key, body)
        SELECT row_number() OVER (ORDER BY query_id, position), list.shape_id, old.key, old.body
        FROM cached_query_row AS old JOIN cached_list AS list ON list.id = old.query_id;
      INSERT INTO list_member (list_id, place, row_id)
        SELECT query_id, row_number() OVER (PARTITION BY query_id ORDER BY position) << 20,
          row_number() OVER (ORDER BY query_id, position)
        FROM cached_query_row;
      DROP TABLE cached_query_row;
      DROP TABLE cached_query;
      """),
    Migration(
      "resumable uploads",
      """
      -- Where uploads in pieces were broken off. The mark tells a file and its content from others.
      CREATE TABLE resumable_upload (
        user_id TEXT NOT NULL,
        bucket TEXT NOT NULL,
        object_key TEXT NOT NULL,
        file_mark TEXT NOT NULL,
        place TEXT NOT NULL,
        PRIMARY KEY (user_id, bucket, object_key)
      ) WITHOUT ROWID;
      """),
    Migration(
      "copies of objects",
      """
      -- Each file's row; the file lies in the client's folder under its id. Times are nanoseconds since 1970.
      CREATE TABLE cached_file (
        user_id TEXT NOT NULL,
        bucket TEXT NOT NULL,
        object_key TEXT NOT NULL,
        file_id TEXT NOT NULL UNIQUE,
        etag TEXT NOT NULL,
        content_type TEXT,
        size INTEGER NOT NULL,
        fetched_at INTEGER NOT NULL,
        used_at INTEGER NOT NULL,
        PRIMARY KEY (user_id, bucket, object_key)
      ) WITHOUT ROWID;
      CREATE INDEX cached_file_used ON cached_file (used_at);
      """),
    Migration(
      "first pulls that go on",
      """
      -- How far a first pull has come, and the server's time when it began: the cursor must not pass that.
      ALTER TABLE pull_state ADD COLUMN first_key TEXT;
      ALTER TABLE pull_state ADD COLUMN first_date INTEGER;
      -- Which columns were read under which conditions.
      ALTER TABLE pull_state ADD COLUMN shape TEXT;

      -- How many rows the server showed and still has, moved by the same statement that moves the row.
      CREATE TABLE cached_row_count (
        user_id TEXT NOT NULL,
        table_name TEXT NOT NULL,
        number INTEGER NOT NULL,
        PRIMARY KEY (user_id, table_name)
      ) WITHOUT ROWID;
      INSERT INTO cached_row_count
        SELECT user_id, table_name, count(*) FROM cached_row WHERE body IS NOT NULL GROUP BY user_id, table_name;
      CREATE TRIGGER cached_row_comes AFTER INSERT ON cached_row WHEN NEW.body IS NOT NULL BEGIN
        INSERT INTO cached_row_count VALUES (NEW.user_id, NEW.table_name, 1)
          ON CONFLICT DO UPDATE SET number = number + 1;
      END;
      CREATE TRIGGER cached_row_goes AFTER DELETE ON cached_row WHEN OLD.body IS NOT NULL BEGIN
        UPDATE cached_row_count SET number = number - 1
          WHERE user_id = OLD.user_id AND table_name = OLD.table_name;
      END;
      CREATE TRIGGER cached_row_turns AFTER UPDATE OF body ON cached_row
        WHEN (NEW.body IS NULL) <> (OLD.body IS NULL) BEGIN
        INSERT INTO cached_row_count VALUES (NEW.user_id, NEW.table_name, 1)
          ON CONFLICT DO UPDATE SET number = number + (CASE WHEN NEW.body IS NULL THEN -1 ELSE 1 END);
      END;
      """),
    // The version that a write of this device was taken at: a row that was made here had none.
    Migration("taken writes", "ALTER TABLE made_row ADD COLUMN version TEXT"),
    // Whether a row was made by a repeated send.
    Migration("repeated inserts", "ALTER TABLE made_row ADD COLUMN is_repeated INTEGER NOT NULL DEFAULT 0"),
  ]
}
