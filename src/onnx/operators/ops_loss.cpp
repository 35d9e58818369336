// SPDX-License-Identifier: Apache-2.0
// Losses, and the optimisers of ai.onnx.preview.training.
#include <cmath>

#include <fmt/format.h>

#include "onnx/operators.h"
#include "onnx/operators/along_axis.h"

namespace tilefuse::onnx_import {
namespace {

Value sum_of(const Call &call, const Value &value) {
  const Value row = call.reshape(value, {1, program::elems(value.shape), 1});
  return call.reshape(call.apply("reduce_sum", {row}), {});
}

Value ones(const Call &call, std::int64_t count, DType type) {
  call.make_elems(count, type);
  program::HostTensor tensor = program::make_host_tensor({}, type, {count});
  for (std::int64_t i = 0; i < count; ++i)
    program::set(tensor, i, 1);
  return make_constant(std::move(tensor));
}

void check_scores(const Call &call, const Value &scores) {
  if (scores.shape.size() < 2)
    call.fail(ErrorCode::Shape, fmt::format("its input has shape {}; need a batch and classes",
                                            to_text(scores.shape)));
}

// The losses of log-probabilities [N, C, …] against classes [N, …], reduced as the node says.
Value nll_loss(const Call &call, const Value &logs) {
  check_scores(call, logs);
  const std::int64_t batch = logs.shape[0], classes = logs.shape[1];
  const std::int64_t each = elems_between(logs.shape, 2, logs.shape.size());
  const Value target = call.reshape(call.value(1), {batch, each});
  const Value by_class = call.has(2) ? call.value(2) : ones(call, classes, logs.type);
  const Value weights = call.has_attribute("ignore_index")
                            ? call.apply("nll_weight_ignore", {target, by_class},
                                         {{"IGNORE", call.integer("ignore_index", 0)}})
                            : call.apply("nll_weight", {target, by_class});
  const Value view = call.reshape(logs, {batch, classes, each});
  const Value losses = call.apply("nll", {view, target, weights});
  const std::string reduction = call.text("reduction", "mean");
  if (reduction == "none")
    return call.reshape(losses, call.value(1).shape);
  const Value total = sum_of(call, losses);
  return reduction == "sum" ? total : call.apply("div", {total, sum_of(call, weights)});
}

// The step's number T as a constant, and its size R.
double step(const Call &call) { return call.number(1, "update count"); }

// Operand `i` of those that come once per optimised tensor, for tensor k.
const Value &per_tensor(const Call &call, std::size_t i, std::size_t k, std::size_t each) {
  const std::size_t count = (call.inputs() - 2) / each;
  return call.value(2 + i * count + k);
}

std::size_t tensors(const Call &call, std::size_t each) {
  if (call.inputs() < 2 + each || (call.inputs() - 2) % each != 0)
    call.fail(ErrorCode::Io, fmt::format("it has {} operands", call.inputs()));
  return (call.inputs() - 2) / each;
}

// The results of tensor k, in groups by kind.
void results(Call &call, const std::vector<Value> &made, std::size_t k, std::size_t count) {
  for (std::size_t i = 0; i < made.size(); ++i)
    call.result(made[i], i * count + k);
}

Value step_size(const Call &call, double factor) {
  const Value &rate = call.value(0);
  return call.apply("mul", {call.reshape(rate, {}), scalar_constant(factor, rate.type)});
}

} // namespace

void import_nll_loss(Call &call) { call.result(nll_loss(call, call.value(0))); }

void import_softmax_loss(Call &call) {
  const Value &scores = call.value(0);
  check_scores(call, scores);
  const Value logs = apply_along(call, "log_softmax", scores, 1);
  call.result(nll_loss(call, logs));
  call.result(logs, 1);
}

void import_adagrad(Call &call) {
  const std::size_t count = tensors(call, 3);
  const double decay = call.real("decay_factor", 0);
  const Value rate = step_size(call, decay == 0 ? 1 : 1 / (1 + step(call) * decay));
  for (std::size_t k = 0; k < count; ++k)
    results(
        call,
        call.apply_all(
            "adagrad",
            {per_tensor(call, 0, k, 3), per_tensor(call, 1, k, 3), per_tensor(call, 2, k, 3), rate},
            {{"NORM", call.real("norm_coefficient", 0)}, {"EPSILON", call.real("epsilon", 1e-6)}}),
        k, count);
}

void import_adam(Call &call) {
  const std::size_t count = tensors(call, 4);
  const double alpha = call.real("alpha", 0.9), beta = call.real("beta", 0.999);
  const double t = step(call);
  const Value rate =
      step_size(call, t > 0 ? std::sqrt(1 - std::pow(beta, t)) / (1 - std::pow(alpha, t)) : 1);
  for (std::size_t k = 0; k < count; ++k)
    results(call,
            call.apply_all("adam",
                           {per_tensor(call, 0, k, 4), per_tensor(call, 1, k, 4),
                            per_tensor(call, 2, k, 4), per_tensor(call, 3, k, 4), rate},
                           {{"NORM", call.real("norm_coefficient", 0)},
                            {"ALPHA", alpha},
                            {"BETA", beta},
                            {"EPSILON", call.real("epsilon", 1e-6)},
                            {"POST", call.real("norm_coefficient_post", 0)}}),
            k, count);
}

void import_momentum(Call &call) {
  const std::size_t count = tensors(call, 3);
  const bool is_nesterov = call.text("mode", "standard") == "nesterov";
  const double beta = step(call) > 0 ? call.real("beta", 1) : 1;
  const Value rate = step_size(call, 1);
  for (std::size_t k = 0; k < count; ++k)
    results(call,
            call.apply_all(is_nesterov ? "momentum_nesterov" : "momentum",
                           {per_tensor(call, 0, k, 3), per_tensor(call, 1, k, 3),
                            per_tensor(call, 2, k, 3), rate},
                           {{"NORM", call.real("norm_coefficient", 0)},
                            {"ALPHA", call.real("alpha", 0)},
                            {"BETA", beta}}),
            k, count);
}

} // namespace tilefuse::onnx_import
