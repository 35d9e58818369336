// SPDX-License-Identifier: Apache-2.0
// One kernel and data to try it on, as a value with a text: what the compiler's tests draw, what
// `verify` and `doctor` write when something is wrong and read to repeat it.
//
//   tilefuse case
//   --- target
//   name test_vector
//   …
//   --- group
//   group
//   anchor nest conv { … }
//   --- schedule
//   schedule sample vector
//   …
//   --- data integers 17
//
// Data are drawn from a seed: `integers` in [-4, 4], whose sums are exact in every type, or `reals`
// in [-1, 1). What a product over points reads is 1 or -1 and a few times 2, or within an eighth of
// those, so that a product of hundreds neither overflows nor underflows. `--- slot N` with the bytes
// of a slot in hexadecimal replaces what was drawn for it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "poly/group.h"
#include "program/program.h"
#include "schedule/schedule.h"
#include "target/target.h"

namespace tilefuse::model {

enum class Values { Integers, Reals };

struct KernelCase {
  poly::Group group;
  schedule::Schedule schedule;
  Target target;
  Values values = Values::Integers;
  std::uint64_t seed = 1;
  std::map<poly::SlotId, program::Bytes> given; // slots whose bytes are not drawn

  friend bool operator==(const KernelCase &, const KernelCase &) = default;
};

std::string to_text(const KernelCase &kernel_case);
// Throws Error{Syntax|Shape}; the schedule may be illegal.
KernelCase parse_case(std::string_view text, const std::string &file = "<case>");
// Does a file look like one?
bool is_case(std::string_view text);

// Bytes by slot. The out slot holds a value that no kernel of these data is likely to store, unless
// the nest reads it too.
std::vector<program::Bytes> make_slots(const KernelCase &kernel_case);

} // namespace tilefuse::model
