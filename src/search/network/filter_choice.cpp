// SPDX-License-Identifier: Apache-2.0
#include "search/network/filter_choice.h"

#include <span>
#include <utility>
#include <vector>

#include "program/rewrite/store_filters.h"
#include "search/network/program_price.h"

namespace tilefuse::search {

// Products as they are and with a copy of their own are priced side by side, on all threads; what a
// choice before them makes possible, a copy that is there, when it is asked for.
program::Program store_filters(const program::Program &program, const Target &target,
                               KeptChoices &kept) {
  std::vector<program::Program> foreseen;
  program::store_filters(program, [&](program::Program of_product) {
    foreseen.push_back(std::move(of_product));
    return 1.0; // no copy gains anything
  });
  predicted_seconds(foreseen, target, kept);
  return program::store_filters(program, [&](const program::Program &of_product) {
    return predicted_seconds(std::span(&of_product, 1), target, kept).front();
  });
}

} // namespace tilefuse::search
