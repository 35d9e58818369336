// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/nccl_api.h"

#include <cstdlib>
#include <filesystem>

#include <dlfcn.h>
#include <fmt/format.h>

#include "base/error.h"

namespace tilefuse::runtime::nccl {
namespace {

constexpr const char *kLibrary = "libnccl.so.2";
constexpr const char *kPlace = "TILEFUSE_NCCL"; // the variable that says where it is

struct Opened {
  Api api{};
  std::string why;
};

std::string library_name() {
  const char *said = std::getenv(kPlace);
  if (said == nullptr || *said == '\0')
    return kLibrary;
  std::error_code failure;
  const std::filesystem::path path = said;
  return std::filesystem::is_directory(path, failure) ? (path / kLibrary).string() : path.string();
}

template <typename Pointer>
void find(void *library, const char *name, Pointer &to, std::string &why) {
  to = reinterpret_cast<Pointer>(dlsym(library, name));
  if (to == nullptr && why.empty())
    why = fmt::format("{} lacks the function {}", kLibrary, name);
}

#define TILEFUSE_FIND(name) find(library, #name, opened.api.name, opened.why)

Opened open_library() {
  Opened opened;
  ::setenv("NCCL_NVLS_ENABLE", "0", 0);
  const std::string name = library_name();
  void *library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    opened.why = fmt::format("{} is not there: NCCL comes with PyTorch (its folder "
                             "nvidia/nccl/lib) and as the package libnccl2; {} says where it is",
                             name, kPlace);
    return opened;
  }
  TILEFUSE_FIND(ncclGetVersion);
  TILEFUSE_FIND(ncclGetUniqueId);
  TILEFUSE_FIND(ncclCommInitRank);
  TILEFUSE_FIND(ncclCommDestroy);
  TILEFUSE_FIND(ncclCommAbort);
  TILEFUSE_FIND(ncclCommGetAsyncError);
  TILEFUSE_FIND(ncclGetErrorString);
  TILEFUSE_FIND(ncclGroupStart);
  TILEFUSE_FIND(ncclGroupEnd);
  TILEFUSE_FIND(ncclSend);
  TILEFUSE_FIND(ncclRecv);
  TILEFUSE_FIND(ncclAllGather);
  TILEFUSE_FIND(ncclAllReduce);
  std::string ignored;
  find(library, "ncclGetLastError", opened.api.ncclGetLastError, ignored);
  return opened;
}

#undef TILEFUSE_FIND

} // namespace

const Api *api(std::string *why) {
  static const Opened opened = open_library();
  if (opened.why.empty())
    return &opened.api;
  if (why != nullptr)
    *why = opened.why;
  return nullptr;
}

void check(const Api &api, Result code, std::string_view call) {
  if (code == 0)
    return;
  const char *sentence = api.ncclGetErrorString(code);
  const char *more = api.ncclGetLastError == nullptr ? nullptr : api.ncclGetLastError(nullptr);
  throw Error(ErrorCode::Device,
              fmt::format("{} failed: {}{}{}", call, sentence == nullptr ? "no reason" : sentence,
                          more == nullptr || *more == '\0' ? "" : "; ",
                          more == nullptr ? "" : more));
}

} // namespace tilefuse::runtime::nccl
