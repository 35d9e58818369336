// SPDX-License-Identifier: Apache-2.0
// What a run trains, and where it lies: all parameters in one pool of rows of kRow floats, each from
// the beginning of a row on, so that one kernel updates them all; statistics of normalisations come last.
// Gradients, and the statistics of a batch, lie in a second pool at the same places; so does what an
// optimiser keeps.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "onnx/import.h"
#include "train/recipe.h"

namespace tilefuse::train {

inline constexpr std::int64_t kRow = 1024; // floats; keeps every parameter aligned for any device

struct PooledParameter {
  onnx_import::Parameter parameter;
  std::int64_t row = 0;
  std::int64_t rows = 0;

  std::int64_t elems() const { return program::elems(parameter.shape); }
  std::int64_t offset() const { return row * kRow * 4; } // bytes
  std::int64_t bytes() const { return elems() * 4; }
};

struct ParameterPool {
  std::vector<PooledParameter> entries;
  std::int64_t rows = 0;
  std::int64_t trained = 0; // rows that have a gradient, the first

  std::int64_t bytes() const { return rows * kRow * 4; }
};

// Those of a model's parameters that the recipe trains: names that match `train` and not `freeze`,
// of the last layers where it says how many; statistics of the normalisations among them unless
// these are frozen. Error{Shape} names a pattern that nothing matches, or a model of which nothing
// is left to train, Error{Unsupported} one that is quantised.
std::vector<onnx_import::Parameter> chosen(const onnx_import::Model &model,
                                           const Recipe::Parameters &recipe);

// Rows that one of several workers updates; behind the pool's there are some that are nobody's.
struct RowRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
};
RowRange own_rows(const ParameterPool &pool, int workers, int rank);

ParameterPool make_pool(std::vector<onnx_import::Parameter> parameters);

// "59 parameters of 269722 numbers in 20 layers, 19 normalisations at training".
std::string summary(const ParameterPool &pool);
// A line that names float tensors of the model that are not trained and keep their numbers; empty
// where there are none.
std::string left_text(const std::vector<onnx_import::Parameter> &left);

} // namespace tilefuse::train
