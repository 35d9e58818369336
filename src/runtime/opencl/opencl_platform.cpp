// SPDX-License-Identifier: Apache-2.0
#include "runtime/opencl/opencl_platform.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace tilefuse::runtime {
namespace {

// Of cl_nv_device_attribute_query: compute capability.
constexpr cl_device_info kNvidiaMajor = 0x4000;
constexpr cl_device_info kNvidiaMinor = 0x4001;
// Of OpenCL 3.0: which atomic operations there are.
constexpr cl_device_info kAtomicCapabilities = 0x5063;
constexpr cl_bitfield kAcquireRelease = 1U << 1;
constexpr cl_bitfield kScopeDevice = 1U << 5;

std::string trimmed(std::string text) {
  text.resize(std::min(text.find('\0'), text.size()));
  while (!text.empty() && text.back() == ' ')
    text.pop_back();
  text.erase(0, text.find_first_not_of(' '));
  return text;
}

// A property that cannot be read is empty or zero.
template <typename Get> std::string text_of(const Get &get) {
  std::size_t size = 0;
  if (get(0, nullptr, &size) != CL_SUCCESS)
    return {};
  std::string text(size, '\0');
  return get(size, text.data(), nullptr) == CL_SUCCESS ? trimmed(std::move(text)) : std::string();
}

std::string platform_text(const OpenclApi &api, cl_platform_id id, cl_platform_info what) {
  return text_of([&](std::size_t size, void *to, std::size_t *got) {
    return api.clGetPlatformInfo(id, what, size, to, got);
  });
}

std::string device_text(const OpenclApi &api, cl_device_id id, cl_device_info what) {
  return text_of([&](std::size_t size, void *to, std::size_t *got) {
    return api.clGetDeviceInfo(id, what, size, to, got);
  });
}

template <typename T> T device_value(const OpenclApi &api, cl_device_id id, cl_device_info what) {
  T value{};
  return api.clGetDeviceInfo(id, what, sizeof(T), &value, nullptr) == CL_SUCCESS ? value : T{};
}

std::int64_t device_bytes(const OpenclApi &api, cl_device_id id, cl_device_info what) {
  const auto value = device_value<cl_ulong>(api, id, what);
  return static_cast<std::int64_t>(
      std::min<cl_ulong>(value, static_cast<cl_ulong>(std::numeric_limits<std::int64_t>::max())));
}

// OpenCL 2.x always has them, 3.0 says whether.
bool has_device_atomics(const OpenclApi &api, cl_device_id id, const std::string &version) {
  if (!version.starts_with("OpenCL 3."))
    return version.starts_with("OpenCL 2.");
  const auto found = device_value<cl_bitfield>(api, id, kAtomicCapabilities);
  return (found & kAcquireRelease) != 0 && (found & kScopeDevice) != 0;
}

OpenclDeviceInfo describe(const OpenclApi &api, cl_platform_id platform, cl_device_id id) {
  OpenclDeviceInfo info;
  info.id = id;
  info.platform_name = platform_text(api, platform, CL_PLATFORM_NAME);
  info.platform_version = platform_text(api, platform, CL_PLATFORM_VERSION);
  info.name = device_text(api, id, CL_DEVICE_NAME);
  info.vendor = device_text(api, id, CL_DEVICE_VENDOR);
  info.version = device_text(api, id, CL_DEVICE_VERSION);
  info.driver_version = device_text(api, id, CL_DRIVER_VERSION);
  info.type = device_value<cl_device_type>(api, id, CL_DEVICE_TYPE);
  info.available = device_value<cl_bool>(api, id, CL_DEVICE_AVAILABLE) != CL_FALSE;
  info.compiler = device_value<cl_bool>(api, id, CL_DEVICE_COMPILER_AVAILABLE) != CL_FALSE;
  info.little_endian = device_value<cl_bool>(api, id, CL_DEVICE_ENDIAN_LITTLE) != CL_FALSE;
  info.fp64 = device_value<cl_device_fp_config>(api, id, CL_DEVICE_DOUBLE_FP_CONFIG) != 0;
  const std::string extensions = device_text(api, id, CL_DEVICE_EXTENSIONS);
  info.fp16 = extensions.find("cl_khr_fp16") != std::string::npos;
  info.byte_dots = extensions.find("cl_khr_integer_dot_product") != std::string::npos;
  info.local_is_hw =
      device_value<cl_device_local_mem_type>(api, id, CL_DEVICE_LOCAL_MEM_TYPE) == CL_LOCAL;
  const auto native = device_value<cl_uint>(api, id, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT);
  info.vector_f32 = static_cast<int>(std::clamp<cl_uint>(native, 1, 16));
  const auto units = device_value<cl_uint>(api, id, CL_DEVICE_MAX_COMPUTE_UNITS);
  info.compute_units = static_cast<int>(std::clamp<cl_uint>(units, 1, 1 << 20));
  const auto group = device_value<std::size_t>(api, id, CL_DEVICE_MAX_WORK_GROUP_SIZE);
  info.max_group = static_cast<std::int64_t>(std::clamp<std::size_t>(group, 1, 1 << 20));
  info.global_bytes = device_bytes(api, id, CL_DEVICE_GLOBAL_MEM_SIZE);
  info.local_bytes = device_bytes(api, id, CL_DEVICE_LOCAL_MEM_SIZE);
  info.max_allocation = device_bytes(api, id, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  if (extensions.find("cl_nv_device_attribute_query") != std::string::npos)
    info.nvidia_generation =
        static_cast<int>(10 * std::min<cl_uint>(99, device_value<cl_uint>(api, id, kNvidiaMajor)) +
                         std::min<cl_uint>(9, device_value<cl_uint>(api, id, kNvidiaMinor)));
  info.device_atomics = has_device_atomics(api, id, info.version);
  info.alignment =
      std::max<std::int64_t>(1, device_value<cl_uint>(api, id, CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8);
  return info;
}

std::vector<cl_device_id> devices_of(const OpenclApi &api, cl_platform_id platform) {
  cl_uint count = 0;
  if (api.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count) != CL_SUCCESS)
    return {};
  std::vector<cl_device_id> ids(count);
  if (count == 0 ||
      api.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, ids.data(), nullptr) != CL_SUCCESS)
    return {};
  return ids;
}

// "OpenCL 1.1 …" and 1.0 lack what the generated code and this runtime need.
bool is_too_old(const std::string &version) {
  return version.starts_with("OpenCL 1.0") || version.starts_with("OpenCL 1.1");
}

} // namespace

