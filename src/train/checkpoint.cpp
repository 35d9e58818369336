// SPDX-License-Identifier: Apache-2.0
#include "train/checkpoint.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <functional>
#include <map>
#include <sstream>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "base/durable_file.h"
#include "base/error.h"

namespace tilefuse::train {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "step-";
constexpr std::string_view kSuffix = ".safetensors";
constexpr const char *kStepKey = "tilefuse.step";

std::optional<std::int64_t> parse_step(std::string_view digits) {
  std::int64_t step = 0;
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), step);
  if (failure != std::errc() || end != digits.data() + digits.size() || step < 0)
    return std::nullopt;
  return step;
}

// The step that a file's name says; none for other files. `suffix` ends the name.
std::optional<std::int64_t> step_of(const fs::path &path, const std::string &suffix) {
  const std::string name = path.filename().string();
  if (!name.starts_with(kPrefix) || !name.ends_with(suffix) ||
      name.size() <= kPrefix.size() + suffix.size())
    return std::nullopt;
  return parse_step(
      std::string_view(name).substr(kPrefix.size(), name.size() - kPrefix.size() - suffix.size()));
}

using Found = std::multimap<std::int64_t, fs::path, std::greater<>>; // the latest first

// Files of a folder by the step in their names. No folder is an empty one.
Found find(const std::string &folder, const std::string &suffix) {
  Found found;
  std::error_code failure;
  for (fs::directory_iterator entry(folder, failure), end; !failure && entry != end;
       entry.increment(failure))
    if (const auto step = step_of(entry->path(), suffix))
      found.emplace(*step, entry->path());
  if (failure && failure != std::errc::no_such_file_or_directory)
    throw Error(ErrorCode::Io, fmt::format("cannot read the folder: {}", failure.message()),
                folder);
  return found;
}

// Removes what is too old, and what processes that were killed left unfinished. What cannot be removed stays.
void prune(const std::string &folder, std::int64_t newest, int keep) {
  std::error_code ignored;
  for (const auto &[step, path] : find(folder, std::string(kSuffix) + std::string(kUnfinished)))
    fs::remove(path, ignored);
  int kept = 0;
  for (const auto &[step, path] : find(folder, std::string(kSuffix)))
    if (step <= newest && ++kept > std::max(keep, 1))
      fs::remove(path, ignored);
}

} // namespace

std::string checkpoint_path(const std::string &folder, std::int64_t step) {
  return (fs::path(folder) / fmt::format("{}{:08}{}", kPrefix, step, kSuffix)).string();
}

void save_checkpoint(const std::string &path, const Checkpoint &checkpoint) {
  Metadata metadata = checkpoint.content.metadata;
  metadata[kStepKey] = fmt::format("{}", checkpoint.step);
  write_safetensors(path, checkpoint.content.tensors, metadata);
}

void write_checkpoint(const std::string &folder, const Checkpoint &checkpoint, int keep) {
  save_checkpoint(checkpoint_path(folder, checkpoint.step), checkpoint);
  prune(folder, checkpoint.step, keep);
}

namespace {

Checkpoint checkpoint_of(SealedFile file, const std::string &path) {
  const auto step = file.content.metadata.find(kStepKey);
  if (!file.is_sealed || step == file.content.metadata.end())
    throw Error(ErrorCode::Io, "not a checkpoint: its metadata lack a step or a hash", path);
  const std::optional<std::int64_t> number = parse_step(step->second);
  if (!number)
    throw Error(ErrorCode::Io, fmt::format("a checkpoint of no step: \"{}\"", step->second), path);
  file.content.metadata.erase(step);
  return {*number, std::move(file.content)};
}

} // namespace

Checkpoint load_checkpoint(const std::string &path) {
  return checkpoint_of(read_sealed(path), path);
}

Checkpoint read_checkpoint(const std::string &path) {
  Checkpoint checkpoint = load_checkpoint(path);
  if (checkpoint.step != step_of(path, std::string(kSuffix)))
    throw Error(
        ErrorCode::Io,
        fmt::format("a checkpoint of step {} under the name of another step", checkpoint.step),
        path);
  return checkpoint;
}

Checkpoint parse_checkpoint(const std::string &bytes) {
  constexpr const char *kName = "a checkpoint of rank 0";
  std::istringstream in(bytes);
  return checkpoint_of(read_sealed(in, static_cast<std::int64_t>(bytes.size()), kName), kName);
}

std::optional<Checkpoint> newest_checkpoint(const std::string &folder,
                                            std::vector<std::string> *skipped) {
  for (const auto &[step, path] : find(folder, std::string(kSuffix))) {
    try {
      return read_checkpoint(path.string());
    } catch (const Error &error) {
      if (skipped != nullptr)
        skipped->push_back(fmt::format("{}: {}", error.where(), error.message()));
    }
  }
  return std::nullopt;
}

} // namespace tilefuse::train
