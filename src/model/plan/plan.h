// SPDX-License-Identifier: Apache-2.0
// The `plan` level: launches in order, every buffer at its place, every constant in the form its
// kernels read.
//
//   plan
//   weights 4941824 bytes
//   activations 3211264 bytes, 1404928 shared
//   constant 0 at 0 packed launch 3 input 1 f32[36864]
//   buffer 7 at 602112 f32[200704] live 0..4
//   launch 0 conv_f32_… buffers 2 7 constants 0
//
// Inputs, outputs and buffers that rely on zeros have memory of their own; the rest share one arena
// by lifetime. `aside before 20`: the launch runs beside those up to number 19, which therefore leave
// alone what it reads and writes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launch/arguments.h"
#include "model/compiled.h"
#include "schedule/members.h"

namespace tilefuse::model {

// Whether a buffer shares memory with others by lifetime.
bool is_shared(const program::Buffer &buffer);

struct PlacedBuffer {
  bool is_used = false;
  bool is_shared = false;  // lies in the arena, alive from first_launch to last_launch
  std::int64_t offset = 0; // bytes, in the activations memory
  std::int64_t bytes = 0;
  int first_launch = 0;
  int last_launch = 0;
};

// A constant as a kernel reads it: a buffer's elements as they are, or packed for one argument of a
// launch.
struct PlannedConstant {
  program::BufferId buffer{};
  int launch = -1;         // packed: as this launch reads it
  launch::Argument packed; // which of its arguments
  DType type = DType::F32; // elements in device memory
  std::int64_t elems = 0;
  std::int64_t offset = 0; // bytes, in the weights memory
};

// One argument of a launch: a constant's number, or a buffer.
struct PlannedArgument {
  int constant = -1;
  program::BufferId buffer{};
};

struct Plan {
  std::vector<PlacedBuffer> buffers; // by BufferId
  std::vector<PlannedConstant> constants;
  std::vector<std::vector<PlannedArgument>> launches; // arguments by launch
  std::int64_t weight_bytes = 0;
  std::int64_t activation_bytes = 0;
  std::int64_t arena_begin = 0; // where the shared part of the activations begins
};

// Offsets are multiples of `alignment` bytes.
Plan make_plan(const Compiled &compiled, std::int64_t alignment);

std::string to_text(const Plan &plan, const Compiled &compiled);

} // namespace tilefuse::model
