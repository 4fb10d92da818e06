#pragma once
#include <sqlite3.h>

// SQLITE_TRANSIENT, a pointer made from a number, is nothing that Swift can import: SQLite copies the text.
static inline int otchat_sqlite_bind_text(sqlite3_stmt *s, int index, const char *text, sqlite3_uint64 count) {
  return sqlite3_bind_text64(s, index, text, count, SQLITE_TRANSIENT, SQLITE_UTF8);
}
