// SPDX-License-Identifier: Apache-2.0
#include "runtime/store/kernel_cache.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "base/hash.h"
#include "runtime/store/store_file.h"

namespace tilefuse::runtime {
namespace {

constexpr std::int64_t kTouchSeconds =
    24 * 3600; // how stale a row's time of use may get: a warm start writes nothing
constexpr std::int64_t kMostTexts = 100'000;
constexpr std::size_t kHashBytes = 32; // of content_hash

// `bytes` of a kernel is a hash that binds it to its key and its code, then its package without
// code. Kernels that were built as one program share a row of `codes`.
constexpr const char *kSchema =
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
    "CREATE TABLE IF NOT EXISTS codes(hash TEXT PRIMARY KEY, bytes BLOB NOT NULL);"
    "CREATE TABLE IF NOT EXISTS kernels(key TEXT PRIMARY KEY, used INTEGER NOT NULL, bytes BLOB "
    "NOT NULL,"
    " code TEXT NOT NULL);"
    "CREATE INDEX IF NOT EXISTS kernels_by_code ON kernels(code);"
    "CREATE TABLE IF NOT EXISTS texts(key TEXT PRIMARY KEY, used INTEGER NOT NULL, text BLOB NOT "
    "NULL, hash TEXT NOT NULL)";

constexpr const char *kTotalBytes = "SELECT (SELECT COALESCE(SUM(LENGTH(bytes)), 0) FROM kernels) +"
                                    " (SELECT COALESCE(SUM(LENGTH(bytes)), 0) FROM codes)";
// Rows by age, each with its share of its code's bytes.
constexpr const char *kOldest =
    "SELECT k.rowid, LENGTH(k.bytes) + COALESCE(LENGTH(c.bytes), 0) /"
    " (SELECT COUNT(*) FROM kernels o WHERE o.code = k.code)"
    " FROM kernels k LEFT JOIN codes c ON c.hash = k.code ORDER BY k.used, k.rowid";
constexpr const char *kDropUnused =
    "DELETE FROM codes WHERE hash NOT IN (SELECT code FROM kernels)";
// Those past so many rows, and past so many bytes.
constexpr const char *kDropOldTexts =
    "DELETE FROM texts WHERE rowid IN (SELECT rowid FROM (SELECT rowid, ROW_NUMBER() OVER newest AS"
    " place, SUM(LENGTH(text)) OVER newest AS bytes FROM texts WINDOW newest AS"
    " (ORDER BY used DESC, rowid DESC)) WHERE place > ? OR bytes > ?)";

std::int64_t now_seconds() {
  using namespace std::chrono;
  return duration_cast<seconds>(system_clock::now().time_since_epoch()).count();
}

struct Database {
  explicit Database(const std::string &path) : connection(path, kStoreOpenMs) {
    connection.execute(kSchema);
    kernel = std::make_unique<Statement>(connection,
                                         "SELECT used, bytes, code FROM kernels WHERE key = ?");
    code = std::make_unique<Statement>(connection, "SELECT bytes FROM codes WHERE hash = ?");
    text =
        std::make_unique<Statement>(connection, "SELECT used, text, hash FROM texts WHERE key = ?");
  }
  Connection connection;
  std::unique_ptr<Statement> kernel;
  std::unique_ptr<Statement> code;
  std::unique_ptr<Statement> text;
};

// Keys whose time of use is to be renewed.
struct Used {
  std::vector<std::string> kernels;
  std::vector<std::string> texts;
};

void touch(Database &database, const char *sql, const std::vector<std::string> &keys) {
  Statement update(database.connection, sql);
  for (const std::string &key : keys) {
    update.bind(1, now_seconds()).bind(2, key).step();
    update.reset();
  }
}

void touch(Database &database, const Used &used) {
  if (used.kernels.empty() && used.texts.empty())
    return;
  Transaction transaction(database.connection);
  touch(database, "UPDATE kernels SET used = ? WHERE key = ?", used.kernels);
  touch(database, "UPDATE texts SET used = ? WHERE key = ?", used.texts);
  transaction.commit();
}

// Of a text in its place.
std::string text_hash(const std::string &key, std::string_view text) {
  std::string both = key + "\n";
  both += text;
  return content_hash(both);
}

// Of a kernel in its place: a row with the contents of another is not what was written.
std::string kernel_hash(const std::string &key, std::string_view code, std::string_view head) {
  std::string all = fmt::format("{} {}\n{} {}\n", key.size(), key, code.size(), code);
  all += head;
  return content_hash(all);
}

void insert_texts(Database &database, std::span<const std::pair<std::string, std::string>> rows,
                  std::int64_t limit_bytes) {
  Transaction transaction(database.connection);
  Statement insert(database.connection,
                   "INSERT OR REPLACE INTO texts(key, used, text, hash) VALUES(?, ?, ?, ?)");
  for (const auto &[key, text] : rows) {
    const std::string hash = text_hash(key, text);
    insert.bind(1, key).bind(2, now_seconds()).bind_blob(3, text).bind(4, hash).step();
    insert.reset();
  }
  Statement drop(database.connection, kDropOldTexts);
  drop.bind(1, kMostTexts).bind(2, limit_bytes).step();
  transaction.commit();
}

std::int64_t total_bytes(Database &database) {
  Statement total(database.connection, kTotalBytes);
  total.step();
  return total.integer(0);
}

void drop_rows(Database &database, std::int64_t excess) {
  Statement oldest(database.connection, kOldest);
  std::vector<std::int64_t> rows;
  while (excess > 0 && oldest.step()) {
    rows.push_back(oldest.integer(0));
    excess -= oldest.integer(1);
  }
  oldest.reset();
  Statement remove(database.connection, "DELETE FROM kernels WHERE rowid = ?");
  for (const std::int64_t row : rows) {
    remove.bind(1, row).step();
    remove.reset();
  }
  database.connection.execute(kDropUnused);
}

// Rows used longest ago go first, until the rest fits. A shared code leaves with the last of its
// kernels, so that one pass may free less than it counted.
void drop_oldest(Database &database, std::int64_t limit_bytes) {
  std::int64_t before = 0;
  for (std::int64_t total = total_bytes(database); total > limit_bytes && total != before;) {
    before = total;
    drop_rows(database, total - limit_bytes);
    total = total_bytes(database);
  }
}

void insert(Database &database, std::span<const std::pair<std::string, const Package *>> rows,
            std::int64_t limit_bytes) {
  Transaction transaction(database.connection);
  Statement kernel(database.connection,
                   "INSERT OR REPLACE INTO kernels(key, used, bytes, code) VALUES(?, ?, ?, ?)");
  Statement code(database.connection, "INSERT OR REPLACE INTO codes(hash, bytes) VALUES(?, ?)");
  std::set<std::string> written;
  for (const auto &[key, package] : rows) {
    const std::string hash = content_hash(package->code);
    if (written.insert(hash).second) {
      code.bind(1, hash).bind_blob(2, package->code).step();
      code.reset();
    }
    Package head = *package;
    head.code.clear();
    const std::string package_bytes = serialize(head);
    const std::string bytes = kernel_hash(key, hash, package_bytes) + package_bytes;
    kernel.bind(1, key).bind(2, now_seconds()).bind_blob(3, bytes).bind(4, hash).step();
    kernel.reset();
  }
  drop_oldest(database, limit_bytes);
  transaction.commit();
}

} // namespace

struct KernelCache::State {
  State(std::string path, Warn warn)
      : file(std::move(path),
             {.what = "kernel cache",
              .otherwise = "kernels are compiled anew at each start",
              .open = [this](const std::string &at) { database = std::make_unique<Database>(at); },
              .close =
                  [this] {
                    database.reset();
                    used = {};
                  },
              .wait = [this](int busy_ms) { database->connection.wait(busy_ms); },
              .salvage = {}},
             std::move(warn)) {}

