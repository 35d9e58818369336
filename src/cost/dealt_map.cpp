// SPDX-License-Identifier: Apache-2.0
#include "cost/dealt_map.h"

#include <algorithm>

#include "base/index.h"
#include "nest/index.h"

namespace tilefuse::cost {
namespace {

constexpr double kItems = 96; // of a block
constexpr double kOwnRegisters = 16;
constexpr double kRegisterBytes = 4;

// That the points of a map touch: a broadcast operand's own elements.
double bytes_of(const nest::Nest &map, const nest::Operand &operand) {
  double points = 1;
  for (const nest::IndexId i : map.indices.ids())
    points *= moves(operand, i) ? static_cast<double>(extent(map, i)) : 1;
  return points * static_cast<double>(size_bytes(type_of(map, operand)));
}

} // namespace

double dealt_map_seconds(const nest::Nest &dealt, const schedule::Schedule &first,
                         const Target &target) {
  double read = 0;
  for (const nest::Operand &extra : dealt.extras)
    read += bytes_of(dealt, extra);
  const double under_way =
      std::max(kRegisterBytes,
               kRegisterBytes * (static_cast<double>(first.roles.load.registers) - kOwnRegisters));
  const double blocks = static_cast<double>(
      first.tiles.persistent > 0 ? first.tiles.persistent : std::max(1, target.compute_units));
  const double latency = target.rates.tensor_copy_latency_cycles / target.rates.wgmma_clock_hz;
  return read * latency / (blocks * kItems * under_way);
}

} // namespace tilefuse::cost
