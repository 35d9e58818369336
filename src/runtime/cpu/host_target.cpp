// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpu/host_target.h"

#include <unistd.h>

#include <array>
#include <fstream>
#include <span>

#include <fmt/format.h>

#include "base/error.h"
#include "runtime/cpu/host_ceilings.h"

namespace tilefuse::runtime {
namespace {

// A constant, so that the target and cache keys do not change with the clock.
constexpr double kAssumedGhz = 3.0;

struct Feature {
  const char *name;
  bool present;
};

std::string missing(std::span<const Feature> features) {
  std::string names;
  for (const Feature &feature : features)
    if (!feature.present)
      names += (names.empty() ? "" : ", ") + std::string(feature.name);
  return names;
}

#if defined(__x86_64__)
std::string missing_for_avx2() {
  __builtin_cpu_init();
  const std::array<Feature, 6> needed = {{{"AVX2", __builtin_cpu_supports("avx2") != 0},
                                          {"FMA", __builtin_cpu_supports("fma") != 0},
                                          {"F16C", __builtin_cpu_supports("f16c") != 0},
                                          {"BMI", __builtin_cpu_supports("bmi") != 0},
                                          {"BMI2", __builtin_cpu_supports("bmi2") != 0},
                                          {"LZCNT", __builtin_cpu_supports("lzcnt") != 0}}};
  return missing(needed);
}

bool has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}

// The LLVM feature of dot products of bytes, or nothing.
std::string byte_dots(bool wide) {
  if (wide)
    return __builtin_cpu_supports("avx512vnni") ? "+avx512vnni" : "";
  return __builtin_cpu_supports("avxvnni") ? "+avxvnni" : "";
}
#else
std::string byte_dots(bool) { return {}; }
std::string missing_for_avx2() { return "the x86-64 instruction set"; }
bool has_avx512() { return false; }
#endif

// Giga-operations of dot products: a multiply-add of words and the addition that follows share
// ports, of which 256-bit vectors have one more; with bytes one instruction does both.
double gops_of(const DotOp &op, const Target &target, bool has_bytes) {
  const bool wide = target.vector_f32 == 16;
  const double times = has_bytes ? op.products : (wide ? 1 : 1.5);
  return times * target.gflops_per_unit;
}

} // namespace

Target host_target(int threads) {
  if (const std::string absent = missing_for_avx2(); !absent.empty())
    throw Error(ErrorCode::Device, fmt::format("this processor lacks {}", absent), "cpu",
                {"the cpu device needs x86-64 with AVX2, FMA and F16C; try --device opencl"});
  Target target;
  const bool wide = has_avx512();
  const std::string bytes = byte_dots(wide);
  target.name = wide ? "cpu_avx512" : "cpu_avx2";
  target.backend = "llvm";
  target.isa =
      fmt::format("{}{}{}", wide ? "x86-64-v4" : "x86-64-v3", bytes.empty() ? "" : ";", bytes);
  target.lanes = LaneKind::Vector;
  target.vector_f32 = wide ? 16 : 8;
  target.vector_registers = wide ? 32 : 16;
  target.compute_units = threads;
  target.l1_bytes = cache_bytes(_SC_LEVEL1_DCACHE_SIZE, 32 << 10);
  target.l2_bytes = cache_bytes(_SC_LEVEL2_CACHE_SIZE, 512 << 10);
  target.local_bytes = target.l2_bytes / 2;
  // Two fused multiply-adds per cycle.
  target.gflops_per_unit = target.vector_f32 * 4 * kAssumedGhz;
  target.features = {tilefuse::Feature::PrefetchHints};
  for (const DotOp &op : dot_ops())
    if (op.products == 2 || !bytes.empty())
      target.dots.push_back({&op, gops_of(op, target, !bytes.empty())});
  return target;
}

std::string processor_name(const Target &target, int threads) {
  std::string model = "x86-64";
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const std::size_t colon = line.find(": ");
    if (!line.starts_with("model name") || colon == std::string::npos)
      continue;
    model = line.substr(colon + 2);
    break;
  }
  return fmt::format("{} ({} {}, {})", model, threads, threads == 1 ? "thread" : "threads",
                     target.vector_f32 == 16 ? "AVX-512" : "AVX2");
}

} // namespace tilefuse::runtime
