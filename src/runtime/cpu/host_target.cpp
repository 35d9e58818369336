// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpu/host_target.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#endif
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "runtime/cpu/host_ceilings.h"

namespace tilefuse::runtime {
namespace {

// A constant, so that the target and cache keys do not change with the clock.
constexpr double kAssumedGhz = 3.0;
constexpr int kMaskedLanes = 16; // of f32, where registers are those of AVX-512

struct Feature {
  const char *name;
  bool present;
};

std::string missing(std::initializer_list<Feature> features) {
  std::string names;
  for (const Feature &feature : features)
    if (!feature.present)
      names += (names.empty() ? "" : ", ") + std::string(feature.name);
  return names;
}

#if defined(__x86_64__)
std::string missing_for_avx2() {
  return missing({{"AVX2", __builtin_cpu_supports("avx2") != 0},
                  {"FMA", __builtin_cpu_supports("fma") != 0},
                  {"F16C", __builtin_cpu_supports("f16c") != 0},
                  {"BMI", __builtin_cpu_supports("bmi") != 0},
                  {"BMI2", __builtin_cpu_supports("bmi2") != 0},
                  {"LZCNT", __builtin_cpu_supports("lzcnt") != 0}});
}

std::string missing_for_avx2_vnni() {
  const std::string other = missing_for_avx2();
  return other.empty() ? missing({{"AVX-VNNI", __builtin_cpu_supports("avxvnni") != 0}}) : other;
}

std::string missing_for_avx512() {
  const std::string other = missing_for_avx2();
  return other.empty() ? missing({{"AVX512F", __builtin_cpu_supports("avx512f") != 0},
                                  {"AVX512BW", __builtin_cpu_supports("avx512bw") != 0},
                                  {"AVX512CD", __builtin_cpu_supports("avx512cd") != 0},
                                  {"AVX512DQ", __builtin_cpu_supports("avx512dq") != 0},
                                  {"AVX512VL", __builtin_cpu_supports("avx512vl") != 0}})
                       : other;
}

std::string missing_for_avx512_vnni() {
  const std::string other = missing_for_avx512();
  return other.empty() ? missing({{"AVX512-VNNI", __builtin_cpu_supports("avx512vnni") != 0}})
                       : other;
}

// What a kernel touches of tiles, Linux keeps for a process only where it has been asked for (Linux
// 5.16, Documentation/arch/x86/xstate.rst); threads of later have it too.
bool may_use_tiles() {
  constexpr int kRequest = 0x1023; // ARCH_REQ_XCOMP_PERM
  constexpr int kTileData = 18;    // the state component
  static const bool is_granted = syscall(SYS_arch_prctl, kRequest, kTileData) == 0;
  return is_granted;
}

// Bits of leaf 7 of CPUID, register EDX.
bool has_tiles() {
  constexpr unsigned kTile = 1u << 24, kInt8 = 1u << 25;
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (edx & kTile) != 0 &&
         (edx & kInt8) != 0;
}

std::string missing_for_avx512_amx() {
  const std::string other = missing_for_avx512_vnni();
  if (!other.empty() || !has_tiles())
    return other.empty() ? "AMX-INT8" : other;
  return may_use_tiles() ? "" : "the system's permission to use AMX";
}

void detect() { __builtin_cpu_init(); }
#else
std::string missing_for_avx2() { return "the x86-64 instruction set"; }
std::string missing_for_avx2_vnni() { return missing_for_avx2(); }
std::string missing_for_avx512() { return missing_for_avx2(); }
std::string missing_for_avx512_vnni() { return missing_for_avx2(); }
std::string missing_for_avx512_amx() { return missing_for_avx2(); }
void detect() {}
#endif

struct Instructions {
  std::string_view name;
  std::string_view target;
  std::string_view isa; // LLVM's processor and features
  bool has_byte_dots;   // vpdpbusd
  bool has_row_dots;    // tdpbusd and its like
  int vector_f32;
  int vector_registers;
  std::string (*missing)();
};

// The best first.
constexpr Instructions kInstructions[] = {
    {"avx512_amx", "cpu_avx512", "x86-64-v4;+avx512vnni,+amx-tile,+amx-int8", true, true, 16, 32,
     missing_for_avx512_amx},
    {"avx512_vnni", "cpu_avx512", "x86-64-v4;+avx512vnni", true, false, 16, 32,
     missing_for_avx512_vnni},
    {"avx512", "cpu_avx512", "x86-64-v4", false, false, 16, 32, missing_for_avx512},
    {"avx2_vnni", "cpu_avx2", "x86-64-v3;+avxvnni", true, false, 8, 16, missing_for_avx2_vnni},
    {"avx2", "cpu_avx2", "x86-64-v3", false, false, 8, 16, missing_for_avx2},
};

const Instructions &instructions_named(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Instructions &row : kInstructions)
    names.push_back(row.name);
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
    throw Error(ErrorCode::Device, fmt::format("there are no instructions '{}', need {}", name,
                                               fmt::join(names, ", ")));
  return kInstructions[found - names.begin()];
}

// The row of that name, "" the best; checked to be this processor's.
const Instructions &usable(std::string_view name) {
  detect();
  const Instructions *row = name.empty() ? nullptr : &instructions_named(name);
  for (const Instructions &each : kInstructions)
    if (row == nullptr && each.missing().empty())
      row = &each;
  row = row == nullptr ? std::end(kInstructions) - 1 : row;
  if (const std::string absent = row->missing(); !absent.empty())
    throw Error(ErrorCode::Device, fmt::format("this processor lacks {}", absent), "cpu",
                {name.empty()
                     ? "the cpu device needs x86-64 with AVX2, FMA and F16C; try --device opencl"
                     : "device cpu takes the best instructions that it has"});
  return *row;
}

// Giga-operations of dot products: a multiply-add of words and the addition that follows share
// ports, of which 256-bit vectors have one more; with bytes one instruction does both. A matrix
// unit takes a row a cycle, where vectors take two multiply-adds.
double gops_of(const DotOp &op, const Target &target, bool has_bytes) {
  if (has_rows(op))
    return op.products * op.groups / 2.0 * target.gflops_per_unit;
  const bool wide = target.vector_f32 == 16;
  const double times = has_bytes ? op.products : (wide ? 1 : 1.5);
  return times * target.gflops_per_unit;
}

} // namespace

