// SPDX-License-Identifier: Apache-2.0
// Which tensors a limit of memory has computed again, and why (model/plan/waiting.h).
//
//   again      MB  freed     us  us/MB  reason                     nodes
//   yes     205.5  205.5   71.4   0.35  cheapest of 31      Relu relu1
//   no      102.8  102.8  310.2   3.02  enough is free  Conv conv4
#pragma once

#include <cstddef>
#include <span>

#include "model/plan/waiting.h"
#include "report/table.h"

namespace tilefuse::report {

// What is computed again in the order of the choices, then what is kept; of the kept `most`.
Table waiting_table(std::span<const model::WaitingTensor> tensors, std::size_t most);

} // namespace tilefuse::report
