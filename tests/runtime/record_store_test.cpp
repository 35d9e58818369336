// SPDX-License-Identifier: Apache-2.0
// The store of tuning records: which record stays, and what it does under damage, several
// processes, and processes that are killed.
#include <csignal>
#include <fstream>
#include <optional>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/index.h"
#include "base/stopwatch.h"
#include "runtime/opencl_fixture.h"
#include "runtime/processes.h"
#include "runtime/store/record_store.h"
#include "runtime/store/sqlite.h"

namespace tilefuse::runtime {
namespace {

namespace fs = std::filesystem;
using Mode = RecordStore::Mode;

constexpr int kRounds = 12;

TuningRecord record_of(const std::string &group, double seconds, const std::string &device = "d") {
  return {.group = group,
          .device = device,
          .device_name = "a device",
          .driver = "1.0",
          .code = "c",
          .kernel = "conv_" + group,
          .schedule = "schedule nest vector\n  tile   m:" + std::to_string(seconds) + "\n",
          .seconds = seconds,
          .model_seconds = 1.0 / 3,
          .is_verified = true,
          .date = "2026-11-21T00:00:00Z"};
}

struct Store {
  std::vector<std::string> warnings;
  RecordStore store;
  explicit Store(const std::string &path, Mode mode = Mode::Create)
      : store(path, mode, [this](const std::string &text) { warnings.push_back(text); }) {}
  bool merge(const TuningRecord &record) { return store.merge({&record, 1}); }
};

std::string read_file(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_file(const std::string &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

TEST(RecordStore, SecondOpenFindsRecords) {
  const TemporaryFolder folder("tilefuse_records");
  const std::string path = folder / "deep/er/records.sqlite";
  {
    Store first(path);
    EXPECT_TRUE(first.merge(record_of("b", 2)));
    EXPECT_TRUE(first.merge(record_of("a'; DROP TABLE records", 1)));
    EXPECT_TRUE(first.merge(record_of("b", 3, "e")));
  }
  Store second(path, Mode::Existing);
  EXPECT_EQ(second.store.of_group("b"), (std::vector{record_of("b", 2), record_of("b", 3, "e")}));
  EXPECT_EQ(second.store.all().size(), 3u);
  EXPECT_TRUE(second.store.of_group("c").empty());
  EXPECT_TRUE(second.warnings.empty());
}

TEST(RecordStore, ReadingMakesNoFile) {
  const TemporaryFolder folder("tilefuse_records");
  Store store(folder / "records.sqlite", Mode::Existing);
  EXPECT_TRUE(store.store.all().empty());
  EXPECT_FALSE(fs::exists(folder / "records.sqlite"));
  EXPECT_TRUE(store.warnings.empty());
}

// Whatever the order in which records come together, the same one stays.
TEST(RecordStore, TheFasterVerifiedRecordStays) {
  TuningRecord unverified = record_of("g", 1);
  unverified.is_verified = false;
  TuningRecord other = record_of("g", 2);
  other.schedule = "schedule other vector\n";
  std::vector<TuningRecord> all = {unverified, record_of("g", 2), other, record_of("g", 3)};
  const TuningRecord best = std::min(other, record_of("g", 2), is_better);
  std::vector<std::size_t> order = {0, 1, 2, 3};
  do {
    const TemporaryFolder folder("tilefuse_records");
    Store store(folder / "records.sqlite");
    for (const std::size_t k : order)
      EXPECT_TRUE(store.merge(all[k]));
    EXPECT_EQ(store.store.of_group("g"), std::vector{best});
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(RecordStore, ReplaceTakesThePlaceOfWhatItBeatsAlone) {
  const TemporaryFolder folder("tilefuse_records");
  Store store(folder / "records.sqlite");
  store.merge(record_of("g", 2));
  EXPECT_TRUE(store.store.replace(record_of("g", 3), record_of("g", 2).schedule));
  EXPECT_EQ(store.store.of_group("g"), std::vector{record_of("g", 3)});
  EXPECT_TRUE(store.store.replace(record_of("g", 4), record_of("g", 2).schedule));
  EXPECT_EQ(store.store.of_group("g"), std::vector{record_of("g", 3)})
      << "another has come between";
  EXPECT_TRUE(store.store.replace(record_of("g", 1), "something else"));
  EXPECT_EQ(store.store.of_group("g"), std::vector{record_of("g", 1)});
}

TEST(RecordStore, TrialsBelongToKernelDeviceAndCode) {
  const TemporaryFolder folder("tilefuse_records");
  Store store(folder / "records.sqlite");
  const TrialKey key{"g", "d", "c"};
  const std::vector<Trial> trials = {{"a", Trial::State::Measured, 1, 0.75},
                                     {"b", Trial::State::Started, 2, 0},
                                     {"c", Trial::State::Wrong, 1, 0}};
  EXPECT_TRUE(store.store.note(key, trials));
  EXPECT_EQ(store.store.trials(key), trials);
  const Trial again{"b", Trial::State::Measured, 1, 1.5};
  EXPECT_TRUE(store.store.note(key, {&again, 1}));
  EXPECT_EQ(store.store.trials(key)[1], again);
  for (const TrialKey &other : {TrialKey{"h", "d", "c"}, {"g", "e", "c"}, {"g", "d", "x"}})
    EXPECT_TRUE(store.store.trials(other).empty());
  store.store.note({"g", "d", "old"}, trials);
  store.store.forget_trials("d", "c");
  EXPECT_TRUE(store.store.trials({"g", "d", "old"}).empty());
  EXPECT_EQ(store.store.trials(key).size(), 3u);
}

TEST(RecordStore, GarbageIsSetAsideWithOneWarning) {
  const TemporaryFolder folder("tilefuse_records");
  const std::string path = folder / "records.sqlite";
  write_file(path,
             "this is no database, and long enough to be read as one: " + std::string(4096, '#'));
  Store store(path, Mode::Existing);
  EXPECT_TRUE(store.store.all().empty());
  EXPECT_TRUE(store.merge(record_of("g", 1)));
  EXPECT_EQ(store.store.all().size(), 1u);
  ASSERT_EQ(store.warnings.size(), 1u);
  EXPECT_TRUE(fs::exists(path + ".damaged-1"));
}

// A row that is not what was written is not given out; the others are.
TEST(RecordStore, DamagedRowIsNotUsed) {
  const TemporaryFolder folder("tilefuse_records");
  const std::string path = folder / "records.sqlite";
  {
    Store store(path);
    store.merge(record_of("good", 1));
    TuningRecord record = record_of("bad", 1);
    record.kernel = std::string(100, 'q');
    store.merge(record);
  }
  std::string bytes = read_file(path);
  const std::size_t at = bytes.find(std::string(100, 'q'));
  ASSERT_NE(at, std::string::npos);
  bytes[at + 50] = 'r';
  write_file(path, bytes);
  Store store(path);
  EXPECT_TRUE(store.store.of_group("bad").empty());
  EXPECT_EQ(store.store.all(), std::vector{record_of("good", 1)});
  EXPECT_EQ(store.warnings.size(), 1u);
}

// Whatever is left of a file: no failure, no record that was not written, and what can still be
// read is kept.
TEST(RecordStore, TruncatedAnywhere) {
  const TemporaryFolder folder("tilefuse_records");
  const std::string path = folder / "records.sqlite";
  std::vector<TuningRecord> written;
  {
    Store store(path);
    for (int k = 100; k < 160; ++k) {
      written.push_back(record_of(std::to_string(k), k));
      store.merge(written.back());
    }
  }
  const std::string whole = read_file(path);
  std::size_t most_kept = 0;
  for (std::size_t size = 0; size < whole.size(); size += size < 200 ? 33 : 1777) {
    for (const char *suffix : {"-wal", "-shm"})
      fs::remove(path + suffix);
    write_file(path, whole.substr(0, size));
    Store store(path);
    const std::vector<TuningRecord> all = store.store.all();
    for (const TuningRecord &record : all)
      EXPECT_NE(std::find(written.begin(), written.end(), record), written.end()) << size;
    most_kept = std::max(most_kept, all.size());
    store.merge(record_of("new", 1));
    EXPECT_EQ(store.store.of_group("new"), std::vector{record_of("new", 1)}) << size;
    EXPECT_LE(store.warnings.size(), 1u) << size;
  }
  EXPECT_GT(most_kept, 10u);
}

TEST(RecordStore, PlaceThatCannotBeWritten) {
  const TemporaryFolder folder("tilefuse_records");
  write_file(folder / "file", "x");
  fs::create_directories(folder / "directory");
  for (const std::string &path :
       {folder / "file/r.sqlite", folder / "directory", std::string("/proc/none/r.sqlite")}) {
    Store store(path);
    EXPECT_FALSE(store.merge(record_of("g", 1)));
    EXPECT_TRUE(store.store.all().empty());
    EXPECT_FALSE(store.store.note({"g", "d", "c"}, {}));
    ASSERT_EQ(store.warnings.size(), 1u) << path;
    EXPECT_NE(store.warnings[0].find(path), std::string::npos);
  }
}

// As a user without rights where another has tuned: records are read, none is written.
[[noreturn]] void read_without_rights(const std::string &path) {
  constexpr uid_t kNobody = 65534;
  if (geteuid() == 0 && (setegid(kNobody) != 0 || seteuid(kNobody) != 0))
    _exit(3);
  Store store(path, Mode::Existing);
  const bool found = store.store.all() == std::vector{record_of("g", 1)};
  const bool wrote = store.merge(record_of("h", 1));
  _exit(found && !wrote && store.warnings.size() == 1 ? 0 : 1);
}

TEST(RecordStore, ReadOnlyHomeStillGivesRecords) {
  const TemporaryFolder folder("tilefuse_records");
  const std::string home = folder / "home";
  fs::create_directories(home);
  const std::string path = home + "/records.sqlite";
  Store(path).merge(record_of("g", 1));
  fs::permissions(fs::path(home).parent_path(), fs::perms(0755));
  fs::permissions(path, fs::perms(0444));
  fs::permissions(home, fs::perms(0555));
  const pid_t child = fork();
  if (child == 0)
    read_without_rights(path);
  int status = -1;
  waitpid(child, &status, 0);
  fs::permissions(home, fs::perms(0755));
  ASSERT_TRUE(WIFEXITED(status)) << "the process crashed";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// Tuning writes often: one that does not let go is waited for once, and said once.
TEST(RecordStore, HeldByAnotherProcess) {
  const TemporaryFolder folder("tilefuse_records");
  const std::string path = folder / "records.sqlite";
  Store store(path);
  EXPECT_TRUE(store.merge(record_of("g", 1)));
  Connection other(path, 1000);
  other.execute("BEGIN IMMEDIATE");
  const Stopwatch watch;
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(store.merge(record_of("h", 1)));
    EXPECT_FALSE(store.store.replace(record_of("h", 1), ""));
    EXPECT_FALSE(store.store.note({"g", "d", "c"}, {}));
    EXPECT_EQ(store.store.all(), std::vector{record_of("g", 1)});
  }
  EXPECT_LT(watch.seconds(), 3);
  ASSERT_EQ(store.warnings.size(), 1u);
  EXPECT_NE(store.warnings[0].find("another process holds"), std::string::npos);
  other.execute("COMMIT");
  EXPECT_TRUE(store.merge(record_of("h", 1)));
  EXPECT_EQ(store.warnings.size(), 1u);
}

TEST(RecordStore, HeldWhileItIsOpened) {
  const TemporaryFolder folder("tilefuse_records");
  const std::string path = folder / "records.sqlite";
  Connection other(path, 1000);
  other.execute("CREATE TABLE another(x); BEGIN EXCLUSIVE");
  const Stopwatch watch;
  Store store(path);
  EXPECT_LT(watch.seconds(), 3);
  EXPECT_FALSE(store.merge(record_of("g", 1)));
  EXPECT_EQ(store.warnings.size(), 1u);
}

TEST(RecordStore, WhatOthersMayWriteIsNotUsed) {
  const TemporaryFolder folder("tilefuse_records");
  const std::string path = folder / "deep/records.sqlite";
  Store(path).merge(record_of("g", 1));
  EXPECT_EQ(fs::status(path).permissions(), fs::perms(0600));
  fs::permissions(path, fs::perms(0666));
  Store store(path);
  EXPECT_TRUE(store.store.all().empty());
  EXPECT_FALSE(store.merge(record_of("h", 1)));
  ASSERT_EQ(store.warnings.size(), 1u);
  EXPECT_NE(store.warnings[0].find("can be written by others"), std::string::npos);
}

TEST(RecordStore, TwoProcessesWrite) {
  const TemporaryFolder folder("tilefuse_records");
  const std::string path = folder / "records.sqlite";
  constexpr int kRows = 40;
  EXPECT_TRUE(all_succeed(2, [&](int owner) {
    Store store(path);
    bool is_written = true;
    for (int i = 0; i < kRows; ++i) {
      is_written =
          store.merge(record_of(std::string(1, "xy"[owner]) + std::to_string(i), i)) && is_written;
      is_written = store.merge(record_of("both", owner == 0 ? i : i + 0.5)) && is_written;
    }
    return is_written && store.warnings.empty();
  }));
  Store store(path);
  EXPECT_EQ(store.store.all().size(), 2u * kRows + 1);
  EXPECT_EQ(store.store.of_group("both"), std::vector{record_of("both", 0)});
}

std::string name_of(int round, int number) {
  return std::to_string(round) + "." + std::to_string(number);
}

TEST(RecordStoreCrash, OnlyTheEntryBeingWrittenIsLost) {
  const TemporaryFolder folder("tilefuse_records_crash");
  const std::string path = folder / "records.sqlite";
  std::vector<int> finished;
  for (int round = 0; round < kRounds; ++round) {
    std::optional<Store> writer; // of the other process
    finished.push_back(killed_writer(static_cast<unsigned>(900 * round), [&](int number) {
      if (!writer)
        writer.emplace(path);
      return writer->merge(record_of(name_of(round, number), number + 1));
    }));
    ASSERT_GT(finished.back(), 0);
    Store store(path);
    for (int earlier = 0; earlier <= round; ++earlier)
      for (int number = 0; number < finished[at(earlier)]; ++number) {
        const std::string name = name_of(earlier, number);
        ASSERT_EQ(store.store.of_group(name), std::vector{record_of(name, number + 1)});
      }
    EXPECT_TRUE(store.warnings.empty()) << store.warnings.front();
  }
}

// In a process whose files cannot grow: what is there is right, and it was said.
[[noreturn]] void write_to_a_full_disk(const std::string &path) {
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{200000, 200000};
  setrlimit(RLIMIT_FSIZE, &limit);
  Store store(path);
  int written = 0;
  for (int number = 0; number < 2000; ++number)
    written += store.merge(record_of(std::to_string(number), number + 1)) ? 1 : 0;
  for (const TuningRecord &record : store.store.all())
    if (record != record_of(record.group, std::stoi(record.group) + 1))
      _exit(1);
  if (store.warnings.size() != 1)
    _exit(2);
  _exit(written > 0 && written < 2000 ? 0 : 3);
}

TEST(RecordStoreCrash, FullDiskIsSaidAndGivesNoWrongRecord) {
  const TemporaryFolder folder("tilefuse_records_full");
  const std::string path = folder / "records.sqlite";
  const pid_t child = fork();
  if (child == 0)
    write_to_a_full_disk(path);
  int status = -1;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status)) << "the process crashed";
  EXPECT_EQ(WEXITSTATUS(status), 0) << "1: a wrong record; 2: not said once; 3: no full disk";
  Store store(path);
  EXPECT_GT(store.store.all().size(), 0u) << "what was written before is kept";
  EXPECT_TRUE(store.merge(record_of("new", 1)));
  EXPECT_EQ(store.store.of_group("new"), std::vector{record_of("new", 1)});
}

TEST(RecordStore, DefaultPathIsBesideTheCache) {
  EXPECT_EQ(default_records_path("/a/kernels.sqlite"), "/a/records.sqlite");
  EXPECT_EQ(default_records_path(""), "");
  setenv("TILEFUSE_RECORDS", "/b/r.sqlite", 1);
  EXPECT_EQ(default_records_path("/a/kernels.sqlite"), "/b/r.sqlite");
  unsetenv("TILEFUSE_RECORDS");
}

} // namespace
} // namespace tilefuse::runtime
