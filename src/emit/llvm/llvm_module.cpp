// SPDX-License-Identifier: Apache-2.0
#include "emit/llvm/llvm_module.h"

#include <filesystem>

#include <dlfcn.h>
#include <fmt/format.h>

#include "base/error.h"
#include "base/own_folders.h"
#include "emit/emitter.h"
#include "emit/llvm_interface.h"

namespace tilefuse::emit {
namespace {

namespace fs = std::filesystem;

constexpr const char *kModuleFile = "tilefuse_llvm.so";

struct ModuleHandle {
  void *handle = nullptr;
  std::string why; // it is null
};

// A module of other sources holds kernels otherwise than this program.
ModuleHandle checked(void *handle, const fs::path &file) {
  void *interface = dlsym(handle, "tilefuse_llvm_interface");
  const std::string_view found =
      interface == nullptr ? "none" : reinterpret_cast<const char *(*)()>(interface)();
  if (found == kLlvmInterface)
    return {handle, ""};
  return {nullptr, fmt::format("{} belongs to another version of this program: its interface is "
                               "{}, need {}; install both from one build",
                               file.string(), found, kLlvmInterface)};
}

ModuleHandle open_module() {
  std::string searched;
  for (const fs::path &folder : own_folders()) {
    const fs::path file = folder / kModuleFile;
    std::error_code failure;
    if (!fs::exists(file, failure)) {
      searched += fmt::format("{}{}", searched.empty() ? "" : ", ", folder.string());
      continue;
    }
    if (void *handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL))
      return checked(handle, file);
    const char *reason = dlerror();
    return {nullptr, fmt::format("{} cannot be loaded: {}", file.string(),
                                 reason == nullptr ? "unknown reason" : reason)};
  }
  return {nullptr, fmt::format("{} is in none of: {}", kModuleFile, searched)};
}

// Opened once and kept: code generation has state of its own for the life of the process.
const ModuleHandle &module_handle() {
  static const ModuleHandle handle = open_module();
  return handle;
}

void *find_function(const char *name, std::string *why) {
  const ModuleHandle &module = module_handle();
  void *function = module.handle == nullptr ? nullptr : dlsym(module.handle, name);
  if (function == nullptr && why != nullptr)
    *why = module.handle == nullptr ? module.why : fmt::format("{} has no {}", kModuleFile, name);
  return function;
}

} // namespace

std::unique_ptr<Emitter> make_llvm_emitter(std::string *why) {
  void *function = find_function("tilefuse_make_llvm_emitter", why);
  if (function == nullptr)
    return nullptr;
  return std::unique_ptr<Emitter>(reinterpret_cast<Emitter *(*)()>(function)());
}

std::string llvm_assembly(const kernel::Kernel &kernel, const Target &target) {
  using Function = void (*)(const kernel::Kernel &, const Target &, std::string &);
  std::string why;
  void *function = find_function("tilefuse_llvm_assembly", &why);
  if (function == nullptr)
    throw Error(ErrorCode::Unsupported, fmt::format("no code generation for the CPU: {}", why));
  std::string text;
  reinterpret_cast<Function>(function)(kernel, target, text);
  return text;
}

} // namespace tilefuse::emit
