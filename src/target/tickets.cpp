// SPDX-License-Identifier: Apache-2.0
#include "target/tickets.h"

#include "target/nvidia.h"

namespace tilefuse {
namespace {

constexpr int kFirst = 70;

} // namespace

Tickets tickets(const Target &target) {
  if (target.lanes != LaneKind::WorkItem)
    return Tickets::None;
  if (nvidia_generation(target) >= kFirst)
    return Tickets::Nvidia;
  return target.isa.find(kDeviceAtomics) == std::string::npos ? Tickets::None : Tickets::Atomics;
}

} // namespace tilefuse
