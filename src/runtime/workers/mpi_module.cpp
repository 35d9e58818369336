// SPDX-License-Identifier: Apache-2.0
#include "runtime/workers/mpi_module.h"

#include <filesystem>
#include <optional>

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/own_folders.h"

namespace tilefuse::runtime {
namespace {

namespace fs = std::filesystem;

constexpr const char *kModuleFile = "tilefuse_mpi.so";

struct Opened {
  MpiModule module;
  std::string why; // it cannot be used
};

template <class Function>
void find(void *library, const char *name, Function &to, std::string &why) {
  to = reinterpret_cast<Function>(dlsym(library, fmt::format("tilefuse_mpi_{}", name).c_str()));
  if (to == nullptr)
    why = fmt::format("{} has no function {}", kModuleFile, name);
}

std::optional<fs::path> module_path() {
  std::error_code failure;
  for (const fs::path &folder : own_folders())
    if (fs::exists(folder / kModuleFile, failure))
      return folder / kModuleFile;
  return std::nullopt;
}

Opened open_module() {
  Opened opened;
  const std::optional<fs::path> path = module_path();
  // MPI opens parts of its own, which must find it.
  void *library = path ? dlopen(path->c_str(), RTLD_NOW | RTLD_GLOBAL) : nullptr;
  if (library == nullptr) {
    const char *reason = path ? dlerror() : nullptr;
    opened.why = path
                     ? fmt::format("{} cannot be loaded: {}", path->string(),
                                   reason == nullptr ? "unknown reason" : reason)
                     : fmt::format("{} is not there: this build was made without MPI", kModuleFile);
    return opened;
  }
  find(library, "interface", opened.module.interface, opened.why);
  find(library, "start", opened.module.start, opened.why);
  find(library, "end", opened.module.end, opened.why);
  find(library, "broadcast", opened.module.broadcast, opened.why);
  find(library, "swap_parts", opened.module.swap_parts, opened.why);
  find(library, "gather_parts", opened.module.gather_parts, opened.why);
  find(library, "sum", opened.module.sum, opened.why);
  find(library, "describe", opened.module.describe, opened.why);
  if (opened.why.empty() && opened.module.interface() != kMpiInterface)
    opened.why = fmt::format("{} belongs to another version of this program", path->string());
  return opened;
}

} // namespace

const MpiModule *mpi_module(std::string *why) {
  static const Opened opened = open_module();
  if (opened.why.empty())
    return &opened.module;
  if (why != nullptr)
    *why = opened.why;
  return nullptr;
}

} // namespace tilefuse::runtime
