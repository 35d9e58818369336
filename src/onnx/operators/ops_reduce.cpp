// SPDX-License-Identifier: Apache-2.0
// Reductions over any set of axes, as one reduction of [outer, axis, inner] per run of neighbouring
// axes.
#include "onnx/operators/ops_reduce.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "onnx/operators.h"

namespace tilefuse::onnx_import {
namespace {

// The Tile functions for the first run of axes, for each further one, and for the result of all
// (empty: nothing).
struct Reduction {
  std::string_view name;
  const char *first;
  const char *next;
  const char *finish;
};

constexpr Reduction kReductions[] = {
    {"l1", "reduce_l1", "reduce_sum", ""},
    {"l2", "reduce_sum_square", "reduce_sum", "sqrt"},
    {"log_sum", "reduce_sum", "reduce_sum", "log"},
    {"log_sum_exp", "reduce_log_sum_exp", "reduce_log_sum_exp", ""},
    {"max", "reduce_max", "reduce_max", ""},
    {"mean", "reduce_mean", "reduce_mean", ""},
    {"min", "reduce_min", "reduce_min", ""},
    {"prod", "reduce_prod", "reduce_prod", ""},
    {"sum", "reduce_sum", "reduce_sum", ""},
    {"sum_square", "reduce_sum_square", "reduce_sum", ""},
};

const Reduction &find_reduction(const std::string &name) {
  const auto *found = std::find_if(std::begin(kReductions), std::end(kReductions),
                                   [&](const Reduction &row) { return row.name == name; });
  TILEFUSE_CHECK(found != std::end(kReductions), "a reduction without a row");
  return *found;
}

// By dimension: whether it is reduced.
std::vector<bool> reduced_axes(const Call &call, std::size_t rank) {
  const Ints axes = call.list("axes", 1);
  const bool is_noop = call.flag("noop_with_empty_axes", false);
  const bool all = axes.empty() && !is_noop;
  std::vector<bool> reduced(rank, all);
  for (const std::int64_t axis : axes)
    reduced[call.resolve_axis(axis, rank)] = true;
  return reduced;
}

// Dimensions [begin, end) become 1.
Value reduce_run(const Call &call, const Value &value, std::size_t begin, std::size_t end,
                 const char *function) {
  const program::Shape &shape = value.shape;
  const Value view =
      call.reshape(value, {elems_between(shape, 0, begin), elems_between(shape, begin, end),
                           elems_between(shape, end, shape.size())});
  program::Shape reduced = shape;
  std::fill(reduced.begin() + static_cast<std::ptrdiff_t>(begin),
            reduced.begin() + static_cast<std::ptrdiff_t>(end), 1);
  return call.reshape(call.apply(function, {view}), reduced);
}

// Whether the reduction of one element is that element.
bool is_plain(const Reduction &reduction) {
  return std::string_view(reduction.first) == reduction.next && !*reduction.finish;
}

// Mean and maximum over a picture, in the form that keeps its channels apart.
bool is_picture(const Value &value, const std::vector<bool> &reduced) {
  return value.shape.size() == 4 && reduced == std::vector<bool>{false, false, true, true};
}

Value reduce_runs(const Call &call, const Reduction &reduction, const Value &input,
                  const std::vector<bool> &reduced) {
  Value result = input;
  const char *function = reduction.first;
  for (std::size_t begin = 0; begin < reduced.size(); ++begin) {
    if (!reduced[begin])
      continue;
    std::size_t end = begin;
    while (end < reduced.size() && reduced[end])
      ++end;
    result = reduce_run(call, result, begin, end, function);
    function = reduction.next;
    begin = end;
  }
  if (*reduction.finish)
    result = call.apply(reduction.finish, {result});
  return result.type == input.type ? result : call.apply("cast_like", {result, input});
}

} // namespace

Value mean_over(const Call &call, const Value &value, const std::vector<bool> &reduced) {
  return reduce_runs(call, find_reduction("mean"), value, reduced);
}

void import_reduce(Call &call) {
  const Value &input = call.value(0);
  const std::string name = call.function();
  const std::vector<bool> reduced = reduced_axes(call, input.shape.size());
  const bool keeps_dims = call.flag("keepdims", true);
  const Reduction &reduction = find_reduction(name);
  if (std::find(reduced.begin(), reduced.end(), true) == reduced.end()) {
    const Value whole = call.reshape(input, {1, 1, program::elems(input.shape)});
    call.result(is_plain(reduction)
                    ? input
                    : call.reshape(call.apply("reduce_" + name, {whole}), input.shape));
    return;
  }
  Value result;
  if (is_picture(input, reduced) && name == "mean")
    result = call.apply("global_average_pool2d", {input});
  else if (is_picture(input, reduced) && name == "max")
    result = call.apply("global_max_pool2d", {input});
  else
    result = reduce_runs(call, reduction, input, reduced);
  if (keeps_dims) {
    call.result(result);
    return;
  }
  program::Shape shape;
  for (std::size_t i = 0; i < reduced.size(); ++i)
    if (!reduced[i])
      shape.push_back(input.shape[i]);
  call.result(call.reshape(result, shape));
}

} // namespace tilefuse::onnx_import