std::string OpenclDeviceInfo::selector() const {
  return fmt::format("opencl:{}:{}", platform_index, device_index);
}

bool OpenclDeviceInfo::is_pocl() const { return platform_name == "Portable Computing Language"; }

std::vector<OpenclDeviceInfo> opencl_devices(const OpenclApi &api) {
  cl_uint count = 0;
  if (api.clGetPlatformIDs(0, nullptr, &count) != CL_SUCCESS || count == 0)
    return {};
  std::vector<cl_platform_id> platforms(count);
  if (api.clGetPlatformIDs(count, platforms.data(), nullptr) != CL_SUCCESS)
    return {};
  std::vector<OpenclDeviceInfo> found;
  for (std::size_t p = 0; p < platforms.size(); ++p) {
    const std::vector<cl_device_id> ids = devices_of(api, platforms[p]);
    for (std::size_t d = 0; d < ids.size(); ++d) {
      found.push_back(describe(api, platforms[p], ids[d]));
      found.back().platform_index = p;
      found.back().device_index = d;
    }
  }
  return found;
}

std::string rejection(const OpenclDeviceInfo &info) {
  if (!info.available)
    return "the driver says that it is not available";
  if (!info.compiler)
    return "the driver has no compiler";
  if (info.global_bytes <= 0 || info.max_allocation <= 0)
    return "it has no global memory";
  if (!info.little_endian)
    return "it is big-endian";
  if (is_too_old(info.version))
    return fmt::format("it has {}; need OpenCL 1.2", info.version);
  constexpr cl_device_type kKinds =
      CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_ACCELERATOR | CL_DEVICE_TYPE_CPU;
  if ((info.type & kKinds) == 0)
    return "it is neither a GPU, an accelerator nor a CPU";
  return {};
}

} // namespace tilefuse::runtime
