// SPDX-License-Identifier: Apache-2.0
#include "runtime/opencl/opencl_workers.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own_folders.h"
#include "runtime/opencl/opencl_build.h"
#include "runtime/opencl/opencl_select.h"

extern char **environ;

namespace tilefuse::runtime {
namespace {

namespace fs = std::filesystem;

constexpr const char *kWorkerFile = "tilefuse_opencl_build";
constexpr std::size_t kFewSources = 3; // starting a process costs more than building these
constexpr std::size_t kMaxWorkers = 16;
constexpr std::uint64_t kMaxFrame = std::uint64_t{1} << 32;

// A frame is its size in eight bytes and its bytes.
// All `size` bytes by calls of `move(position, bytes left)`, each of which moves some; false when
// one fails.
template <class Move> bool move_all(std::size_t size, const Move &move) {
  for (std::size_t done = 0; done < size;) {
    const ssize_t moved = move(done, size - done);
    if (moved < 0 && errno == EINTR)
      continue;
    if (moved <= 0)
      return false;
    done += static_cast<std::size_t>(moved);
  }
  return true;
}

bool send_all(int fd, const void *data, std::size_t size) {
  return move_all(size, [&](std::size_t at, std::size_t left) {
    return send(fd, static_cast<const char *>(data) + at, left, MSG_NOSIGNAL);
  });
}

bool receive_all(int fd, void *data, std::size_t size) {
  return move_all(size, [&](std::size_t at, std::size_t left) {
    return recv(fd, static_cast<char *>(data) + at, left, 0);
  });
}

bool send_frame(int fd, const std::string &text) {
  const std::uint64_t size = text.size();
  return send_all(fd, &size, sizeof size) && send_all(fd, text.data(), text.size());
}

std::optional<std::string> receive_frame(int fd) {
  std::uint64_t size = 0;
  if (!receive_all(fd, &size, sizeof size) || size > kMaxFrame)
    return std::nullopt;
  std::string text(size, '\0');
  if (!receive_all(fd, text.data(), text.size()))
    return std::nullopt;
  return text;
}

// An answer is 'P' and a package, or 'E' and an error's kernel, message and notes, each ended by a
// NUL.
std::string error_frame(const Error &error) {
  std::string frame(1, 'E');
  frame.append(error.where()).push_back('\0');
  frame.append(error.message()).push_back('\0');
  for (const std::string &note : error.notes())
    frame.append(note).push_back('\0');
  return frame;
}

Error error_of_frame(const std::string &frame) {
  std::vector<std::string> parts;
  for (std::size_t at = 1; at < frame.size();) {
    const std::size_t end = std::min(frame.find('\0', at), frame.size());
    parts.push_back(frame.substr(at, end - at));
    at = end + 1;
  }
  parts.resize(std::max<std::size_t>(parts.size(), 2));
  return Error(ErrorCode::Device, parts[1], parts[0], {parts.begin() + 2, parts.end()});
}

fs::path worker_file() {
  for (const fs::path &folder : own_folders())
    if (access((folder / kWorkerFile).c_str(), X_OK) == 0)
      return folder / kWorkerFile;
  return {};
}

// Sources that one process builds, and what came of it.
struct Share {
  std::vector<Package> packages;
  bool done = false;
  std::optional<Error> error; // of the build
  int signal = 0;             // that ended the process
};

// The process with one end of a socket as its descriptor 0; -1 when it cannot be started.
pid_t start(const fs::path &file, int socket) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, socket, STDIN_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::string name = kWorkerFile;
  char *arguments[] = {name.data(), nullptr};
  pid_t pid = -1;
  const int failure = posix_spawn(&pid, file.c_str(), &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  return failure == 0 ? pid : -1;
}

void converse(int socket, const std::string &selector, Share &share) {
  bool sent = send_frame(socket, selector);
  for (const Package &package : share.packages)
    sent = sent && send_frame(socket, serialize(package));
  shutdown(socket, SHUT_WR);
  if (!sent)
    return;
  std::vector<Package> built;
  while (built.size() < share.packages.size()) {
    const std::optional<std::string> frame = receive_frame(socket);
    if (!frame || frame->empty())
      return;
    if (frame->front() == 'E') {
      share.error = error_of_frame(*frame);
      return;
    }
    built.push_back(deserialize(std::string_view(*frame).substr(1)));
  }
  share.packages = std::move(built);
  share.done = true;
}

void run_share(const fs::path &file, const std::string &selector, Share &share) {
  int ends[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return;
  const pid_t pid = start(file, ends[1]);
  close(ends[1]);
  if (pid > 0) {
    try {
      converse(ends[0], selector, share);
    } catch (const Error &error) {
      share.error = error;
    }
  }
  close(ends[0]);
  int status = 0;
  while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (pid > 0 && WIFSIGNALED(status))
    share.signal = WTERMSIG(status);
}

[[noreturn]] void crashed(const OpenclContext &cx, const Share &share) {
  std::string names;
  for (const Package &package : share.packages)
    names += (names.empty() ? "" : ", ") + package.name;
  throw Error(ErrorCode::Device,
              fmt::format("the compiler of {} ({}) crashed with signal {} on one of: {}",
                          cx.info.name, cx.info.platform_name, share.signal, names));
}

// Neighbours go to different shares, since the heaviest kernels of a network are neighbours.
std::vector<Share> deal(std::vector<Package> sources, std::size_t count) {
  std::vector<Share> shares(count);
  for (std::size_t i = 0; i < sources.size(); ++i)
    shares[i % count].packages.push_back(std::move(sources[i]));
  return shares;
}

std::vector<Package> build_by_workers(const OpenclContext &cx, std::vector<Package> sources,
                                      const fs::path &file) {
  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  const std::size_t count = std::min({cores, kMaxWorkers, sources.size()});
  const std::size_t total = sources.size();
  std::vector<Share> shares = deal(std::move(sources), count);
  std::vector<std::thread> threads;
  for (Share &share : shares)
    threads.emplace_back([&share, &file, &cx] { run_share(file, cx.info.selector(), share); });
  for (std::thread &thread : threads)
    thread.join();
  for (Share &share : shares) {
    if (share.error)
      throw *share.error;
    if (share.signal != 0)
      crashed(cx, share);
    if (!share.done)
      share.packages = build_in_process(cx, std::move(share.packages));
  }
  std::vector<Package> built;
  for (std::size_t i = 0; i < total; ++i)
    built.push_back(std::move(shares[i % count].packages[i / count]));
  return built;
}

// The context of a selector, or null where this process is not given the device: some drivers hand
// it to few processes at a time, and the one that asked can build as well.
std::shared_ptr<OpenclContext> open_selected(const OpenclApi &api, const std::string &selector) {
  try {
    return open_context(api, select_device(opencl_devices(api), selector));
  } catch (const Error &) {
    return nullptr;
  }
}

} // namespace

std::vector<Package> build_opencl(const OpenclContext &cx, std::vector<Package> packages) {
  std::vector<Package> sources;
  std::map<std::pair<std::string, std::string>, std::size_t>
      place; // symbol and code → index in sources
  for (const Package &package : packages)
    if (package.format == CodeFormat::OpenclSource &&
        place.emplace(std::pair(package.symbol, package.code), sources.size()).second)
      sources.push_back(package);
  if (sources.empty())
    return packages;
  const fs::path file = sources.size() > kFewSources ? worker_file() : fs::path();
  sources = file.empty() ? build_in_process(cx, std::move(sources))
                         : build_by_workers(cx, std::move(sources), file);
  for (Package &package : packages) {
    if (package.format != CodeFormat::OpenclSource)
      continue;
    package.code = sources[place.at({package.symbol, package.code})].code;
    package.format = CodeFormat::OpenclBinary;
  }
  return packages;
}

int opencl_worker_main() {
  try {
    const std::optional<std::string> selector = receive_frame(STDIN_FILENO);
    const OpenclApi *api = opencl_api(nullptr);
    if (!selector || api == nullptr)
      return 3;
    std::vector<Package> packages;
    while (const auto frame = receive_frame(STDIN_FILENO))
      packages.push_back(deserialize(*frame));
    const auto cx = open_selected(*api, *selector);
    if (cx == nullptr)
      return 3;
    packages = build_in_process(*cx, std::move(packages));
    for (const Package &package : packages)
      if (!send_frame(STDIN_FILENO, fmt::format("P{}", serialize(package))))
        return 3;
    return 0;
  } catch (const Error &error) {
    send_frame(STDIN_FILENO, error_frame(error));
    return 2;
  } catch (const std::exception &error) {
    send_frame(STDIN_FILENO, error_frame(Error(ErrorCode::Device, error.what())));
    return 2;
  }
}

} // namespace tilefuse::runtime
