// SPDX-License-Identifier: Apache-2.0
// What a kernel is generated for: limits, features and rates of one device, as a value that prints
// and hashes. A row comes from devices/*.toml (target/device_rows.h); what the driver or the
// processor reports overrides it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "target/dot_ops.h"
#include "target/features.h"
#include "target/rates.h"

namespace tilefuse {

// Where the lanes of a schedule live: elements of an explicit vector inside one work-item, or
// work-items of a group.
enum class LaneKind { Vector, WorkItem };

struct Target {
  std::string name;    // "cpu_avx2", "opencl_gpu"
  std::string backend; // "llvm", "opencl" or "cuda"
  std::string isa; // LLVM: processor name and features, "znver3;+avx2,+fma"; OpenCL: "CL1.2"; CUDA:
                   // "sm_90a"
  std::string compiler; // that builds kernels, with its version: "NVRTC 13.0"; "": whichever
  LaneKind lanes = LaneKind::Vector;
  int vector_f32 = 8; // elements of the widest vector (Vector), or the usual group size (WorkItem)
  int vector_registers = 16;    // per thread; for WorkItem 32-bit registers per lane
  int max_group = 1;            // work-items per group at most
  int compute_units = 1;        // cores, or multiprocessors
  std::int64_t local_bytes = 0; // scratch that one block may use
  bool local_is_hw = false;     // scratch is faster than global memory
  std::int64_t local_banks = 0; // of 4 bytes; 0: scratch is ordinary memory
  int warp = 1;                 // work-items that run in lockstep
  int sector_bytes = 64;        // smallest piece of global memory that moves
  int vector_align = 1;         // bytes; a vector access is aligned to its size or to this, if less
  std::int64_t l1_bytes = 32 << 10;
  std::int64_t l2_bytes = 512 << 10;
  double gflops_per_unit = 100; // fp32, measured or computed
  double gbytes_per_s = 20;     // main memory
  double launch_us = 2;
  bool fp16_storage = true; // half loads and stores convert to float
  bool fp16_math = false;
  bool fp64 = true;
  Features features;
  std::vector<DotRate> dots; // dot products that it has, in the order of their table
  std::string rates_like;    // the row that the rates are of; "": none are stated
  Rates rates;

  friend bool operator==(const Target &, const Target &) = default;
};

inline bool has(const Target &target, Feature feature) { return target.features.contains(feature); }
// The rate of a dot product; null where the target has no such instruction.
const DotRate *find_dot(const Target &target, const DotOp &op);

// A member of a Target under its name, in text and in devices/*.toml. Rates are not among them.
using TargetMember = std::variant<std::string Target::*, LaneKind Target::*, int Target::*,
                                  std::int64_t Target::*, double Target::*, bool Target::*,
                                  Features Target::*, std::vector<DotRate> Target::*>;
struct TargetField {
  std::string_view key;
  TargetMember member;
};
// In declaration order.
std::span<const TargetField> target_fields();

std::string_view to_string(LaneKind kind);
std::optional<LaneKind> parse_lane_kind(std::string_view name);
// One `key value` per line, in declaration order; exact, so that it can be hashed into cache keys.
// Rates are named "rates.KEY", and left out where none are stated.
std::string to_text(const Target &target);
Target parse_target(std::string_view text, const std::string &file = "<target>");

} // namespace tilefuse
