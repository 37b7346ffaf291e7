#include <sqlite3.h>

// A function of many kinds of arguments, which Swift cannot call.
static inline int tm_sqlite3_count_no_memory(void) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }

// A null pointer binds NULL, and Swift's empty buffers may have no address: empty text and bytes get one here.
// SQLITE_TRANSIENT is a cast of -1 to a function pointer, which Swift cannot import.
static inline int tm_sqlite3_bind_text(sqlite3_stmt *statement, int index, const char *text, int bytes) {
  return sqlite3_bind_text(statement, index, text ? text : "", bytes, SQLITE_TRANSIENT);
}
static inline int tm_sqlite3_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, int count) {
  return sqlite3_bind_blob(statement, index, bytes ? bytes : "", count, SQLITE_TRANSIENT);
}
