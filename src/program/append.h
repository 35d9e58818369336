// SPDX-License-Identifier: Apache-2.0
// One program behind another.
#pragma once

#include <span>
#include <vector>

#include "program/program.h"

namespace tilefuse::program {

// The statements of `from` behind those of `to`, reading `inputs`, tensors of `to` of the types and
// shapes of its own. Returns what its outputs are there.
std::vector<TensorId> append(Program &to, const Program &from, std::span<const TensorId> inputs);

} // namespace tilefuse::program
