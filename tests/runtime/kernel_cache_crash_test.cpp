// SPDX-License-Identifier: Apache-2.0
// The kernel cache under what machines do to it: processes killed while they write, a disk that is
// full.
#include <csignal>
#include <cstdlib>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/kernel_cache.h"
#include "runtime/opencl_fixture.h"

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

// Writes rows until it is killed; says on `acknowledge` how many are done.
[[noreturn]] void write_forever(const std::string &path, int round, int acknowledge) {
  KernelCache cache(path, [](const std::string &) {});
  for (int number = 0;; ++number) {
    put(cache, key_of(round, number));
    if (write(acknowledge, &number, sizeof number) != sizeof number)
      _exit(1);
  }
}

// Rows that a writer finished before it was killed after `microseconds`.
int killed_writer(const std::string &path, int round, unsigned microseconds) {
  int ends[2];
  if (pipe(ends) != 0)
    return -1;
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    write_forever(path, round, ends[1]);
  }
  close(ends[1]);
  int last = -1;
  int number = 0;
  if (read(ends[0], &number, sizeof number) == sizeof number)
    last = number;
  usleep(microseconds);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  while (read(ends[0], &number, sizeof number) == sizeof number)
    last = number;
  close(ends[0]);
  return last + 1;
}

TEST(KernelCacheCrash, OnlyTheEntryBeingWrittenIsLost) {
  const TemporaryFolder folder("tilefuse_cache_crash");
  const std::string path = folder / "kernels.sqlite";
  std::vector<int> finished;
  for (int round = 0; round < kRounds; ++round) {
    finished.push_back(killed_writer(path, round, static_cast<unsigned>(700 * round)));
    ASSERT_GT(finished.back(), 0);
    std::vector<std::string> warnings;
    KernelCache cache(path, [&](const std::string &text) { warnings.push_back(text); });
    for (int earlier = 0; earlier <= round; ++earlier)
      for (int number = 0; number < finished[static_cast<std::size_t>(earlier)]; ++number)
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
