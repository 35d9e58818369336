// SPDX-License-Identifier: Apache-2.0
// A program run by its definition, one index tuple after the other, in double precision: the
// reference that operator tests compare with. For small programs whose every index is bounded by a
// subscript or constraint of its own.
#pragma once

#include <string>
#include <vector>

#include "program/program.h"
#include "tile/tile.h"

namespace tilefuse::test {

// Elements of every tensor, by TensorId. `inputs` are the elements of program.inputs in order.
std::vector<std::vector<double>> interpret(const program::Program &program,
                                           const std::vector<std::vector<double>> &inputs);

struct Values {
  program::Shape shape;
  std::vector<double> data;
  DType type = DType::F32;
};

// The operator library of the repository.
const tile::Library &library();

// A verified program of one operator.
program::Program operator_program(const std::string &function, const std::vector<Values> &inputs,
                                  const tile::Attributes &attributes);

// The first result of an operator of the library on values.
Values run_operator(const std::string &function, const std::vector<Values> &inputs,
                    const tile::Attributes &attributes = {});

// Small integers that differ from element to element, some negative.
Values numbers(const program::Shape &shape, int seed = 1);
// 0, 1, 2, …
Values counted(const program::Shape &shape);

} // namespace tilefuse::test