Target host_target(int threads, std::string_view instructions) {
  const Instructions &row = usable(instructions);
  Target target;
  target.name = row.target;
  target.backend = "llvm";
  target.isa = row.isa;
  target.lanes = LaneKind::Vector;
  target.vector_f32 = row.vector_f32;
  target.vector_registers = row.vector_registers;
  target.compute_units = threads;
  target.l1_bytes = cache_bytes(_SC_LEVEL1_DCACHE_SIZE, 32 << 10);
  target.l2_bytes = cache_bytes(_SC_LEVEL2_CACHE_SIZE, 512 << 10);
  target.local_bytes = target.l2_bytes / 2;
  // Two fused multiply-adds per cycle.
  target.gflops_per_unit = target.vector_f32 * 4 * kAssumedGhz;
  target.features = {tilefuse::Feature::PrefetchHints, tilefuse::Feature::SharedBlocks};
  if (target.vector_f32 == kMaskedLanes)
    target.features.insert(tilefuse::Feature::MaskedStores);
  const auto has = [&](const DotOp &op) {
    return has_rows(op) ? row.has_row_dots
                        : op.name == "dot2.s16.s16.s32" ||
                              (op.name == "dot4.u8.s8.s32" && row.has_byte_dots);
  };
  for (const DotOp &op : dot_ops())
    if (has(op))
      target.dots.push_back({&op, gops_of(op, target, row.has_byte_dots)});
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
