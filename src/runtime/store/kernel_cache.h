// SPDX-License-Identifier: Apache-2.0
// Built packages on disk, one SQLite file, keyed by content: a hash of group, schedule, target,
// driver and code generator version; beside them texts, such as the schedules that were chosen,
// under keys of their writers. Safe for several processes at once. A damaged file is renamed
// to *.damaged-N with one warning and a fresh one is begun; a cache that cannot be opened or
// written is a warning too, and the run goes on without it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "package/package.h"

namespace tilefuse::runtime {

class KernelCache {
public:
  using Warn = std::function<void(const std::string &)>;
  // `path` is created with its folders when absent; empty disables the cache. Bounded: oldest-used
  // rows are dropped past `limit_bytes`.
  KernelCache(std::string path, Warn warn, std::int64_t limit_bytes = std::int64_t{512} << 20);
  ~KernelCache();
  KernelCache(const KernelCache &) = delete;
  KernelCache &operator=(const KernelCache &) = delete;

  std::optional<Package> get(const std::string &key);
  void put(std::span<const std::pair<std::string, const Package *>> rows); // one transaction

  // A text is given back as it was written, or not at all.
  std::optional<std::string> get_text(const std::string &key);
  void put_texts(std::span<const std::pair<std::string, std::string>> rows); // one transaction

private:
  struct State;
  std::unique_ptr<State> state_;
};

// $TILEFUSE_CACHE, or $XDG_CACHE_HOME/tilefuse/kernels.sqlite, or ~/.cache/tilefuse/kernels.sqlite.
std::string default_cache_path();

} // namespace tilefuse::runtime
