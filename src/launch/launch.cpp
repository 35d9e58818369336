// SPDX-License-Identifier: Apache-2.0
#include "launch/launch.h"

#include <algorithm>

namespace tilefuse::launch {

std::string_view to_string(Place place) {
  switch (place) {
  case Place::Blocks:
    return "blocks";
  case Place::Dealt:
    return "dealt";
  case Place::Between:
    return "between";
  case Place::InStep:
    return "in step";
  case Place::Following:
    return "following";
  }
  return {};
}

bool is_map(const Part &part) { return part.placed.group.anchor.inputs.empty(); }

Launch unplaced(const Launch &launch) {
  Launch alike = launch;
  for (Part &part : alike.parts)
    std::fill(part.placed.buffers.begin(), part.placed.buffers.end(), program::BufferId{0});
  return alike;
}

} // namespace tilefuse::launch
