// SPDX-License-Identifier: Apache-2.0
// Time of two products with rows between them (schedule/mma/row_products.h). A block copies, then
// multiplies, evaluates and multiplies again, one after the other; blocks of a multiprocessor do so
// beside each other. With the rates of other kernels with mma; not fitted to times of its own.
#pragma once

#include "cost/demand.h"
#include "cost/estimate.h"
#include "schedule/resolved.h"
#include "target/target.h"

namespace tilefuse::cost {

// What cost::predict and cost::demands say of a group with rows.
Estimate predict_rows(const schedule::Resolved &resolved, const Target &target);
Demands row_demands(const schedule::Resolved &resolved, const Target &target);

} // namespace tilefuse::cost
