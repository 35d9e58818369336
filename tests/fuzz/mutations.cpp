// SPDX-License-Identifier: Apache-2.0
#include "fuzz/mutations.h"

#include <algorithm>

#include "base/error.h"
#include "base/index.h"
#include "fuzz/kernel_mutations.h"
#include "lower/pipeline.h"
#include "schedule/legal.h"

namespace tilefuse::fuzz {
namespace {

using model::KernelCase;
using nest::Nest;
using program::Expr;

Nest &nest_of(KernelCase &from) { return from.group.anchor; }

bool shift_padding(KernelCase &from) {
  for (nest::Operand &input : nest_of(from).inputs)
    for (nest::Dim &dim : input.dims)
      if (dim.guarded) {
        ++dim.at.constant;
        return true;
      }
  return false;
}

bool swap_strides(KernelCase &from) {
  for (nest::Operand &input : nest_of(from).inputs)
    for (std::size_t d = 1; d < input.dims.size(); ++d)
      if (input.dims[d].size > 1 && input.dims[d].size == input.dims[d - 1].size) {
        std::swap(input.dims[d].stride, input.dims[d - 1].stride);
        return true;
      }
  return false;
}

bool reverse_taps(KernelCase &from) {
  Nest &nest = nest_of(from);
  const auto outputs = static_cast<std::size_t>(nest.output_indices);
  for (nest::Operand &input : nest.inputs)
    for (nest::Dim &dim : input.dims)
      for (std::size_t i = outputs; i < nest.indices.size(); ++i)
        if (dim.at.coeff[i] != 0 && nest.indices[i].extent > 1) {
          dim.at.constant += dim.at.coeff[i] * (nest.indices[i].extent - 1);
          dim.at.coeff[i] = -dim.at.coeff[i];
          return true;
        }
  return false;
}

bool drop_constraint(KernelCase &from) {
  if (nest_of(from).constraints.empty())
    return false;
  nest_of(from).constraints.pop_back();
  return true;
}

Expr with_acc(const Expr &expr, const Expr &acc) {
  if (expr.kind == Expr::Kind::Acc)
    return program::cast(acc, expr.type);
  Expr result = expr;
  for (Expr &arg : result.args)
    arg = with_acc(arg, acc);
  return result;
}

bool post_twice(KernelCase &from) {
  Nest &nest = nest_of(from);
  if (nest.inputs.empty() || nest.post.kind == Expr::Kind::Acc)
    return false;
  nest.post = with_acc(nest.post, nest.post);
  return true;
}

bool bias_of_first_channel(KernelCase &from) {
  for (nest::Operand &extra : nest_of(from).extras)
    if (extra.dims.size() == 1) {
      std::fill(extra.dims[0].at.coeff.begin(), extra.dims[0].at.coeff.end(), 0);
      return true;
    }
  return false;
}

// The last point of an index belongs to no block.
bool lose_last_piece(KernelCase &from) {
  Nest &nest = nest_of(from);
  for (int i = 0; i < nest.output_indices; ++i)
    if (nest.indices[at(i)].extent > 1) {
      --nest.indices[at(i)].extent;
      return true;
    }
  return false;
}

// The last term of every sum is left out.
bool lose_last_term(KernelCase &from) {
  Nest &nest = nest_of(from);
  for (std::size_t i = static_cast<std::size_t>(nest.output_indices); i < nest.indices.size(); ++i)
    if (nest.indices[i].extent > 1) {
      --nest.indices[i].extent;
      from.schedule.splits[i].tile = nest.indices[i].extent;
      from.schedule.splits[i].keep = 1;
      return true;
    }
  return false;
}

// The loops read a packed constant in another order than the packer wrote it.
bool change_pack_order(KernelCase &from) {
  const std::vector<schedule::Fill> &fills = from.schedule.fills;
  const auto middle = from.schedule.order.begin() + nest_of(from).output_indices;
  if (std::find(fills.begin(), fills.end(), schedule::Fill::Packed) == fills.end() ||
      from.schedule.order.end() - middle < 2)
    return false;
  std::reverse(middle, from.schedule.order.end());
  return true;
}

bool wrong_aggregation(KernelCase &from) {
  Nest &nest = nest_of(from);
  if (nest.agg != program::Agg::Max)
    return false;
  nest.agg = program::Agg::Min;
  return true;
}

bool is_valid(const KernelCase &changed) {
  try {
    nest::verify(changed.group.anchor);
  } catch (const Error &) {
    return false;
  }
  return !schedule::illegal(changed.group.anchor, changed.schedule, changed.target);
}

} // namespace

const std::vector<Mutation> &mutations() {
  static const std::vector<Mutation> all = {
      {"padding off by one", shift_padding},
      {"strides of two dimensions swapped", swap_strides},
      {"taps walked backwards", reverse_taps},
      {"constraint dropped", drop_constraint},
      {"post-ops applied twice", post_twice},
      {"bias of the first channel for all", bias_of_first_channel},
      {"last piece of the result missing", lose_last_piece},
      {"last term of a sum missing", lose_last_term},
      {"constant packed in another order", change_pack_order},
      {"minimum for maximum", wrong_aggregation},
      {"barrier dropped", nullptr, drop_barriers},
      {"predicate of loads dropped", nullptr, drop_load_predicates},
      {"predicate of stores dropped", nullptr, drop_store_predicates},
      {"accumulator not reset", nullptr, drop_resets},
      {"padding filled with one", nullptr, wrong_fill},
      {"one lane too many at the edge", nullptr, widen_tails},
      {"full step where the last is partial", nullptr, drop_partial_steps},
      {"staged tile read with another swizzle", nullptr, swizzle_local_reads},
      {"lanes store in reverse", nullptr, reverse_lanes},
      {"vector read at twice its stride", nullptr, double_lane_stride},
      {"loop one trip short", nullptr, shorten_loops},
      {"lanes of a row left out", nullptr, drop_lane_rounds},
      {"lanes of a row combined without barriers", nullptr, join_lane_rounds},
  };
  return all;
}

const std::vector<Mutation> &core_mutations() {
  static const std::vector<Mutation> all = {
      {"matrices: barrier dropped", nullptr, drop_barriers},
      {"matrices: copies waited for too little", nullptr, wait_too_little},
      {"matrices: padding copied", nullptr, copy_unchecked},
      {"matrices: fragments turned the other way", nullptr, turn_fragments},
      {"matrices: fragments of the next chunk", nullptr, shift_fragments},
      {"matrices: predicate of stores dropped", nullptr, drop_store_predicates},
      {"matrices: accumulator not reset", nullptr, drop_resets},
      {"matrices: loop one trip short", nullptr, shorten_loops},
  };
  return all;
}

std::optional<kernel::Kernel> compile_with(const Mutation &mutation, const KernelCase &original) {
  if (mutation.of_kernel)
    return mutation.of_kernel(lower::lower(original.group, original.schedule, original.target));
  KernelCase changed = original;
  if (!mutation.of_case(changed) || !is_valid(changed))
    return {};
  return lower::lower(changed.group, changed.schedule, changed.target);
}

} // namespace tilefuse::fuzz
