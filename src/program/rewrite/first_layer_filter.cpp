// SPDX-License-Identifier: Apache-2.0
#include "program/rewrite/first_layer_filter.h"

#include <optional>

#include "base/index.h"
#include "program/rewrite/convolution.h"
#include "program/rewrite/rows_of_taps.h"

namespace tilefuse::program {
namespace {

// Of a convolution's result along each spatial dimension.
Shape extents_of(const Convolution &conv, const Program &program, const Access &result) {
  Shape extents;
  for (const Spatial &spatial : conv.spatial)
    for (std::size_t d = 0; d < result.subscripts.size(); ++d)
      if (!result.subscripts[d].coeff[at(spatial.output)].is_zero())
        extents.push_back(program[result.tensor].shape[d]);
  return extents;
}

// Of few images the roles of filter and error could be exchanged: windows are the smaller ones.
bool is_worth_it(const Convolution &conv, const Program &program, const Shape &results) {
  if (program[conv.data].shape[conv.image_in_data] <= kMostTapChannels)
    for (std::size_t k = 0; k < conv.spatial.size(); ++k)
      if (program[conv.filter].shape[conv.spatial[k].in_filter] > results[k])
        return false;
  return program[conv.data].shape[conv.channel_in_data] <= kMostTapChannels &&
         conv.spatial.back().window.dilation == 1;
}

// [m, row…, column, row beside, channel] → the filter.
Contraction taken_from(const RowsOfTaps &rows, TensorId parts) {
  Contraction body{.agg = Agg::Assign, .in = {{parts, {}}}};
  const std::size_t rank = rows.filter_parts().size();
  for (std::size_t d = 0; d < rank; ++d) {
    body.indices.push_back("d" + std::to_string(d));
    body.in[0].subscripts.push_back(sum_of(rank, {{d, 1}}));
  }
  body.out = rows.filter_subscripts();
  return body;
}

} // namespace

bool sum_over_runs(Program &program, std::vector<Statement> &statements, const Statement &statement,
                   const Casts &casts) {
  const auto *gradient = std::get_if<Contraction>(&statement.body);
  if (gradient == nullptr || gradient->in.size() != 2)
    return false;
  const Access &error = gradient->in[0], &data = gradient->in[1];
  const DType type = program[data.tensor].type;
  if (!suits_matrix_units(program, type) || program[error.tensor].type != type)
    return false;
  Contraction forward = *gradient;
  forward.in = {data, {statement.out, gradient->out}};
  forward.out = error.subscripts;
  const std::optional<Convolution> conv = as_convolution(forward);
  if (!conv)
    return false;
  const Shape results = extents_of(*conv, program, error);
  if (!is_worth_it(*conv, program, results))
    return false;
  const RowsOfTaps rows(program, statements, *conv, results);
  const TensorId pixels = rows.store_pixels(
      {.from = before_cast(casts, data.tensor), .before = {}, .made = {}, .origin = {}},
      statement.origin);
  Contraction wide = rows.over_runs(forward, pixels, statement.out);
  Access to = std::move(wide.in[1]);
  wide.in = {{error.tensor, std::move(wide.out)}, std::move(wide.in[0])};
  wide.out = std::move(to.subscripts);
  Tensor filter = program[statement.out];
  filter.role = Role::Temporary;
  filter.shape = rows.filter_shape();
  const TensorId runs = program.add(filter);
  statements.push_back({runs, std::move(wide), statement.origin});
  filter.shape = rows.filter_parts();
  const TensorId parts = program.add(std::move(filter));
  statements.push_back({parts, View{runs}, statement.origin});
  statements.push_back({statement.out, taken_from(rows, parts), statement.origin + " filter"});
  return true;
}

} // namespace tilefuse::program
