// SPDX-License-Identifier: Apache-2.0
// What a simulated kernel spent beside what the cost model takes it to spend.
#pragma once

#include <vector>

#include "cost/model.h"
#include "kernel/counts.h"
#include "kernel/nodes.h"

namespace tilefuse::report {

// One figure that both have.
struct Figure {
  const char *what = "";
  double simulated = 0;
  double predicted = 0;
  bool exact = false; // the model counts it, so any difference is one
};

// Of the blocks that ran: the model's figures of the whole grid are taken in proportion.
std::vector<Figure> compare_figures(const kernel::Counts &counts, const kernel::Kernel &kernel,
                                    const cost::Figures &model);

// Exact figures and those of which one is 0: at all; others by more than `factor`.
bool differs(const Figure &figure, double factor);

} // namespace tilefuse::report
