// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/cuda_build.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <numeric>

#include <fmt/format.h>

#include "base/error.h"
#include "base/thread_pool.h"
#include "runtime/cuda/cuda_api.h"

namespace tilefuse::runtime {
namespace {

using cuda::CompilerApi;

constexpr std::size_t kMaxLog = 4000;
constexpr const char *kNoUnused = "--diag-suppress=177"; // unused variables

// Owns a program of the compiler.
class Program {
public:
  Program(const CompilerApi &api, const Package &package) : api_(api) {
    check(api_.nvrtcCreateProgram(&program_, package.code.c_str(), package.symbol.c_str(), 0,
                                  nullptr, nullptr),
          package);
  }
  Program(const Program &) = delete;
  Program &operator=(const Program &) = delete;
  ~Program() { api_.nvrtcDestroyProgram(&program_); }

  std::string log() const {
    std::size_t size = 0;
    if (api_.nvrtcGetProgramLogSize(program_, &size) != 0 || size <= 1)
      return {};
    std::string text(size, '\0');
    if (api_.nvrtcGetProgramLog(program_, text.data()) != 0)
      return {};
    text.resize(text.find_last_not_of('\0') + 1);
    return text;
  }

  void compile(const Package &package, const std::string &arch) {
    const std::string architecture = "--gpu-architecture=" + arch;
    const std::array options = {architecture.c_str(), "--fmad=false", "--std=c++17",
                                "--ptxas-options=-v", kNoUnused};
    const cuda::Result code =
        api_.nvrtcCompileProgram(program_, static_cast<int>(options.size()), options.data());
    if (code != 0)
      throw Error(ErrorCode::Device,
                  fmt::format("NVRTC cannot build the kernel for {}: {}", arch,
                              api_.nvrtcGetErrorString(code)),
                  package.name, {"the compiler said: " + log().substr(0, kMaxLog)});
  }

  std::string binary(const Package &package) const {
    std::size_t size = 0;
    check(api_.nvrtcGetCUBINSize(program_, &size), package);
    std::string code(size, '\0');
    check(api_.nvrtcGetCUBIN(program_, code.data()), package);
    return code;
  }

private:
  void check(cuda::Result code, const Package &package) const {
    if (code != 0)
      throw Error(ErrorCode::Device,
                  fmt::format("NVRTC failed: {}", api_.nvrtcGetErrorString(code)), package.name);
  }

  const CompilerApi &api_;
  cuda::NvrtcProgram program_ = nullptr;
};

// The longest texts first, which take longest: none of them is left to the end of a build.
std::vector<std::size_t> longest_first(const std::vector<Package> &packages) {
  std::vector<std::size_t> order(packages.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return packages[a].code.size() > packages[b].code.size();
  });
  return order;
}

} // namespace

std::string nvrtc_version(std::string *why) {
  const CompilerApi *api = cuda::compiler_api(why);
  int major = 0;
  int minor = 0;
  if (api == nullptr || api->nvrtcVersion(&major, &minor) != 0)
    return {};
  return fmt::format("NVRTC {}.{}", major, minor);
}

std::vector<Package> build_cuda(std::vector<Package> packages, const std::string &arch,
                                std::string *log) {
  std::string why;
  const CompilerApi *api = cuda::compiler_api(&why);
  if (api == nullptr)
    throw Error(ErrorCode::Device, "CUDA kernels cannot be built: " + why);
  std::vector<std::string> logs(packages.size());
  const auto build = [&](std::size_t i) {
    Package &package = packages[i];
    if (package.format != CodeFormat::CudaSource)
      return;
    Program program(*api, package);
    program.compile(package, arch);
    logs[i] = program.log();
    package.code = program.binary(package);
    package.format = CodeFormat::CudaBinary;
  };
  const std::vector<std::size_t> order = longest_first(packages);
  std::atomic<std::size_t> next = 0;
  ThreadPool pool(available_threads());
  pool.parallel_for(pool.threads(), [&](int, std::int64_t) {
    try {
      for (std::size_t k = next++; k < order.size(); k = next++)
        build(order[k]);
    } catch (...) { // the others end too
      next = order.size();
      throw;
    }
  });
  if (log != nullptr)
    for (std::size_t i = 0; i < packages.size(); ++i)
      *log += fmt::format("{}:\n{}\n", packages[i].name, logs[i]);
  return packages;
}

} // namespace tilefuse::runtime
