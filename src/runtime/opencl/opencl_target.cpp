// SPDX-License-Identifier: Apache-2.0
#include "runtime/opencl/opencl_target.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include <fmt/format.h>

#include "runtime/opencl/opencl_platform.h"
#include "target/nvidia.h"
#include "target/tickets.h"

namespace tilefuse::runtime {
namespace {

constexpr int kWideVector = 16; // floats of a 512-bit register

// Used where devices/ has no row.
const Target kGenericCpu = {.name = "opencl_cpu",
                            .backend = "opencl",
                            .isa = "CL1.2",
                            .lanes = LaneKind::Vector,
                            .max_group = 4096,
                            .local_bytes = 32 << 10,
                            .features = {Feature::EitherLanes}};
const Target kGenericGpu = {.name = "opencl_gpu",
                            .backend = "opencl",
                            .isa = "CL1.2",
                            .lanes = LaneKind::WorkItem,
                            .vector_f32 = 64,
                            .vector_registers = 64,
                            .max_group = 1024,
                            .local_is_hw = true,
                            .l2_bytes = 1 << 20,
                            .gflops_per_unit = 100,
                            .gbytes_per_s = 100,
                            .launch_us = 8,
                            .features = {Feature::EitherLanes}};

// Parts of vendors' names, and the suffix of their rows.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kVendors = {{
    {"nvidia", "nvidia"},
    {"advanced micro devices", "amd"},
    {"amd", "amd"},
    {"intel", "intel"},
    {"qualcomm", "adreno"},
    {"arm", "mali"},
}};

std::string vendor_suffix(std::string vendor) {
  for (char &c : vendor)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const auto &[part, suffix] : kVendors)
    if (vendor.find(part) != std::string::npos)
      return std::string(suffix);
  return {};
}

const Target *find_row(const std::vector<Target> &rows, const std::string &name) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const Target &row) {
    return row.backend == "opencl" && row.name == name;
  });
  return found == rows.end() ? nullptr : &*found;
}

Target cpu_row(const OpenclDeviceInfo &info, const std::vector<Target> &rows) {
  const bool is_wide = info.vector_f32 >= kWideVector;
  if (const Target *row = is_wide ? find_row(rows, "opencl_cpu_avx512") : nullptr)
    return *row;
  const Target *row = find_row(rows, "opencl_cpu");
  Target target = row == nullptr ? kGenericCpu : *row;
  if (is_wide)
    target.vector_registers = 32;
  return target;
}

// A vendor's generation may have a row of its own.
Target gpu_row(const OpenclDeviceInfo &info, const std::vector<Target> &rows) {
  const std::string generation = fmt::format("opencl_nvidia_sm{}", info.nvidia_generation);
  if (const Target *row = find_row(rows, generation))
    return *row;
  if (const Target *row = find_row(rows, "opencl_" + vendor_suffix(info.vendor)))
    return *row;
  const Target *row = find_row(rows, "opencl_gpu");
  return row == nullptr ? kGenericGpu : *row;
}

// What inline assembly may be used is NVIDIA's generation. Atomic operations of a later language
// are the one thing that is asked of it.
std::string isa_of(const OpenclDeviceInfo &info) {
  if (info.nvidia_generation > 0)
    return fmt::format("CL1.2 sm_{}", info.nvidia_generation);
  return info.device_atomics ? fmt::format("CL1.2 {}", kDeviceAtomics) : "CL1.2";
}

// Of vectors: PoCL compiles with clang, which knows the instructions of the processor that it is on.
bool has_vector_dots(const OpenclDeviceInfo &info) {
#if defined(__x86_64__)
  return info.is_pocl() && (info.type & CL_DEVICE_TYPE_CPU) != 0 && __builtin_cpu_supports("avx2");
#else
  return false;
#endif
}

bool has_dots(const OpenclDeviceInfo &info, LaneKind lanes) {
  return lanes == LaneKind::Vector ? has_vector_dots(info)
                                   : info.byte_dots || has_dp4a(info.nvidia_generation);
}

} // namespace

Target target_of(const OpenclDeviceInfo &info, const std::vector<Target> &rows) {
  const bool is_cpu = (info.type & CL_DEVICE_TYPE_CPU) != 0;
  Target target = is_cpu ? cpu_row(info, rows) : gpu_row(info, rows);
  if (target.lanes == LaneKind::Vector && info.vector_f32 >= 4)
    target.vector_f32 = info.vector_f32;
  target.compute_units = info.compute_units;
  target.max_group = static_cast<int>(
      std::min<std::int64_t>(target.max_group, info.max_group)); // a row may know better
  if (target.lanes == LaneKind::WorkItem)
    target.vector_f32 = std::min(target.vector_f32, target.max_group);
  // A CPU reports ordinary memory: there the row says how much of it stays in a cache.
  target.local_bytes = is_cpu && target.local_bytes > 0
                           ? std::min(target.local_bytes, info.local_bytes)
                           : info.local_bytes;
  target.local_is_hw = target.local_is_hw && info.local_is_hw;
  if (!is_cpu)
    target.isa = isa_of(info);
  if (!has_dots(info, target.lanes))
    target.dots.clear();
  target.features = of_generation(target.features, info.nvidia_generation);
  target.fp64 = info.fp64;
  target.fp16_math = target.fp16_math && info.fp16;
  return target;
}

} // namespace tilefuse::runtime
