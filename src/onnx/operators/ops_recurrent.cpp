// SPDX-License-Identifier: Apache-2.0
// RNN, GRU and LSTM, unrolled over the sequence, whose length is known. The products of all inputs
// are one; those of the state follow step by step.
#include <fmt/format.h>

#include "onnx/operators.h"
#include "onnx/operators/ops_slice.h"

namespace tilefuse::onnx_import {
namespace {

// The sizes of a node and where its results gather.
struct Layer {
  std::int64_t steps = 0, batch = 0, inputs = 0, hidden = 0;
  std::int64_t gates = 1; // 1, 3, 4
  std::int64_t directions = 1;
};

// One direction: weights [gates * hidden, …], biases [gates * hidden], and the state.
struct Direction {
  Value sums; // of inputs and both biases, [steps, batch, gates * hidden]
  Value recurrent;
  Value recurrent_bias; // of the last gate
  Value state, cell;    // [batch, hidden]
  Value peephole;       // [3 * hidden]; of an LSTM that has one
  std::vector<std::string> activations;
  bool is_reverse = false;
};

Value first_of(const Call &call, const Value &value, std::int64_t at) {
  const Value part = take_range(call, value, 0, at, 1);
  return call.reshape(part, {part.shape.begin() + 1, part.shape.end()});
}

Value zeros(const Call &call, const program::Shape &shape, DType type) {
  call.make_elems(call.elems(shape), type);
  return make_constant(program::make_host_tensor({}, type, shape));
}

std::string function_of(const Call &call, const std::string &activation) {
  static constexpr std::pair<const char *, const char *> kFunctions[] = {{"Relu", "relu"},
                                                                         {"Sigmoid", "sigmoid"},
                                                                         {"Softplus", "softplus"},
                                                                         {"Softsign", "softsign"},
                                                                         {"Tanh", "tanh"}};
  for (const auto &[theirs, ours] : kFunctions)
    if (activation == theirs)
      return ours;
  call.fail(ErrorCode::Unsupported, "activation " + activation + " is not supported");
}

// The columns of gate `gate` of [batch, gates * hidden].
Value gate_of(const Call &call, const Value &value, std::int64_t gate, std::int64_t hidden) {
  return take_range(call, value, value.shape.size() - 1, gate * hidden, hidden);
}

Value weighted_state(const Call &call, const Value &state, const Value &weights) {
  return call.apply("gemm_nt", {state, weights});
}

void step_rnn(const Call &call, const Layer &, Direction &d, const Value &sums) {
  const Value total = call.apply("add", {sums, weighted_state(call, d.state, d.recurrent)});
  d.state = call.apply(d.activations[0], {total});
}

// Gates z, r, h.
void step_gru(const Call &call, const Layer &layer, Direction &d, const Value &sums) {
  const std::int64_t hidden = layer.hidden;
  const Value both = take_range(call, d.recurrent, 0, 0, 2 * hidden);
  const Value last = take_range(call, d.recurrent, 0, 2 * hidden, hidden);
  const Value zr =
      call.apply(d.activations[0], {call.apply("add", {take_range(call, sums, 1, 0, 2 * hidden),
                                                       weighted_state(call, d.state, both)})});
  const Value z = gate_of(call, zr, 0, hidden), r = gate_of(call, zr, 1, hidden);
  const bool is_linear = call.flag("linear_before_reset", false);
  Value old;
  if (is_linear)
    old = call.apply(
        "mul", {r, call.apply("add", {weighted_state(call, d.state, last), d.recurrent_bias})});
  else
    old = call.apply(
        "add", {weighted_state(call, call.apply("mul", {r, d.state}), last), d.recurrent_bias});
  const Value h =
      call.apply(d.activations[1], {call.apply("add", {gate_of(call, sums, 2, hidden), old})});
  const Value change = call.apply("mul", {z, call.apply("sub", {d.state, h})});
  d.state = call.apply("add", {h, change});
}

// Gates i, o, f, c.
void step_lstm(const Call &call, const Layer &layer, Direction &d, const Value &sums) {
  const std::int64_t hidden = layer.hidden;
  const Value total = call.apply("add", {sums, weighted_state(call, d.state, d.recurrent)});
  const auto gate = [&](std::int64_t at, std::int64_t peephole, const Value &cell) {
    Value value = gate_of(call, total, at, hidden);
    if (peephole >= 0 && !d.peephole.shape.empty())
      value = call.apply(
          "add", {value, call.apply("mul", {gate_of(call, d.peephole, peephole, hidden), cell})});
    return call.apply(d.activations[at == 3 ? 1 : 0], {value});
  };
  const Value kept = call.apply("mul", {gate(2, 2, d.cell), d.cell});
  const Value added = call.apply("mul", {gate(0, 0, d.cell), gate(3, -1, d.cell)});
  d.cell = call.apply("add", {kept, added});
  d.state = call.apply("mul", {gate(1, 1, d.cell), call.apply(d.activations[2], {d.cell})});
}

using Step = void (*)(const Call &, const Layer &, Direction &, const Value &);

Layer layer_of(const Call &call, const Value &input, std::int64_t gates) {
  const Value &weights = call.value(1);
  if (input.shape.size() != 3 || weights.shape.size() != 3 || weights.shape[1] % gates != 0 ||
      weights.shape[0] != (call.text("direction", "forward") == "bidirectional" ? 2 : 1))
    call.fail(ErrorCode::Shape, fmt::format("input {} and weights {} do not match",
                                            to_text(input.shape), to_text(weights.shape)));
  constexpr std::int64_t kMostSteps = 1024;
  if (input.shape[0] > kMostSteps)
    call.fail(ErrorCode::Unsupported,
              fmt::format("its sequence has {} steps; at most {} are unrolled; onnxruntime runs "
                          "such a node",
                          input.shape[0], kMostSteps));
  return {input.shape[0],           input.shape[1], input.shape[2],
          weights.shape[1] / gates, gates,          weights.shape[0]};
}

// A recurrence whose bias of the state is added to the state's product, not to the sums.
bool keeps_last_bias(const Layer &layer) { return layer.gates == 3; }

Direction direction_of(const Call &call, const Layer &layer, const Value &input,
                       const std::vector<std::string> &activations, std::int64_t at) {
  Direction d;
  const std::int64_t rows = layer.gates * layer.hidden;
  const std::size_t each = activations.size() / static_cast<std::size_t>(layer.directions);
  for (std::size_t i = 0; i < each; ++i)
    d.activations.push_back(
        function_of(call, activations[static_cast<std::size_t>(at) * each + i]));
  const std::string word = call.text("direction", "forward");
  d.is_reverse = word == "reverse" || (word == "bidirectional" && at == 1);
  d.recurrent = first_of(call, call.value(2), at);
  const Value flat = call.reshape(input, {layer.steps * layer.batch, layer.inputs});
  Value sums = call.apply("gemm_nt", {flat, first_of(call, call.value(1), at)});
  const Value biases =
      call.has(3) ? first_of(call, call.value(3), at) : zeros(call, {2 * rows}, input.type);
  const Value own = take_range(call, biases, 0, 0, rows);
  Value theirs = take_range(call, biases, 0, rows, rows);
  if (keeps_last_bias(layer)) {
    d.recurrent_bias = gate_of(call, theirs, layer.gates - 1, layer.hidden);
    theirs = call.apply("window",
                        {call.reshape(take_range(call, theirs, 0, 0, rows - layer.hidden),
                                      {1, rows - layer.hidden, 1})},
                        {{"SIZE", rows}});
    theirs = call.reshape(theirs, {rows});
  }
  sums = call.apply("add", {sums, call.apply("add", {own, theirs})});
  d.sums = call.reshape(sums, {layer.steps, layer.batch, rows});
  return d;
}

// Operand `i`, a state per direction, for one of them.
Value initial(const Call &call, const Layer &layer, std::size_t i, std::int64_t at, bool by_batch) {
  if (!call.has(i))
    return zeros(call, {layer.batch, layer.hidden}, call.value(0).type);
  const Value &value = call.value(i);
  return call.reshape(take_range(call, value, by_batch ? 1 : 0, at, 1),
                      {layer.batch, layer.hidden});
}

void check_lengths(const Call &call, const Layer &layer) {
  if (!call.has(4))
    return;
  for (const std::int64_t length : call.bounded_ints(4, "sequence_lens"))
    if (length != layer.steps)
      call.fail(ErrorCode::Unsupported, "sequences of different lengths are not supported");
}

// The input as [steps, batch, inputs].
Value turned_input(const Call &call, bool by_batch) {
  return by_batch ? call.apply("transpose3", {call.value(0)}, {{"A0", 1}, {"A1", 0}, {"A2", 2}})
                  : call.value(0);
}

// Results [steps, directions, batch, hidden] or, by batch, [batch, steps, directions, hidden].
Value turned(const Call &call, const Value &value, bool by_batch) {
  if (!by_batch)
    return value;
  return value.shape.size() == 4
             ? call.apply("transpose4", {value}, {{"A0", 2}, {"A1", 0}, {"A2", 1}, {"A3", 3}})
             : call.apply("transpose3", {value}, {{"A0", 1}, {"A1", 0}, {"A2", 2}});
}

// Steps, each [1, 1, batch, hidden], in the order of the sequence; the state is that after the last.
Value unroll(const Call &call, const Layer &layer, Step step, Direction &d) {
  std::vector<Value> states(static_cast<std::size_t>(layer.steps));
  for (std::int64_t t = 0; t < layer.steps; ++t) {
    const std::int64_t now = d.is_reverse ? layer.steps - 1 - t : t;
    step(call, layer, d, first_of(call, d.sums, now));
    states[static_cast<std::size_t>(now)] =
        call.reshape(d.state, {1, 1, layer.batch, layer.hidden});
  }
  return put_together(call, states, 0);
}

// What each direction's activations are, by default those of the operator.
std::vector<std::string> activations_of(const Call &call, const Layer &layer,
                                        const std::vector<std::string> &defaults) {
  std::vector<std::string> activations = call.words("activations");
  while (activations.size() < defaults.size() * static_cast<std::size_t>(layer.directions))
    activations.push_back(defaults[activations.size() % defaults.size()]);
  return activations;
}

// The node: `step` changes a direction's state by one step's sums.
void import_recurrent(Call &call, std::int64_t gates, Step step,
                      const std::vector<std::string> &defaults) {
  const bool by_batch = call.flag("layout", false);
  const Value input = turned_input(call, by_batch);
  const Layer layer = layer_of(call, input, gates);
  check_lengths(call, layer);
  const std::vector<std::string> activations = activations_of(call, layer, defaults);
  std::vector<Value> all, states, cells;
  const program::Shape last{1, layer.batch, layer.hidden};
  for (std::int64_t at = 0; at < layer.directions; ++at) {
    Direction d = direction_of(call, layer, input, activations, at);
    d.state = initial(call, layer, 5, at, by_batch);
    if (gates == 4)
      d.cell = initial(call, layer, 6, at, by_batch);
    if (gates == 4 && call.has(7))
      d.peephole = first_of(call, call.value(7), at);
    all.push_back(unroll(call, layer, step, d));
    states.push_back(call.reshape(d.state, last));
    if (gates == 4)
      cells.push_back(call.reshape(d.cell, last));
  }
  call.result(turned(call, put_together(call, all, 1), by_batch));
  call.result(turned(call, put_together(call, states, 0), by_batch), 1);
  if (gates == 4)
    call.result(turned(call, put_together(call, cells, 0), by_batch), 2);
}

} // namespace

void import_rnn(Call &call) { import_recurrent(call, 1, step_rnn, {"Tanh"}); }
void import_gru(Call &call) { import_recurrent(call, 3, step_gru, {"Sigmoid", "Tanh"}); }
void import_lstm(Call &call) { import_recurrent(call, 4, step_lstm, {"Sigmoid", "Tanh", "Tanh"}); }

} // namespace tilefuse::onnx_import
