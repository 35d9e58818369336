// SPDX-License-Identifier: Apache-2.0
// The kernel cache: what it keeps, how it survives damage, and several processes at once.
#include <ctime>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/stopwatch.h"
#include "runtime/opencl_fixture.h"
#include "runtime/processes.h"
#include "runtime/store/kernel_cache.h"
#include "runtime/store/sqlite.h"

namespace tilefuse::runtime {
namespace {

namespace fs = std::filesystem;

Package package_of(const std::string &name, std::size_t code_bytes = 100) {
  Package package;
  package.name = name;
  package.symbol = "k_";
  package.symbol += name;
  package.code = std::string(code_bytes, name.back());
  package.args = {{64, false}, {128, true}};
  package.flops = 12.5;
  return package;
}

struct Cache {
  std::vector<std::string> warnings;
  KernelCache cache;
  explicit Cache(const std::string &path, std::int64_t limit = std::int64_t{512} << 20)
      : cache(
            path, [this](const std::string &text) { warnings.push_back(text); }, limit) {}
  void put(const std::string &key, const Package &package) {
    const std::pair<std::string, const Package *> row(key, &package);
    cache.put({&row, 1});
  }
};

void write_file(const std::string &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string read_file(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(KernelCache, SecondOpenFindsRows) {
  const TemporaryFolder folder("tilefuse_cache");
  const std::string path = folder / "deep/er/kernels.sqlite";
  {
    Cache first(path);
    EXPECT_EQ(first.cache.get("a"), std::nullopt);
    first.put("a", package_of("a"));
    first.put("b'\"; DROP TABLE kernels", package_of("b"));
    EXPECT_EQ(first.cache.get("a"), package_of("a"));
  }
  Cache second(path);
  EXPECT_EQ(second.cache.get("a"), package_of("a"));
  EXPECT_EQ(second.cache.get("b'\"; DROP TABLE kernels"), package_of("b"));
  EXPECT_EQ(second.cache.get("c"), std::nullopt);
  second.put("a", package_of("z"));
  EXPECT_EQ(second.cache.get("a"), package_of("z"));
  EXPECT_TRUE(second.warnings.empty());
}

TEST(KernelCache, TextsBesidePackages) {
  const TemporaryFolder folder("tilefuse_cache");
  const std::string path = folder / "kernels.sqlite";
  const std::pair<std::string, std::string> rows[] = {{"a", "one\ntwo"}, {"b", ""}};
  {
    Cache first(path);
    first.put("a", package_of("a"));
    EXPECT_EQ(first.cache.get_text("a"), std::nullopt);
    first.cache.put_texts(rows);
  }
  Cache second(path);
  EXPECT_EQ(second.cache.get_text("a"), "one\ntwo");
  EXPECT_EQ(second.cache.get_text("b"), "");
  EXPECT_EQ(second.cache.get("a"), package_of("a"));
  EXPECT_TRUE(second.warnings.empty());
}

TEST(KernelCache, TextsPastTheLimitAreDroppedTheOldestFirst) {
  const TemporaryFolder folder("tilefuse_cache");
  Cache cache(folder / "kernels.sqlite", 200000);
  for (const std::string key : {"a", "b", "c"}) {
    const std::pair<std::string, std::string> row = {key, std::string(90000, 'q')};
    cache.cache.put_texts({&row, 1});
  }
  EXPECT_EQ(cache.cache.get_text("a"), std::nullopt);
  EXPECT_TRUE(cache.cache.get_text("b"));
  EXPECT_TRUE(cache.cache.get_text("c"));
  EXPECT_TRUE(cache.warnings.empty());
}

TEST(KernelCache, DamagedTextSetsTheFileAside) {
  const TemporaryFolder folder("tilefuse_cache");
  const std::string path = folder / "kernels.sqlite";
  const std::pair<std::string, std::string> row = {"a", std::string(3000, 'q')};
  Cache(path).cache.put_texts({&row, 1});
  std::string bytes = read_file(path);
  const std::size_t at = bytes.find(std::string(100, 'q'));
  ASSERT_NE(at, std::string::npos);
  bytes[at + 50] = 'r';
  write_file(path, bytes);
  Cache cache(path);
  EXPECT_EQ(cache.cache.get_text("a"), std::nullopt);
  ASSERT_EQ(cache.warnings.size(), 1u);
  cache.cache.put_texts({&row, 1});
  EXPECT_EQ(cache.cache.get_text("a"), row.second);
}

TEST(KernelCache, EmptyPathKeepsNothing) {
  Cache cache("");
  cache.put("a", package_of("a"));
  EXPECT_EQ(cache.cache.get("a"), std::nullopt);
  EXPECT_TRUE(cache.warnings.empty());
}

TEST(KernelCache, GarbageIsSetAsideWithOneWarning) {
  const TemporaryFolder folder("tilefuse_cache");
  const std::string path = folder / "kernels.sqlite";
  for (int round = 1; round <= 2; ++round) {
    const std::string garbage =
        "this is no database, and long enough to be read as one: " + std::string(4096, '#');
    write_file(path, garbage);
    Cache cache(path);
    EXPECT_EQ(cache.cache.get("a"), std::nullopt);
    cache.put("a", package_of("a"));
    EXPECT_EQ(cache.cache.get("a"), package_of("a"));
    ASSERT_EQ(cache.warnings.size(), 1u);
    EXPECT_NE(cache.warnings[0].find("damaged-" + std::to_string(round)), std::string::npos)
        << cache.warnings[0];
    EXPECT_EQ(read_file(path + ".damaged-" + std::to_string(round)), garbage);
    EXPECT_EQ(Cache(path).cache.get("a"), package_of("a"));
  }
}

// Whatever is left of a file, the cache neither fails nor gives a wrong package.
TEST(KernelCache, TruncatedAnywhere) {
  const TemporaryFolder folder("tilefuse_cache");
  const std::string path = folder / "kernels.sqlite";
  {
    Cache cache(path);
    for (const char *key : {"a", "b", "c"})
      cache.put(key, package_of(key, 6000));
  }
  const std::string whole = read_file(path);
  ASSERT_GT(whole.size(), 20000u);
  std::size_t warned = 0;
  for (std::size_t size = 0; size < whole.size(); size += size < 200 ? 33 : 1777) {
    for (const char *suffix : {"-wal", "-shm"})
      fs::remove(path + suffix);
    write_file(path, whole.substr(0, size));
    Cache cache(path);
    for (const char *key : {"a", "b", "c"}) {
      const auto found = cache.cache.get(key);
      EXPECT_TRUE(!found || *found == package_of(key, 6000)) << size;
      cache.put(key, package_of(key, 6000));
      EXPECT_EQ(cache.cache.get(key), package_of(key, 6000)) << size;
    }
    EXPECT_LE(cache.warnings.size(), 1u) << size;
    warned += cache.warnings.size();
  }
  EXPECT_GT(warned, 0u);
}

TEST(KernelCache, DamagedRowSetsTheFileAside) {
  const TemporaryFolder folder("tilefuse_cache");
  const std::string path = folder / "kernels.sqlite";
  {
    Cache cache(path);
    cache.put("a", package_of("qqqq", 3000));
  }
  std::string bytes = read_file(path);
  const std::size_t at = bytes.find(std::string(100, 'q'));
  ASSERT_NE(at, std::string::npos);
  bytes[at + 50] = 'r';
  write_file(path, bytes);
  Cache cache(path);
  EXPECT_EQ(cache.cache.get("a"), std::nullopt);
  ASSERT_EQ(cache.warnings.size(), 1u);
  EXPECT_TRUE(fs::exists(path + ".damaged-1"));
  cache.put("a", package_of("a"));
  EXPECT_EQ(cache.cache.get("a"), package_of("a"));
}

// Every part of the other row is sound; only its place is wrong.
TEST(KernelCache, ContentsOfAnotherRowAreNotGiven) {
  const TemporaryFolder folder("tilefuse_cache");
  const std::string path = folder / "kernels.sqlite";
  {
    Cache cache(path);
    cache.put("a", package_of("a"));
    cache.put("b", package_of("b"));
  }
  Connection(path, 1000)
      .execute("UPDATE kernels SET bytes = o.bytes, code = o.code FROM"
               " (SELECT bytes, code FROM kernels WHERE key = 'b') AS o"
               " WHERE key = 'a'");
  Cache cache(path);
  EXPECT_EQ(cache.cache.get("b"), package_of("b"));
  EXPECT_EQ(cache.cache.get("a"), std::nullopt);
  ASSERT_EQ(cache.warnings.size(), 1u);
  EXPECT_NE(cache.warnings[0].find("not what was written under its key"), std::string::npos);
  cache.put("a", package_of("a"));
  EXPECT_EQ(cache.cache.get("a"), package_of("a"));
}

// One that does not let go is waited for once, and said once; then the work goes on.
TEST(KernelCache, HeldByAnotherProcess) {
  const TemporaryFolder folder("tilefuse_cache");
  const std::string path = folder / "kernels.sqlite";
  Cache cache(path);
  cache.put("a", package_of("a"));
  Connection other(path, 1000);
  other.execute("BEGIN IMMEDIATE");
  const Stopwatch watch;
  for (int i = 0; i < 10; ++i)
    cache.put("b", package_of("b"));
  EXPECT_EQ(cache.cache.get("a"), package_of("a"));
  EXPECT_LT(watch.seconds(), 3);
  EXPECT_EQ(cache.cache.get("b"), std::nullopt);
  ASSERT_EQ(cache.warnings.size(), 1u);
  EXPECT_NE(cache.warnings[0].find("another process holds the kernel cache"), std::string::npos);
  other.execute("COMMIT");
  cache.put("b", package_of("b"));
  EXPECT_EQ(cache.cache.get("b"), package_of("b"));
  EXPECT_EQ(cache.warnings.size(), 1u);
}

TEST(KernelCache, HeldWhileItIsOpened) {
  const TemporaryFolder folder("tilefuse_cache");
  const std::string path = folder / "kernels.sqlite";
  Connection other(path, 1000);
  other.execute("CREATE TABLE another(x); BEGIN EXCLUSIVE");
  const Stopwatch watch;
  Cache cache(path);
  EXPECT_LT(watch.seconds(), 3);
  EXPECT_EQ(cache.cache.get("a"), std::nullopt);
  EXPECT_EQ(cache.warnings.size(), 1u);
}

fs::perms rights(const std::string &path) {
  return fs::status(path).permissions() & fs::perms::all;
}

TEST(KernelCache, FilesAreTheUsersAlone) {
  const TemporaryFolder folder("tilefuse_cache");
  const mode_t before = umask(0);
  const std::string path = folder / "deep/er/kernels.sqlite";
  Cache cache(path);
  cache.put("a", package_of("a"));
  umask(before);
  for (const char *made : {"deep", "deep/er"})
    EXPECT_EQ(rights(folder / made), fs::perms(0700)) << made;
  for (const char *suffix : {"", "-wal", "-shm"})
    EXPECT_EQ(rights(path + suffix), fs::perms(0600)) << suffix;
  EXPECT_TRUE(cache.warnings.empty());
}

// Neither read nor written: said once, and the work goes on.
void expect_distrusted(const std::string &path, const std::string &why) {
  Cache cache(path);
  EXPECT_EQ(cache.cache.get("a"), std::nullopt);
  cache.put("b", package_of("b"));
  EXPECT_EQ(cache.cache.get("b"), std::nullopt);
  ASSERT_EQ(cache.warnings.size(), 1u) << why;
  EXPECT_NE(cache.warnings[0].find(why), std::string::npos) << cache.warnings[0];
}

TEST(KernelCache, WhatOthersMayWriteIsNotUsed) {
  const TemporaryFolder folder("tilefuse_cache");
  const std::string path = folder / "deep/kernels.sqlite";
  Cache(path).put("a", package_of("a"));
  for (const int mode : {0620, 0602}) {
    fs::permissions(path, fs::perms(mode));
    expect_distrusted(path, "can be written by others");
  }
  fs::permissions(path, fs::perms(0644));
  for (const int mode : {0770, 0777, 01777}) {
    fs::permissions(folder / "deep", fs::perms(mode));
    expect_distrusted(path, "can be written by others");
  }
  fs::permissions(folder / "deep", fs::perms(0755));
  for (const char *suffix : {"-wal", "-shm", "-journal"}) {
    write_file(path + suffix, "");
    fs::permissions(path + suffix, fs::perms(0666));
    expect_distrusted(path, suffix);
    fs::remove(path + suffix);
  }
  EXPECT_EQ(Cache(path).cache.get("a"), package_of("a"));
}

TEST(KernelCache, WhatIsNoRegularFileStaysWhatItIs) {
  const TemporaryFolder folder("tilefuse_cache");
  const std::string path = folder / "fifo";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  expect_distrusted(path, "not a regular file");
  EXPECT_TRUE(fs::is_fifo(path));
}

TEST(KernelCache, WhatAnotherUserOwnsIsNotUsed) {
  if (geteuid() != 0)
    GTEST_SKIP() << "only root can give a file away";
  const TemporaryFolder folder("tilefuse_cache");
  const std::string path = folder / "deep/kernels.sqlite";
  constexpr uid_t kNobody = 65534;
  Cache(path).put("a", package_of("a"));
  ASSERT_EQ(chown(path.c_str(), kNobody, kNobody), 0);
  expect_distrusted(path, "belongs to another user");
  ASSERT_EQ(chown(path.c_str(), 0, 0), 0);
  ASSERT_EQ(chown((folder / "deep").c_str(), kNobody, kNobody), 0);
  expect_distrusted(path, "belongs to another user");
  const std::string link = folder / "link.sqlite";
  fs::create_symlink(path, link);
  expect_distrusted(link, "belongs to another user");
}

TEST(KernelCache, TableOfAnotherShape) {
  const TemporaryFolder folder("tilefuse_cache");
  const std::string path = folder / "kernels.sqlite";
  ASSERT_EQ(std::system(("python3 -c \"import sqlite3; c = sqlite3.connect('" + path +
                         "'); c.execute('CREATE TABLE kernels(x)'); c.commit()\"")
                            .c_str()),
            0);
  Cache cache(path);
  cache.put("a", package_of("a"));
  EXPECT_EQ(cache.cache.get("a"), package_of("a"));
  EXPECT_EQ(cache.warnings.size(), 1u);
}

TEST(KernelCache, PlaceThatCannotBeWritten) {
  const TemporaryFolder folder("tilefuse_cache");
  write_file(folder / "file", "x");
  fs::create_directories(folder / "directory");
  for (const std::string &path :
       {folder / "file/kernels.sqlite", folder / "directory", std::string("/proc/none/k.sqlite")}) {
    Cache cache(path);
    cache.put("a", package_of("a"));
    EXPECT_EQ(cache.cache.get("a"), std::nullopt);
    ASSERT_EQ(cache.warnings.size(), 1u) << path;
    EXPECT_NE(cache.warnings[0].find(path), std::string::npos);
  }
}

TEST(KernelCache, OldestRowsAreDroppedPastTheLimit) {
  const TemporaryFolder folder("tilefuse_cache");
  Cache cache(folder / "kernels.sqlite", 35000);
  for (const char *key : {"a", "b", "c", "d", "e"})
    cache.put(key, package_of(key, 10000));
  EXPECT_EQ(cache.cache.get("a"), std::nullopt);
  EXPECT_EQ(cache.cache.get("b"), std::nullopt);
  for (const char *key : {"c", "d", "e"})
    EXPECT_EQ(cache.cache.get(key), package_of(key, 10000));
  EXPECT_TRUE(cache.warnings.empty());
}

TEST(KernelCache, TwoProcessesWrite) {
  const TemporaryFolder folder("tilefuse_cache");
  const std::string path = folder / "kernels.sqlite";
  constexpr int kRows = 40;
  EXPECT_TRUE(all_succeed(2, [&](int owner) {
    Cache cache(path);
    const std::string name(1, "xy"[owner]);
    for (int i = 0; i < kRows; ++i)
      cache.put(name + std::to_string(i), package_of(name, 2000));
    return cache.warnings.empty();
  }));
  Cache cache(path);
  for (const std::string owner : {"x", "y"})
    for (int i = 0; i < kRows; ++i)
      EXPECT_EQ(cache.cache.get(owner + std::to_string(i)), package_of(owner, 2000)) << owner << i;
}

// Many begin the same fresh file at once: every one gets it, and all that was put is found.
TEST(KernelCache, ManyProcessesOpenAFreshFile) {
  const TemporaryFolder folder("tilefuse_cache");
  constexpr int kRounds = 20;
  constexpr int kProcesses = 6;
  for (int round = 0; round < kRounds; ++round) {
    const std::string path = folder / ("kernels" + std::to_string(round) + ".sqlite");
    EXPECT_TRUE(all_succeed(kProcesses,
                            [&](int owner) {
                              const std::string key = std::to_string(owner);
                              Cache cache(path);
                              cache.put(key, package_of(key, 100));
                              return cache.warnings.empty() && cache.cache.get(key);
                            }))
        << "round " << round;
  }
}

// Processor time, since other work on the machine does not count.
TEST(KernelCache, OpeningAndFortyRowsAreQuick) {
  const TemporaryFolder folder("tilefuse_cache");
  const std::string path = folder / "kernels.sqlite";
  {
    Cache cache(path);
    for (int i = 0; i < 40; ++i)
      cache.put("key" + std::to_string(i), package_of(std::to_string(i), 60000));
  }
  const std::clock_t begin = std::clock();
  Cache cache(path);
  for (int i = 0; i < 40; ++i)
    EXPECT_TRUE(cache.cache.get("key" + std::to_string(i)).has_value());
  const double milliseconds = 1e3 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  std::printf("open and 40 rows: %.1f ms of processor time\n", milliseconds);
  EXPECT_LT(milliseconds, 100);
}

TEST(KernelCache, DefaultPath) {
  setenv("TILEFUSE_CACHE", "/a/b.sqlite", 1);
  EXPECT_EQ(default_cache_path(), "/a/b.sqlite");
  unsetenv("TILEFUSE_CACHE");
  setenv("XDG_CACHE_HOME", "/x", 1);
  EXPECT_EQ(default_cache_path(), "/x/tilefuse/kernels.sqlite");
  unsetenv("XDG_CACHE_HOME");
  setenv("HOME", "/h", 1);
  EXPECT_EQ(default_cache_path(), "/h/.cache/tilefuse/kernels.sqlite");
  unsetenv("HOME");
  EXPECT_EQ(default_cache_path(), "");
}

} // namespace
} // namespace tilefuse::runtime
