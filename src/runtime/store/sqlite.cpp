// SPDX-License-Identifier: Apache-2.0
#include "runtime/store/sqlite.h"

namespace tilefuse::runtime {
namespace {

[[noreturn]] void fail(sqlite3 *handle, int code) {
  throw SqliteFailure{code & 0xff,
                      handle == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(handle)};
}

// A path as SQLite's URIs take it.
std::string uri_path(const std::string &path) {
  std::string text;
  for (const char c : path) {
    if (c == '%' || c == '?' || c == '#') {
      constexpr char kDigits[] = "0123456789abcdef";
      text += {'%', kDigits[c >> 4], kDigits[c & 15]};
    } else {
      text += c;
    }
  }
  return text;
}

} // namespace

Connection::Connection(const std::string &path, int busy_ms) {
  sqlite3 *handle = nullptr;
  const int code =
      sqlite3_open_v2(path.c_str(), &handle,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX, nullptr);
  handle_.reset(handle);
  if (code != SQLITE_OK)
    fail(handle, code);
  sqlite3_busy_timeout(handle, busy_ms);
}

Connection Connection::immutable(const std::string &path) {
  sqlite3 *handle = nullptr;
  const std::string uri = "file:" + uri_path(path) + "?immutable=1";
  const int code =
      sqlite3_open_v2(uri.c_str(), &handle,
                      SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_FULLMUTEX, nullptr);
  Connection connection;
  connection.handle_.reset(handle);
  if (code != SQLITE_OK)
    fail(handle, code);
  return connection;
}

void Connection::execute(const char *sql) {
  const int code = sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK)
    fail(handle_.get(), code);
}

Statement::Statement(const Connection &connection, const char *sql) {
  sqlite3_stmt *handle = nullptr;
  const int code = sqlite3_prepare_v2(connection.get(), sql, -1, &handle, nullptr);
  if (code != SQLITE_OK)
    fail(connection.get(), code);
  handle_.reset(handle);
}

void Statement::check(int code) const {
  if (code != SQLITE_OK)
    fail(sqlite3_db_handle(handle_.get()), code);
}

Statement &Statement::bind(int position, std::string_view text) {
  check(sqlite3_bind_text64(handle_.get(), position, text.data(), text.size(), SQLITE_STATIC,
                            SQLITE_UTF8));
  return *this;
}

Statement &Statement::bind(int position, std::int64_t value) {
  check(sqlite3_bind_int64(handle_.get(), position, value));
  return *this;
}

Statement &Statement::bind_blob(int position, std::string_view bytes) {
  check(sqlite3_bind_blob64(handle_.get(), position, bytes.data(), bytes.size(), SQLITE_STATIC));
  return *this;
}

bool Statement::step() {
  const int code = sqlite3_step(handle_.get());
  if (code == SQLITE_ROW)
    return true;
  if (code != SQLITE_DONE)
    fail(sqlite3_db_handle(handle_.get()), code);
  return false;
}

void Statement::reset() { sqlite3_reset(handle_.get()); }

std::string_view Statement::blob(int column) const {
  const void *data = sqlite3_column_blob(handle_.get(), column);
  const int size = sqlite3_column_bytes(handle_.get(), column);
  return data == nullptr
             ? std::string_view()
             : std::string_view(static_cast<const char *>(data), static_cast<std::size_t>(size));
}

} // namespace tilefuse::runtime
