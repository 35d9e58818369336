// SPDX-License-Identifier: Apache-2.0
// Nests whose inputs hold elements at the ends of their types, by the schedule that search picks.
#pragma once

#include <cstdint>
#include <utility>

#include "base/index.h"
#include "model/oracle/kernel_case.h"
#include "search/pick.h"

namespace tilefuse::model {

// `value_at(type, element)` is what an input of the type holds there.
template <class ValueAt>
KernelCase extreme_case(const nest::Nest &nest, const Target &target, const ValueAt &value_at) {
  KernelCase made{.group = {nest}, .schedule = search::pick(nest, target), .target = target};
  for (const nest::Operand &input : nest.inputs) {
    const nest::Slot &slot = nest.slots[input.slot];
    program::Bytes bytes(at(slot.elems * size_bytes(slot.type)));
    for (std::int64_t i = 0; i < slot.elems; ++i)
      store_element(bytes.data(), slot.type, i, value_at(slot.type, i));
    made.given[input.slot] = std::move(bytes);
  }
  return made;
}

} // namespace tilefuse::model
