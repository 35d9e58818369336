// SPDX-License-Identifier: Apache-2.0
#include "target/address_space.h"

namespace tilefuse {

AddressSpace address_space(const Target &target) {
  if (target.backend == "llvm")
    return AddressSpace::Host;
  return target.backend == "cuda" ? AddressSpace::Cuda : AddressSpace::None;
}

} // namespace tilefuse
