// SPDX-License-Identifier: Apache-2.0
#include "base/pass_context.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/error.h"

namespace tilefuse {
namespace {

void write_text(const std::filesystem::path &path, const std::string &text) {
  std::error_code failed; // opening the file says so too
  std::filesystem::create_directories(path.parent_path(), failed);
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush())
    throw Error(ErrorCode::Io, "cannot write the dump", path.string());
}

} // namespace

int PassContext::count(std::string_view name, double seconds, bool changed) {
  const std::lock_guard lock(mutex_);
  auto found = std::find_if(times_.begin(), times_.end(),
                            [&](const PassTime &time) { return time.name == name; });
  if (found == times_.end())
    found = times_.insert(times_.end(), {.name = std::string(name)});
  ++found->runs;
  found->changes += changed ? 1 : 0;
  found->seconds += seconds;
  return runs_++;
}

void PassContext::note(std::string_view name, double seconds, const std::string &before,
                       const std::string &result) {
  const bool changed = before != result;
  const int number = count(name, seconds, changed);
  if (changed && !directory_.empty())
    write_text(std::filesystem::path(directory_) / fmt::format("pass{:02}.{}.txt", number, name),
               result);
}

void PassContext::note(std::string_view name, double seconds) { count(name, seconds, true); }

std::vector<PassTime> PassContext::times() const {
  const std::lock_guard lock(mutex_);
  return times_;
}

} // namespace tilefuse
