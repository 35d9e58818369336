// SPDX-License-Identifier: Apache-2.0
// Nests of maps and copies.
#pragma once

#include <vector>

#include "nest/flatten/flat_statement.h"

namespace tilefuse::nest {

// One nest, or none when the result has no elements.
std::vector<FlatStatement> flatten_map(const program::StoredProgram &stored,
                                       const program::Map &map,
                                       const program::Statement &statement);
// Copies `from` into the statement's result, of the same shape.
std::vector<FlatStatement> flatten_copy(const program::StoredProgram &stored,
                                        program::TensorId from,
                                        const program::Statement &statement);

} // namespace tilefuse::nest
