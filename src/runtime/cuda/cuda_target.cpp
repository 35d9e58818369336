// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/cuda_target.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "target/nvidia.h"

namespace tilefuse::runtime {
namespace {

using cuda::DriverApi;

constexpr std::string_view kRowPrefix = "cuda_sm";
constexpr int kHopper = 9;
constexpr double kAssumedGhz = 1.5; // of a device that does not say

// Used where devices/ has no row; with the rates of another.
Target generic_target(const Target *row) {
  Target target;
  target.backend = "cuda";
  target.lanes = LaneKind::WorkItem;
  target.vector_f32 = 128;
  target.vector_registers = 255;
  target.local_is_hw = true;
  target.l1_bytes = 128 << 10;
  target.gflops_per_unit = 256;
  target.gbytes_per_s = 500;
  target.launch_us = 4;
  target.features = {Feature::LaunchQueue, Feature::EitherLanes};
  if (row != nullptr) {
    target.rates_like = row->rates_like;
    target.rates = row->rates;
  }
  return target;
}

// Compute capability times ten of a row's name, or -1.
int row_generation(const Target &row) {
  int value = -1;
  if (row.backend == "cuda" && row.name.starts_with(kRowPrefix))
    std::from_chars(row.name.data() + kRowPrefix.size(), row.name.data() + row.name.size(), value);
  return value;
}

Target nearest_row(int wanted, const std::vector<Target> &rows) {
  const Target *best = nullptr, *oldest = nullptr;
  for (const Target &row : rows) {
    if (row_generation(row) < 0)
      continue;
    if (oldest == nullptr || row_generation(row) < row_generation(*oldest))
      oldest = &row;
    if (row_generation(row) <= wanted &&
        (best == nullptr || row_generation(row) > row_generation(*best)))
      best = &row;
  }
  return best == nullptr ? generic_target(oldest) : *best;
}

// FMA lanes of a multiprocessor, by generation (CUDA programming guide, arithmetic throughput).
int lanes_per_multiprocessor(int major, int minor) {
  const bool is_wide = major >= kHopper || (major == 8 && minor != 0) || major < 6;
  return is_wide ? 128 : 64;
}

// Dot products of bytes that a multiprocessor starts per cycle: half as many as an H200 starts
// multiply-adds, by measurements (devices/cuda_sm90.toml), as many as one of 64 lanes does.
constexpr double kDotsPerCycle = 64;

std::vector<DotRate> byte_dots(int generation, double gigahertz) {
  std::vector<DotRate> dots;
  for (const DotOp &op : dot_ops())
    if (has_dp4a(generation) && size_bytes(op.a) == 1)
      dots.push_back({&op, 2 * op.products * kDotsPerCycle * gigahertz});
  return dots;
}

int attribute(const DriverApi &api, cuda::Attribute which, int device) {
  int value = 0;
  cuda::check(api, api.cuDeviceGetAttribute(&value, which, device), "cuDeviceGetAttribute");
  return value;
}

CudaDeviceInfo describe(const DriverApi &api, int number) {
  int device = 0;
  cuda::check(api, api.cuDeviceGet(&device, number), "cuDeviceGet");
  std::array<char, 256> name{};
  cuda::check(api, api.cuDeviceGetName(name.data(), static_cast<int>(name.size()) - 1, device),
              "cuDeviceGetName");
  CudaDeviceInfo info{.number = number, .name = name.data()};
  info.major = attribute(api, cuda::kMajor, device);
  info.minor = attribute(api, cuda::kMinor, device);
  info.multiprocessors = attribute(api, cuda::kMultiprocessors, device);
  info.max_threads = attribute(api, cuda::kMaxThreadsPerBlock, device);
  info.shared_bytes = attribute(api, cuda::kMaxSharedPerBlock, device);
  info.l2_bytes = attribute(api, cuda::kL2Bytes, device);
  info.clock_khz = attribute(api, cuda::kClockKhz, device);
  info.memory_clock_khz = attribute(api, cuda::kMemoryClockKhz, device);
  info.memory_bus_bits = attribute(api, cuda::kMemoryBusBits, device);
  return info;
}

} // namespace

std::string CudaDeviceInfo::selector() const { return fmt::format("cuda:{}", number); }

std::string CudaDeviceInfo::arch() const {
  return fmt::format("sm_{}{}{}", major, minor, major >= kHopper ? "a" : "");
}

std::vector<CudaDeviceInfo> cuda_devices(const DriverApi &api) {
  int count = 0;
  cuda::check(api, api.cuDeviceGetCount(&count), "cuDeviceGetCount");
  std::vector<CudaDeviceInfo> devices;
  for (int number = 0; number < count; ++number)
    devices.push_back(describe(api, number));
  return devices;
}

Target target_of(const CudaDeviceInfo &info, const std::vector<Target> &rows) {
  const int generation = 10 * info.major + info.minor;
  Target target = nearest_row(generation, rows);
  target.features = of_generation(target.features, generation);
  target.name = fmt::format("{}{}{}", kRowPrefix, info.major, info.minor);
  target.isa = info.arch();
  target.compute_units = info.multiprocessors;
  target.max_group = info.max_threads;
  target.local_bytes = info.shared_bytes;
  target.l2_bytes = info.l2_bytes;
  if (info.clock_khz > 0)
    target.gflops_per_unit =
        2e-6 * info.clock_khz * lanes_per_multiprocessor(info.major, info.minor);
  target.dots = byte_dots(generation, info.clock_khz > 0 ? 1e-6 * info.clock_khz : kAssumedGhz);
  if (info.memory_clock_khz > 0 && info.memory_bus_bits > 0)
    target.gbytes_per_s = 2e-6 * info.memory_clock_khz * info.memory_bus_bits / 8;
  return target;
}

} // namespace tilefuse::runtime
