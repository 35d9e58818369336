// SPDX-License-Identifier: Apache-2.0
// Whose addresses kernels of a target can be given: what runtime::Device::wrap takes.
#pragma once

#include "target/target.h"

namespace tilefuse {

enum class AddressSpace {
  None, // memory objects of a driver, which have no address
  Host,
  Cuda
};

AddressSpace address_space(const Target &target);

} // namespace tilefuse