  StoreFile file;
  std::int64_t limit_bytes = 0;
  std::unique_ptr<Database> database;
  Used used;
  std::string code_hash; // of code_bytes; empty: none
  std::string code_bytes;

  std::optional<Package> get(const std::string &key) {
    Statement &select = *database->kernel;
    select.reset();
    if (!select.bind(1, key).step())
      return std::nullopt;
    const std::string_view bytes = select.blob(1);
    const std::string_view head = bytes.substr(std::min(bytes.size(), kHashBytes));
    const std::string code_key(select.blob(2));
    if (kernel_hash(key, code_key, head) != bytes.substr(0, kHashBytes))
      throw Error(ErrorCode::Io, "a kernel is not what was written under its key");
    Package package = deserialize(head);
    package.code = code(code_key);
    if (now_seconds() - select.integer(0) > kTouchSeconds)
      used.kernels.push_back(key);
    select.reset();
    return package;
  }

  std::optional<std::string> text(const std::string &key) {
    Statement &select = *database->text;
    select.reset();
    if (!select.bind(1, key).step())
      return std::nullopt;
    std::string text(select.blob(1));
    if (text_hash(key, text) != select.blob(2))
      throw Error(ErrorCode::Io, "a text is not what was written");
    if (now_seconds() - select.integer(0) > kTouchSeconds)
      used.texts.push_back(key);
    select.reset();
    return text;
  }

