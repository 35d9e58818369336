// SPDX-License-Identifier: Apache-2.0
#include "worker_processes.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <thread>

#include <fmt/format.h>

#include "base/error.h"
#include "base/stopwatch.h"
#include "runtime/workers/link.h"

namespace tilefuse::tool {
namespace {

constexpr const char *kHost = "127.0.0.1";
constexpr double kGrace = 1; // seconds; workers hear of a loss at once
constexpr auto kPoll = std::chrono::milliseconds(20);

std::atomic<bool> is_told_to_end = false;

void on_end(int) { is_told_to_end = true; }
// A terminal interrupts its workers too.
void on_interrupt(int) {}

std::string random_token() {
  std::random_device source;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", source(), source(), source(), source());
}

struct Common {
  int count = 1;
  int port = 0;
  std::string token;
};

// Of the child, between fork and exec.
[[noreturn]] void become_worker(const std::vector<char *> &arguments, const Common &common,
                                int rank) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL); // not without who would end it
  const auto set = [](const char *name, const std::string &value) {
    ::setenv(name, value.c_str(), 1);
  };
  set("RANK", std::to_string(rank));
  set("LOCAL_RANK", std::to_string(rank));
  set("WORLD_SIZE", std::to_string(common.count));
  set("LOCAL_WORLD_SIZE", std::to_string(common.count));
  set("MASTER_ADDR", kHost);
  set("MASTER_PORT", std::to_string(common.port));
  set("TILEFUSE_TOKEN", common.token);
  ::setenv("NCCL_NVLS_ENABLE", "0", 0);
  ::execv("/proc/self/exe", arguments.data());
  ::_exit(127);
}

std::vector<pid_t> start(const WorkerProcesses &processes) {
  const Common common{processes.count, runtime::Listener(kHost, 0).port(), random_token()};
  std::vector<std::string> texts{"tilefuse"};
  texts.insert(texts.end(), processes.arguments.begin(), processes.arguments.end());
  std::vector<char *> arguments;
  for (std::string &text : texts)
    arguments.push_back(text.data());
  arguments.push_back(nullptr);
  std::vector<pid_t> children;
  for (int rank = 0; rank < processes.count; ++rank) {
    const pid_t child = ::fork();
    if (child == 0)
      become_worker(arguments, common, rank);
    children.push_back(child);
    if (child < 0)
      break;
  }
  return children;
}

void signal_all(const std::vector<pid_t> &children, int signal) {
  for (const pid_t child : children)
    if (child > 0)
      ::kill(child, signal);
}

int code_of(int status) { return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status); }

} // namespace

std::vector<std::string> own_arguments() {
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(in), {});
  std::vector<std::string> arguments;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\0', begin), text.size());
    arguments.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  arguments.erase(arguments.begin());
  return arguments;
}

WorkerEnds run_workers(const WorkerProcesses &processes) {
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_end);
  std::vector<pid_t> children = start(processes);
  WorkerEnds ends{std::vector<int>(children.size(), 0)};
  Stopwatch since_first;
  bool has_failed = children.back() < 0;
  if (has_failed) {
    ends.codes.back() = -SIGKILL;
    ends.first = children.size() - 1;
  }
  while (std::any_of(children.begin(), children.end(), [](pid_t child) { return child > 0; })) {
    std::this_thread::sleep_for(kPoll);
    if (is_told_to_end.exchange(false))
      signal_all(children, SIGTERM);
    for (std::size_t rank = 0; rank < children.size(); ++rank) {
      int status = 0;
      if (children[rank] <= 0 || ::waitpid(children[rank], &status, WNOHANG) != children[rank])
        continue;
      children[rank] = 0;
      ends.codes[rank] = code_of(status);
      if (ends.codes[rank] != 0 && !has_failed) {
        has_failed = true;
        ends.first = rank;
        since_first = {};
      }
    }
    if (has_failed && since_first.seconds() > kGrace)
      signal_all(children, SIGKILL);
  }
  return ends;
}

} // namespace tilefuse::tool
