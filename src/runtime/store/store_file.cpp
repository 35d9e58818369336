// SPDX-License-Identifier: Apache-2.0
#include "runtime/store/store_file.h"

#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "runtime/store/store_trust.h"

namespace tilefuse::runtime {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxDamaged = 10000;
constexpr std::chrono::milliseconds kRetryMs{2};

} // namespace

StoreFile::StoreFile(std::string path, Owner owner, Warn warn)
    : path_(std::move(path)), owner_(std::move(owner)), warn_(std::move(warn)) {}

bool StoreFile::open() {
  if (path_.empty())
    return false;
  if (const std::string reason = make_private(path_); !reason.empty()) {
    disable(reason);
    return false;
  }
  guarded([&] { open_when_free(); });
  return is_open_;
}

// SQLite does not wait where two processes turn a fresh file to a write-ahead log or make its
// tables at once: one of them fails with SQLITE_BUSY straight away, and begins again here.
void StoreFile::open_when_free() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(kStoreBusyMs);
  for (;;) {
    try {
      owner_.open(path_);
      owner_.wait(kStoreBusyMs);
      is_open_ = true;
      return;
    } catch (const SqliteFailure &failure) {
      if (failure.code != SQLITE_BUSY)
        throw;
      if (std::chrono::steady_clock::now() > end)
        return disable("another process holds it");
    }
    owner_.close();
    std::this_thread::sleep_for(kRetryMs);
  }
}

bool StoreFile::guarded(const std::function<void()> &operation) {
  try {
    operation();
    return true;
  } catch (const SqliteFailure &failure) {
    if (failure.is_damage())
      set_aside(failure.message);
    else if (failure.code == SQLITE_BUSY)
      held();
    else
      disable(failure.message);
    return false;
  }
}

bool StoreFile::write(const std::function<void()> &operation) {
  if (!is_open_)
    return false;
  if (!guarded(operation) && (!is_open_ || is_held_ || !guarded(operation)))
    return false;
  if (is_held_)
    owner_.wait(kStoreBusyMs);
  is_held_ = false;
  return true;
}

void StoreFile::held() {
  is_held_ = true;
  owner_.wait(0);
  say(fmt::format("another process holds the {} {}; until it lets go, nothing new is kept",
                  owner_.what, path_));
}

void StoreFile::disable(const std::string &why) {
  is_open_ = false;
  owner_.close();
  say(fmt::format("the {} {} cannot be used: {}; {}", owner_.what, path_, why, owner_.otherwise));
}

void StoreFile::say(const std::string &text) {
  if (!warned_ && warn_)
    warn_(text);
  warned_ = true;
}

// Renames the file and its journals and begins a fresh one.
void StoreFile::set_aside(const std::string &why) {
  is_open_ = false;
  owner_.close();
  const std::string to = free_name();
  std::error_code failure;
  fs::rename(path_, to, failure);
  if (failure)
    return disable(fmt::format("{}, and it cannot be renamed: {}", why, failure.message()));
  for (const char *suffix : {"-wal", "-shm", "-journal"}) {
    std::error_code ignored;
    fs::rename(path_ + suffix, to + suffix, ignored);
  }
  static_cast<void>(make_private(path_));
  say(fmt::format("the {} {} is damaged ({}); it is set aside as {} and begun afresh", owner_.what,
                  path_, why, to));
  reopen(to);
}

void StoreFile::reopen(const std::string &damaged) {
  try {
    open_when_free();
  } catch (const SqliteFailure &again) {
    return disable(again.message);
  }
  if (is_open_ && owner_.salvage)
    owner_.salvage(damaged);
}

std::string StoreFile::free_name() const {
  for (int n = 1; n < kMaxDamaged; ++n) {
    const std::string name = fmt::format("{}.damaged-{}", path_, n);
    std::error_code ignored;
    if (!fs::exists(name, ignored))
      return name;
  }
  return path_ + ".damaged-0";
}

} // namespace tilefuse::runtime
