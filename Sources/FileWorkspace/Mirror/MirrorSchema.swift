import SQLite

extension Migration {
  /// The workspace's tables, kept in the engine's file so that a base and the write it leads to are one transaction.
  ///
  /// Append only.
  static let workspace: [Migration] = [
    Migration(
      "mirror",
      """
      -- The map path <-> row <-> base. A row whose file is gone or displaced has no path until it is settled.
      CREATE TABLE mirror (
        collection TEXT NOT NULL,
        key TEXT NOT NULL,
        key_values TEXT NOT NULL,
        path TEXT UNIQUE,
        last_path TEXT NOT NULL,
        base TEXT NOT NULL,
        version TEXT,
        written_key TEXT,
        key_due_at INTEGER,
        inode INTEGER,
        birth INTEGER,
        size INTEGER,
        mtime INTEGER,
        ctime INTEGER,
        hash TEXT,
        read_at INTEGER,
        was_seen INTEGER NOT NULL DEFAULT 0,
        absent_since INTEGER,
        is_held INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (collection, key)
      ) WITHOUT ROWID;

      -- The path that a row's file had before the row went away, so that it comes back under the same name.
      CREATE TABLE former_path (
        collection TEXT NOT NULL,
        key TEXT NOT NULL,
        path TEXT NOT NULL,
        PRIMARY KEY (collection, key)
      ) WITHOUT ROWID;

      -- Earlier contents of paths: what an editor that was open all the time may still hold.
      CREATE TABLE earlier_base (
        collection TEXT NOT NULL,
        key TEXT NOT NULL,
        number INTEGER NOT NULL,
        base TEXT NOT NULL,
        version TEXT,
        replaced_at INTEGER NOT NULL,
        PRIMARY KEY (collection, key, number)
      ) WITHOUT ROWID;

      CREATE TABLE side_file (
        path TEXT PRIMARY KEY,
        collection TEXT NOT NULL,
        key TEXT NOT NULL,
        kind TEXT NOT NULL,
        entries TEXT NOT NULL,
        base TEXT NOT NULL,
        text BLOB NOT NULL,
        is_durable INTEGER NOT NULL DEFAULT 0,
        inode INTEGER,
        birth INTEGER,
        absent_since INTEGER
      ) WITHOUT ROWID;
      CREATE INDEX side_file_of_row ON side_file (collection, key);

      CREATE TABLE write_intent (
        temporary TEXT NOT NULL,
        replaced TEXT NOT NULL,
        intent TEXT NOT NULL,
        PRIMARY KEY (temporary, replaced)
      ) WITHOUT ROWID;

      CREATE TABLE replaced_file (
        path TEXT PRIMARY KEY,
        origin TEXT NOT NULL,
        hash TEXT NOT NULL,
        size INTEGER,
        mtime INTEGER,
        ctime INTEGER,
        inode INTEGER,
        since INTEGER NOT NULL,
        context TEXT NOT NULL
      ) WITHOUT ROWID;

      CREATE TABLE problem (
        path TEXT PRIMARY KEY,
        line INTEGER,
        column INTEGER,
        message TEXT NOT NULL,
        since INTEGER NOT NULL
      ) WITHOUT ROWID;
      """),
    Migration(
      "files by number",
      """
      -- A file that was moved before its key stood in it is known again by its number.
      CREATE INDEX mirror_of_file ON mirror (collection, inode);
      """),
    Migration(
      "what syncs changed",
      """
      -- The last syncs that changed a person's files, for 'undo'.
      CREATE TABLE sync_round (
        number INTEGER PRIMARY KEY,
        at INTEGER NOT NULL,
        is_undone INTEGER NOT NULL DEFAULT 0,
        -- How much its former texts have; known once a later one has begun.
        bytes INTEGER
      );

      -- What lay at a path before the sync (nothing: it came new) and what the sync wrote (nothing: it was removed).
      -- The values are those of the columns that changed, as they were.
      CREATE TABLE sync_round_file (
        round INTEGER NOT NULL,
        path TEXT NOT NULL,
        collection TEXT NOT NULL,
        key TEXT NOT NULL,
        former BLOB,
        former_values TEXT NOT NULL,
        written TEXT,
        PRIMARY KEY (round, path)
      ) WITHOUT ROWID;
      """),
    Migration(
      "what is due",
      """
      -- Asked for at every turn, and nearly always nothing.
      CREATE INDEX mirror_absent ON mirror (collection) WHERE absent_since IS NOT NULL;
      CREATE INDEX mirror_key_due ON mirror (key_due_at) WHERE key_due_at IS NOT NULL;
      """),
    Migration(
      "photos",
      """
      -- What is known of each photo, in the order in which they came.
      CREATE TABLE photo (
        number INTEGER PRIMARY KEY,
        -- The key of its row; made here for a photo that was dropped here.
        id TEXT NOT NULL UNIQUE,
        collection TEXT NOT NULL,
        -- The key of the row that it belongs to; nothing where its folder has none.
        owner TEXT,
        -- Where the file lies; nothing while it is gone or another one has taken its place.
        path TEXT UNIQUE,
        -- Where it lay last: the name that was chosen for it.
        last_path TEXT NOT NULL,
        -- The file as it was last looked at.
        inode INTEGER,
        birth INTEGER,
        size INTEGER,
        mtime INTEGER,
        ctime INTEGER,
        -- What the file says, as JSON; nothing until it was read.
        content TEXT,
        -- The object that the row names and what it holds, as JSON.
        object TEXT,
        -- A newer object in the bucket, while the row that names it waits in the queue.
        sent TEXT,
        -- The key under which the content is sent: after a death it may have arrived.
        upload_key TEXT,
        -- What its row says of its place, as this device last wrote or read it; nothing where it has none.
        row_name TEXT,
        row_owner TEXT,
        state TEXT NOT NULL,
        reason TEXT,
        attempts INTEGER NOT NULL DEFAULT 0,
        retry_at INTEGER,
        -- Whether the row's bytes are to come down.
        is_wanted INTEGER NOT NULL DEFAULT 0,
        was_seen INTEGER NOT NULL DEFAULT 0,
        absent_since INTEGER,
        is_held INTEGER NOT NULL DEFAULT 0
      );
      CREATE INDEX photo_of_file ON photo (collection, inode);
      CREATE INDEX photo_of_owner ON photo (collection, owner);
      CREATE INDEX photo_in_state ON photo (state, number);
      CREATE INDEX photo_absent ON photo (collection) WHERE absent_since IS NOT NULL;

      -- Objects in the bucket that are to go, once no row names them any more.
      CREATE TABLE photo_leftover (
        object TEXT PRIMARY KEY,
        collection TEXT NOT NULL,
        -- The key of the photo's row, and of the row that it belonged to.
        photo TEXT NOT NULL,
        owner TEXT,
        attempts INTEGER NOT NULL DEFAULT 0,
        retry_at INTEGER,
        reason TEXT
      ) WITHOUT ROWID;
      """),
    Migration(
      "held edits",
      """
      -- Edits that would blank a column in many files at once; the files alone have what they say.
      CREATE TABLE held_edit (
        path TEXT PRIMARY KEY,
        columns TEXT NOT NULL,
        since INTEGER NOT NULL
      ) WITHOUT ROWID;
      """),
    Migration(
      "removed photos",
      """
      -- Where the file of an object lay that a person has removed: its bytes are to be in the trash before the object goes.
      ALTER TABLE photo_leftover ADD COLUMN removed_from TEXT;
      """),
    Migration(
      "photos by where they lay",
      """
      CREATE INDEX photo_last_path ON photo (last_path);
      """),
    Migration(
      "told problems",
      """
      -- A file is often wrong for the moment in which a program writes it: a problem is told when it has lasted.
      ALTER TABLE problem ADD COLUMN told INTEGER NOT NULL DEFAULT 1;
      """),
  ]
}
