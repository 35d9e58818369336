// SPDX-License-Identifier: Apache-2.0
// The kernel cache under what machines do to it: processes killed while they write, a disk that is
// full.
#include <csignal>
#include <cstdlib>
#include <optional>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/index.h"
#include "runtime/opencl_fixture.h"
#include "runtime/processes.h"
#include "runtime/store/kernel_cache.h"

namespace tilefuse::runtime {
namespace {

constexpr std::size_t kCodeBytes = 20000;
constexpr int kRounds = 15;

std::string key_of(int round, int number) {
  return std::to_string(round) + "." + std::to_string(number);
}

Package package_of(const std::string &key) {
  Package package;
  package.name = "kernel_" + key;
  package.symbol = "k";
  package.code = key + std::string(kCodeBytes, key.back());
  return package;
}

void put(KernelCache &cache, const std::string &key) {
  const Package package = package_of(key);
  const std::pair<std::string, const Package *> row(key, &package);
  cache.put({&row, 1});
}

TEST(KernelCacheCrash, OnlyTheEntryBeingWrittenIsLost) {
  const TemporaryFolder folder("tilefuse_cache_crash");
  const std::string path = folder / "kernels.sqlite";
  std::vector<int> finished;
  for (int round = 0; round < kRounds; ++round) {
    std::optional<KernelCache> writer; // of the other process
    finished.push_back(killed_writer(static_cast<unsigned>(700 * round), [&](int number) {
      if (!writer)
        writer.emplace(path, [](const std::string &) {});
      put(*writer, key_of(round, number));
      return true;
    }));
    ASSERT_GT(finished.back(), 0);
    std::vector<std::string> warnings;
    KernelCache cache(path, [&](const std::string &text) { warnings.push_back(text); });
    for (int earlier = 0; earlier <= round; ++earlier)
      for (int number = 0; number < finished[at(earlier)]; ++number)
        ASSERT_EQ(cache.get(key_of(earlier, number)), package_of(key_of(earlier, number)));
    EXPECT_TRUE(warnings.empty()) << warnings.front();
  }
}

// In a process whose files cannot grow: rows that were kept are right, the rest are missing, and
// it was said.
[[noreturn]] void write_to_a_full_disk(const std::string &path) {
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{200000, 200000};
  setrlimit(RLIMIT_FSIZE, &limit);
  int warnings = 0;
  KernelCache cache(path, [&](const std::string &) { ++warnings; });
  for (int number = 0; number < 40; ++number)
    put(cache, key_of(0, number));
  for (int number = 0; number < 40; ++number) {
    const std::optional<Package> found = cache.get(key_of(0, number));
    if (found && *found != package_of(key_of(0, number)))
      _exit(1);
  }
  _exit(warnings > 0 ? 0 : 2);
}

TEST(KernelCacheCrash, FullDiskIsSaidAndGivesNoWrongKernel) {
  const TemporaryFolder folder("tilefuse_cache_full");
  const std::string path = folder / "kernels.sqlite";
  const pid_t child = fork();
  if (child == 0)
    write_to_a_full_disk(path);
  int status = -1;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status)) << "the process crashed";
  EXPECT_EQ(WEXITSTATUS(status), 0) << "1: a wrong kernel; 2: nothing was said";
  KernelCache cache(path, [](const std::string &) {});
  put(cache, key_of(1, 0));
  EXPECT_EQ(cache.get(key_of(1, 0)), package_of(key_of(1, 0)));
}

} // namespace
} // namespace tilefuse::runtime
