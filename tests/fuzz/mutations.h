// SPDX-License-Identifier: Apache-2.0
// Compiler faults, planted one at a time: rewrites of what lowering is given, or of the kernel that
// it gives. The net of random cases has to catch every one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernel/nodes.h"
#include "model/oracle/kernel_case.h"

namespace tilefuse::fuzz {

struct Mutation {
  std::string name;
  // Changes the group or schedule that is lowered; false where the fault has no place.
  bool (*of_case)(model::KernelCase &) = nullptr;
  // Or: the kernel with the fault; nothing where it has no place.
  std::optional<kernel::Kernel> (*of_kernel)(const kernel::Kernel &) = nullptr;
};

const std::vector<Mutation> &mutations();
// Faults of kernels with matrix instructions, which take cases of their own.
const std::vector<Mutation> &core_mutations();
// Of kernels with wgmma.
const std::vector<Mutation> &wgmma_mutations();

// The kernel of a case compiled with the fault in it; nothing where the fault has no place.
std::optional<kernel::Kernel> compile_with(const Mutation &mutation,
                                           const model::KernelCase &original);

} // namespace tilefuse::fuzz
