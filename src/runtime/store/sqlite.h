// SPDX-License-Identifier: Apache-2.0
// The little of SQLite that the cache and the records need: a connection and statements that close
// themselves, and return codes as the exception SqliteFailure, which stays inside the files that
// use it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <sqlite3.h>

namespace tilefuse::runtime {

struct SqliteFailure {
  int code = SQLITE_OK; // primary result code
  std::string message;
  // The file is not what was written: set it aside. SQLITE_ERROR is a table of another shape.
  bool is_damage() const {
    return code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_ERROR;
  }
};

class Connection {
public:
  // Opens or creates the file; waits up to `busy_ms` for other writers.
  Connection(const std::string &path, int busy_ms);
  // How long statements wait for other writers from now on.
  void wait(int busy_ms) const { sqlite3_busy_timeout(handle_.get(), busy_ms); }
  // A file that nobody can change, where not even a journal may be written beside it.
  static Connection immutable(const std::string &path);
  void execute(const char *sql); // no result rows wanted
  sqlite3 *get() const { return handle_.get(); }

private:
  Connection() = default;
  struct Close {
    void operator()(sqlite3 *handle) const { sqlite3_close_v2(handle); }
  };
  std::unique_ptr<sqlite3, Close> handle_;
};

// A prepared statement. Bound texts and blobs must outlive the next reset().
class Statement {
public:
  Statement(const Connection &connection, const char *sql);
  Statement &bind(int position, std::string_view text);
  Statement &bind(int position, std::int64_t value);
  Statement &bind_blob(int position, std::string_view bytes);
  bool step(); // true: a row is there
  void reset();
  std::int64_t integer(int column) const { return sqlite3_column_int64(handle_.get(), column); }
  std::string_view blob(int column) const; // valid until the next step or reset

private:
  void check(int code) const;
  struct Finalize {
    void operator()(sqlite3_stmt *handle) const { sqlite3_finalize(handle); }
  };
  std::unique_ptr<sqlite3_stmt, Finalize> handle_;
};

} // namespace tilefuse::runtime
