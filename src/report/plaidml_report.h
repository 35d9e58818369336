// SPDX-License-Identifier: Apache-2.0
// A kernel explained as PlaidML v0 would have made it (cost/plaidml_*.h): flattening table, the log
// of the tiles that were tried, shared-memory layouts, threads, and the kernel's outline. Table,
// log and layouts have the form of PlaidML's article.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "cost/plaidml/plaidml_kernels.h"
#include "cost/plaidml/plaidml_search.h"
#include "report/layers.h"
#include "report/sections.h"

namespace tilefuse::report {

struct PlaidmlOptions {
  cost::plaidml::Settings settings;
  cost::plaidml::Walk walk = cost::plaidml::Walk::Fast;
  std::vector<cost::plaidml::Tile> tiles; // judged instead of searching, when not empty
  std::size_t log_entries = std::numeric_limits<std::size_t>::max();
  Sections sections;
};

// `number` is part of the kernel's name. Error{Shape} where a given tile does not fit the indices.
std::string explain_kernel(const cost::plaidml::Kernel &kernel, std::size_t number,
                           const PlaidmlOptions &options);

// All kernels of a program, which must outlive the result.
Explanation explain_with_plaidml(const program::Program &program, const PlaidmlOptions &options);

} // namespace tilefuse::report
