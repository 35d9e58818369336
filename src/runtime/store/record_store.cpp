// SPDX-License-Identifier: Apache-2.0
#include "runtime/store/record_store.h"

#include <cstdlib>
#include <filesystem>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/hash.h"
#include "runtime/store/store_file.h"

namespace tilefuse::runtime {
namespace {

namespace fs = std::filesystem;

constexpr const char *kSchema =
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
    "CREATE TABLE IF NOT EXISTS records(kernel_group TEXT NOT NULL, device TEXT NOT NULL,"
    " device_name TEXT NOT NULL, driver TEXT NOT NULL, code TEXT NOT NULL, kernel TEXT NOT NULL,"
    " schedule TEXT NOT NULL, seconds TEXT NOT NULL, model_seconds TEXT NOT NULL,"
    " verified INTEGER NOT NULL, date TEXT NOT NULL, hash TEXT NOT NULL,"
    " PRIMARY KEY(kernel_group, device));"
    "CREATE TABLE IF NOT EXISTS trials(kernel_group TEXT NOT NULL, device TEXT NOT NULL,"
    " code TEXT NOT NULL, schedule TEXT NOT NULL, state INTEGER NOT NULL, starts INTEGER NOT NULL,"
    " ratio TEXT NOT NULL, PRIMARY KEY(kernel_group, device, code, schedule)) WITHOUT ROWID";

constexpr const char *kColumns =
    "kernel_group, device, device_name, driver, code, kernel, schedule,"
    " seconds, model_seconds, verified, date, hash";
constexpr const char *kAll = "ORDER BY kernel_group, device";
constexpr const char *kOfGroup = "WHERE kernel_group = ? ORDER BY device";
constexpr const char *kOne = "WHERE kernel_group = ? AND device = ?";

Statement select(const Connection &connection, const char *rest) {
  return {connection, fmt::format("SELECT {} FROM records {}", kColumns, rest).c_str()};
}

std::string number_text(double value) { return fmt::format("{}", value); }

double number(std::string_view text) { return std::strtod(std::string(text).c_str(), nullptr); }

// Lengths keep the fields apart.
std::string hash_of(const TuningRecord &record) {
  std::string bytes;
  for (const std::string &field :
       {record.group, record.device, record.device_name, record.driver, record.code, record.kernel,
        record.schedule, number_text(record.seconds), number_text(record.model_seconds),
        std::string(record.is_verified ? "1" : "0"), record.date})
    bytes += fmt::format("{} {}", field.size(), field);
  return content_hash(bytes);
}

struct Database {
  explicit Database(Connection made) : connection(std::move(made)) {}
  Connection connection;
};

std::unique_ptr<Database> open_file(const std::string &path) {
  try {
    auto database = std::make_unique<Database>(Connection(path, kStoreOpenMs));
    database->connection.execute(kSchema);
    return database;
  } catch (const SqliteFailure &failure) {
    std::error_code ignored;
    const bool is_closed = failure.code == SQLITE_CANTOPEN || failure.code == SQLITE_READONLY;
    if (!is_closed || !fs::is_regular_file(path, ignored))
      throw;
    auto database = std::make_unique<Database>(Connection::immutable(path));
    select(database->connection, kAll).step(); // is it one of ours?
    return database;
  }
}

// Nothing when the row is not what was written.
std::optional<TuningRecord> read_record(const Statement &row) {
  const auto text = [&](int column) { return std::string(row.blob(column)); };
  const TuningRecord record = {.group = text(0),
                               .device = text(1),
                               .device_name = text(2),
                               .driver = text(3),
                               .code = text(4),
                               .kernel = text(5),
                               .schedule = text(6),
                               .seconds = number(row.blob(7)),
                               .model_seconds = number(row.blob(8)),
                               .is_verified = row.integer(9) != 0,
                               .date = text(10)};
  if (hash_of(record) != row.blob(11))
    return std::nullopt;
  return record;
}

void insert(Database &database, const TuningRecord &record) {
  const std::string seconds = number_text(record.seconds);
  const std::string model_seconds = number_text(record.model_seconds);
  const std::string hash = hash_of(record);
  const std::string sql = fmt::format(
      "INSERT OR REPLACE INTO records({}) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", kColumns);
  Statement(database.connection, sql.c_str())
      .bind(1, record.group)
      .bind(2, record.device)
      .bind(3, record.device_name)
      .bind(4, record.driver)
      .bind(5, record.code)
      .bind(6, record.kernel)
      .bind(7, record.schedule)
      .bind(8, seconds)
      .bind(9, model_seconds)
      .bind(10, std::int64_t{record.is_verified})
      .bind(11, record.date)
      .bind(12, hash)
      .step();
}

std::optional<TuningRecord> find(Database &database, const TuningRecord &like) {
  Statement row = select(database.connection, kOne);
  if (!row.bind(1, like.group).bind(2, like.device).step())
    return std::nullopt;
  return read_record(row);
}

Trial read_trial(const Statement &row) {
  const std::int64_t state = row.integer(1);
  const bool is_known = state >= 0 && state <= static_cast<int>(Trial::State::Wrong);
  return {.schedule = std::string(row.blob(0)),
          .state = is_known ? static_cast<Trial::State>(state) : Trial::State::Failed,
          .starts = static_cast<int>(row.integer(2)),
          .ratio = number(row.blob(3))};
}

} // namespace

bool is_better(const TuningRecord &a, const TuningRecord &b) {
  const auto rank = [](const TuningRecord &record) {
    using Text = const std::string &;
    return std::tuple<bool, double, Text, Text, double, Text, Text>(
        !record.is_verified, record.seconds, record.schedule, record.date, record.model_seconds,
        record.code, record.kernel);
  };
  return rank(a) < rank(b);
}

struct RecordStore::State {
  State(std::string path, Warn warn)
      : file(std::move(path),
             {.what = "store of tuning records",
              .otherwise = "schedules are the cost model's, and what is measured is not kept",
              .open = [this](const std::string &at) { database = open_file(at); },
              .close = [this] { database.reset(); },
              .wait = [this](int busy_ms) { database->connection.wait(busy_ms); },
              .salvage = [this](const std::string &from) { salvage(from); }},
             std::move(warn)) {}

