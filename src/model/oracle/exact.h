// SPDX-License-Identifier: Apache-2.0
// Cases whose results are integers that every type on the way holds exactly, so that a kernel must
// reproduce the evaluator bit by bit in whatever order it adds.
#pragma once

#include "model/oracle/kernel_case.h"

namespace tilefuse::model {

bool is_exact(const KernelCase &kernel_case);

} // namespace tilefuse::model
