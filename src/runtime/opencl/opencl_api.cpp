// SPDX-License-Identifier: Apache-2.0
#include "runtime/opencl/opencl_api.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "base/error.h"

namespace tilefuse::runtime {
namespace {

constexpr const char *kLibrary = "libOpenCL.so.1";

struct Opened {
  OpenclApi api;
  std::string why; // it cannot be used; empty: it can
};

template <typename Function> bool find(void *library, const char *name, Function *&function) {
  function = reinterpret_cast<Function *>(dlsym(library, name));
  return function != nullptr;
}

Opened open_library() {
  Opened opened;
  void *library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char *reason = dlerror();
    opened.why = fmt::format("the OpenCL loader cannot be opened: {}",
                             reason == nullptr ? kLibrary : reason);
    return opened;
  }
#define TILEFUSE_OPENCL_FIND(name)                                                                 \
  if (opened.why.empty() && !find(library, #name, opened.api.name))                                \
    opened.why = fmt::format("{} has no {}", kLibrary, #name);
  TILEFUSE_OPENCL_FUNCTIONS(TILEFUSE_OPENCL_FIND)
#undef TILEFUSE_OPENCL_FIND
  return opened;
}

struct NamedCode {
  cl_int code;
  std::string_view name;
};

#define TILEFUSE_CODE(name)                                                                        \
  { name, #name }
constexpr NamedCode kCodes[] = {
    TILEFUSE_CODE(CL_DEVICE_NOT_FOUND),
    TILEFUSE_CODE(CL_DEVICE_NOT_AVAILABLE),
    TILEFUSE_CODE(CL_COMPILER_NOT_AVAILABLE),
    TILEFUSE_CODE(CL_MEM_OBJECT_ALLOCATION_FAILURE),
    TILEFUSE_CODE(CL_OUT_OF_RESOURCES),
    TILEFUSE_CODE(CL_OUT_OF_HOST_MEMORY),
    TILEFUSE_CODE(CL_PROFILING_INFO_NOT_AVAILABLE),
    TILEFUSE_CODE(CL_MEM_COPY_OVERLAP),
    TILEFUSE_CODE(CL_BUILD_PROGRAM_FAILURE),
    TILEFUSE_CODE(CL_MAP_FAILURE),
    TILEFUSE_CODE(CL_MISALIGNED_SUB_BUFFER_OFFSET),
    TILEFUSE_CODE(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST),
    TILEFUSE_CODE(CL_COMPILE_PROGRAM_FAILURE),
    TILEFUSE_CODE(CL_LINKER_NOT_AVAILABLE),
    TILEFUSE_CODE(CL_LINK_PROGRAM_FAILURE),
    TILEFUSE_CODE(CL_DEVICE_PARTITION_FAILED),
    TILEFUSE_CODE(CL_KERNEL_ARG_INFO_NOT_AVAILABLE),
    TILEFUSE_CODE(CL_INVALID_VALUE),
    TILEFUSE_CODE(CL_INVALID_DEVICE_TYPE),
    TILEFUSE_CODE(CL_INVALID_PLATFORM),
    TILEFUSE_CODE(CL_INVALID_DEVICE),
    TILEFUSE_CODE(CL_INVALID_CONTEXT),
    TILEFUSE_CODE(CL_INVALID_QUEUE_PROPERTIES),
    TILEFUSE_CODE(CL_INVALID_COMMAND_QUEUE),
    TILEFUSE_CODE(CL_INVALID_HOST_PTR),
    TILEFUSE_CODE(CL_INVALID_MEM_OBJECT),
    TILEFUSE_CODE(CL_INVALID_BINARY),
    TILEFUSE_CODE(CL_INVALID_BUILD_OPTIONS),
    TILEFUSE_CODE(CL_INVALID_PROGRAM),
    TILEFUSE_CODE(CL_INVALID_PROGRAM_EXECUTABLE),
    TILEFUSE_CODE(CL_INVALID_KERNEL_NAME),
    TILEFUSE_CODE(CL_INVALID_KERNEL_DEFINITION),
    TILEFUSE_CODE(CL_INVALID_KERNEL),
    TILEFUSE_CODE(CL_INVALID_ARG_INDEX),
    TILEFUSE_CODE(CL_INVALID_ARG_VALUE),
    TILEFUSE_CODE(CL_INVALID_ARG_SIZE),
    TILEFUSE_CODE(CL_INVALID_KERNEL_ARGS),
    TILEFUSE_CODE(CL_INVALID_WORK_DIMENSION),
    TILEFUSE_CODE(CL_INVALID_WORK_GROUP_SIZE),
    TILEFUSE_CODE(CL_INVALID_WORK_ITEM_SIZE),
    TILEFUSE_CODE(CL_INVALID_GLOBAL_OFFSET),
    TILEFUSE_CODE(CL_INVALID_EVENT_WAIT_LIST),
    TILEFUSE_CODE(CL_INVALID_EVENT),
    TILEFUSE_CODE(CL_INVALID_OPERATION),
    TILEFUSE_CODE(CL_INVALID_BUFFER_SIZE),
    TILEFUSE_CODE(CL_INVALID_GLOBAL_WORK_SIZE),
    TILEFUSE_CODE(CL_INVALID_PROPERTY),
    TILEFUSE_CODE(CL_INVALID_COMPILER_OPTIONS),
    TILEFUSE_CODE(CL_INVALID_LINKER_OPTIONS),
    TILEFUSE_CODE(CL_INVALID_DEVICE_PARTITION_COUNT),
    {-1001, "CL_PLATFORM_NOT_FOUND_KHR"},
};
#undef TILEFUSE_CODE

} // namespace

const OpenclApi *opencl_api(std::string *why) {
  static const Opened opened = open_library();
  if (opened.why.empty())
    return &opened.api;
  if (why != nullptr)
    *why = opened.why;
  return nullptr;
}

std::string opencl_error_name(cl_int code) {
  for (const NamedCode &row : kCodes)
    if (row.code == code)
      return std::string(row.name);
  return fmt::format("code {}", code);
}

void check(cl_int code, std::string_view call) {
  if (code != CL_SUCCESS)
    throw Error(ErrorCode::Device, fmt::format("{} failed with {}", call, opencl_error_name(code)));
}

} // namespace tilefuse::runtime
