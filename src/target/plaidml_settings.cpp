// SPDX-License-Identifier: Apache-2.0
#include "target/plaidml_settings.h"

#include <array>
#include <bit>

namespace tilefuse {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 40;

constexpr std::array<PlaidmlField, 7> kFields = {{
    {"threads", &PlaidmlSettings::threads, 1, 512, true, false, "a power of two from 1 to 512"},
    {"mem_width", &PlaidmlSettings::mem_width, 8, 4096, true, false,
     "a power of two from 8 to 4096"},
    {"max_mem", &PlaidmlSettings::max_mem, 1024, kMost, false, false,
     "an integer from 1024 to 2^40"},
    {"max_regs", &PlaidmlSettings::max_regs, 1, kMost, false, false, "an integer from 1 to 2^40"},
    {"goal_groups", &PlaidmlSettings::goal_groups, 1, kMost, false, false,
     "an integer from 1 to 2^40"},
    {"goal_flops_per_byte", &PlaidmlSettings::goal_flops_per_byte, 1, kMost, false, false,
     "an integer from 1 to 2^40"},
    {"vec_size", &PlaidmlSettings::vec_size, 1, 64, true, true, "a power of two from 1 to 64"},
}};

} // namespace

bool PlaidmlField::allows(std::int64_t number) const {
  return number >= lowest && number <= highest &&
         (!is_power_of_two || std::has_single_bit(static_cast<std::uint64_t>(number)));
}

std::span<const PlaidmlField> plaidml_fields() { return kFields; }

} // namespace tilefuse