  StoreFile file;
  std::unique_ptr<Database> database;

  // Every row of a query that can be read and is what was written.
  std::vector<TuningRecord> read(const char *which, const std::string &group) {
    std::vector<TuningRecord> records;
    int damaged = 0;
    file.guarded([&] {
      Statement rows = select(database->connection, which);
      if (!group.empty())
        rows.bind(1, group);
      while (rows.step()) {
        if (std::optional<TuningRecord> record = read_record(rows))
          records.push_back(std::move(*record));
        else
          ++damaged;
      }
    });
    if (damaged > 0)
      file.say(fmt::format("{} records in the store of tuning records {} are damaged and not used",
                           damaged, file.path()));
    return records;
  }

  // What a damaged file still gives. Trials are only lost time.
  void salvage(const std::string &from) {
    std::vector<TuningRecord> records;
    try {
      const Connection damaged(from, kStoreBusyMs);
      Statement rows = select(damaged, "");
      while (rows.step())
        if (std::optional<TuningRecord> record = read_record(rows))
          records.push_back(std::move(*record));
    } catch (const SqliteFailure &) { // the end of what can be read
    }
    file.guarded([&] {
      Transaction transaction(database->connection);
      for (const TuningRecord &record : records)
        insert(*database, record);
      transaction.commit();
    });
  }
};

RecordStore::RecordStore(std::string path, Mode mode, Warn warn) {
  std::error_code ignored;
  if (mode == Mode::Existing && !fs::exists(path, ignored))
    path.clear();
  state_ = std::make_unique<State>(std::move(path), std::move(warn));
  state_->file.open();
}

RecordStore::~RecordStore() = default;

std::vector<TuningRecord> RecordStore::of_group(const std::string &group) {
  return state_->file.is_open() ? state_->read(kOfGroup, group) : std::vector<TuningRecord>();
}

std::vector<TuningRecord> RecordStore::all() {
  return state_->file.is_open() ? state_->read(kAll, "") : std::vector<TuningRecord>();
}

std::string RecordStore::digest() {
  std::string hashes;
  for (const TuningRecord &record : all())
    hashes += hash_of(record);
  return content_hash(hashes);
}

bool RecordStore::merge(std::span<const TuningRecord> records) {
  return state_->file.write([&] {
    Transaction transaction(state_->database->connection);
    for (const TuningRecord &record : records) {
      const std::optional<TuningRecord> there = find(*state_->database, record);
      if (!there || is_better(record, *there))
        insert(*state_->database, record);
    }
    transaction.commit();
  });
}

bool RecordStore::replace(const TuningRecord &record, const std::string &beaten) {
  return state_->file.write([&] {
    Transaction transaction(state_->database->connection);
    const std::optional<TuningRecord> there = find(*state_->database, record);
    if (!there || there->schedule == beaten || is_better(record, *there))
      insert(*state_->database, record);
    transaction.commit();
  });
}

std::vector<Trial> RecordStore::trials(const TrialKey &key) {
  std::vector<Trial> trials;
  if (state_->file.is_open())
    state_->file.guarded([&] {
      Statement rows(state_->database->connection,
                     "SELECT schedule, state, starts, ratio FROM trials WHERE kernel_group = ?"
                     " AND device = ? AND code = ? ORDER BY schedule");
      rows.bind(1, key.group).bind(2, key.device).bind(3, key.code);
      while (rows.step())
        trials.push_back(read_trial(rows));
    });
  return trials;
}

bool RecordStore::note(const TrialKey &key, std::span<const Trial> trials) {
  return state_->file.write([&] {
    Transaction transaction(state_->database->connection);
    Statement row(state_->database->connection,
                  "INSERT OR REPLACE INTO trials(kernel_group, device, code, schedule, state,"
                  " starts, ratio) VALUES(?, ?, ?, ?, ?, ?, ?)");
    for (const Trial &trial : trials) {
      const std::string ratio = number_text(trial.ratio);
      row.bind(1, key.group).bind(2, key.device).bind(3, key.code).bind(4, trial.schedule);
      row.bind(5, static_cast<std::int64_t>(trial.state)).bind(6, std::int64_t{trial.starts});
      row.bind(7, ratio).step();
      row.reset();
    }
    transaction.commit();
  });
}

void RecordStore::forget_trials(const std::string &device, const std::string &but_of_code) {
  state_->file.write([&] {
    Statement(state_->database->connection, "DELETE FROM trials WHERE device = ? AND code != ?")
        .bind(1, device)
        .bind(2, but_of_code)
        .step();
  });
}

std::string default_records_path(const std::string &cache_path) {
  if (const char *path = std::getenv("TILEFUSE_RECORDS"); path != nullptr && *path != '\0')
    return path;
  if (cache_path.empty())
    return "";
  return (fs::path(cache_path).parent_path() / "records.sqlite").string();
}

} // namespace tilefuse::runtime
