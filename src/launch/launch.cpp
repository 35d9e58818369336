// SPDX-License-Identifier: Apache-2.0
#include "launch/launch.h"

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

} // namespace tilefuse::launch