  // What `read` reads; nothing without a file, or when the file turns out to be damaged.
  template <typename Read> auto read(const Read &read) -> decltype(read()) {
    if (database == nullptr)
      return std::nullopt;
    decltype(read()) found;
    try {
      file.guarded([&] { found = read(); });
    } catch (const Error &error) {
      file.set_aside(error.message());
    }
    return found;
  }

  // Neighbours share codes: the last one is at hand.
  const std::string &code(const std::string &hash) {
    if (hash == code_hash && !code_hash.empty())
      return code_bytes;
    Statement &select = *database->code;
    select.reset();
    if (!select.bind(1, hash).step())
      throw Error(ErrorCode::Io, "a kernel's code is not there");
    code_bytes = select.blob(0);
    select.reset();
    code_hash.clear();
    if (content_hash(code_bytes) != hash)
      throw Error(ErrorCode::Io, "a kernel's code is not what was written");
    code_hash = hash;
    return code_bytes;
  }
};

KernelCache::KernelCache(std::string path, Warn warn, std::int64_t limit_bytes)
    : state_(std::make_unique<State>(std::move(path), std::move(warn))) {
  state_->limit_bytes = limit_bytes;
  state_->file.open();
}

KernelCache::~KernelCache() {
  if (state_->database == nullptr)
    return;
  state_->database->connection.wait(0); // worth no waiting
  try {
    touch(*state_->database, state_->used);
  } catch (const SqliteFailure &) { // the rows only look older than they are
  }
}

std::optional<Package> KernelCache::get(const std::string &key) {
  return state_->read([&] { return state_->get(key); });
}

void KernelCache::put(std::span<const std::pair<std::string, const Package *>> rows) {
  if (!rows.empty())
    state_->file.write([&] { insert(*state_->database, rows, state_->limit_bytes); });
}

std::optional<std::string> KernelCache::get_text(const std::string &key) {
  return state_->read([&] { return state_->text(key); });
}

void KernelCache::put_texts(std::span<const std::pair<std::string, std::string>> rows) {
  if (!rows.empty())
    state_->file.write([&] { insert_texts(*state_->database, rows, state_->limit_bytes); });
}

std::string default_cache_path() {
  const auto variable = [](const char *name) {
    const char *value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  if (const std::string path = variable("TILEFUSE_CACHE"); !path.empty())
    return path;
  if (const std::string base = variable("XDG_CACHE_HOME"); !base.empty())
    return base + "/tilefuse/kernels.sqlite";
  const std::string home = variable("HOME");
  return home.empty() ? "" : home + "/.cache/tilefuse/kernels.sqlite";
}

} // namespace tilefuse::runtime
