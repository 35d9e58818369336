// SPDX-License-Identifier: Apache-2.0
#include "program/precision/quantize.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"
#include "base/index.h"
#include "program/drop_dead.h"
#include "program/precision/quantize_choice.h"
#include "program/rewrite/rewriter.h"

namespace tilefuse::program {
namespace {

constexpr double kMost = 127; // symmetric: -128 is not used

double scale_of(double largest) { return largest > 0 ? largest / kMost : 1; }

// The value in multiples of the scale.
Expr quantize(Expr value, double scale) {
  const auto number = [](double v) { return constant(v, DType::F32); };
  Expr steps = call(ScalarOp::Round, {call(ScalarOp::Mul, {std::move(value), number(1 / scale)})});
  return cast(
      call(ScalarOp::Max, {call(ScalarOp::Min, {std::move(steps), number(kMost)}), number(-kMost)}),
      DType::I8);
}

Expr dequantize(Expr value, double scale) {
  return call(ScalarOp::Mul, {cast(std::move(value), DType::F32), constant(scale, DType::F32)});
}

// Dimensions of weights that are an index of the result alone: each of their points has a scale.
struct ChannelDim {
  std::size_t in_weights = 0;
  std::size_t in_result = 0;
};

std::vector<ChannelDim> channel_dims(const Program &program, const Statement &statement,
                                     const Access &weights) {
  const auto &body = std::get<Contraction>(statement.body);
  std::vector<ChannelDim> found;
  for (std::size_t i = 0; i < body.indices.size(); ++i)
    for (std::size_t w = 0; w < weights.subscripts.size(); ++w)
      for (std::size_t r = 0; r < body.out.size(); ++r) {
        const auto users = std::count_if(weights.subscripts.begin(), weights.subscripts.end(),
                                         [&](const Affine &a) { return uses(a, i); });
        if (users == 1 && is_index(weights.subscripts[w], i) && is_index(body.out[r], i) &&
            program[weights.tensor].shape[w] == program[statement.out].shape[r])
          found.push_back({w, r});
      }
  return found;
}

class Quantizing {
public:
  Quantizing(const Program &program, const std::vector<double> &largest)
      : choice_(choose_quantized(program)), largest_(largest), result_{.program = program} {
    result_.kept = choice_.kept;
    for (std::size_t t = 0; t < choice_.group.size(); ++t)
      if (choice_.group[t] >= 0) {
        double &most = most_[choice_.group[t]];
        most = std::max(most, largest_.at(t));
      }
  }

  Quantized run() {
    const std::vector<Statement> statements = std::move(result_.program.statements);
    for (std::size_t t = 0; t < choice_.group.size(); ++t)
      if (choice_.group[t] >= 0) {
        result_.program.tensors[t].type = DType::I8;
        ++result_.activations;
      }
    for (std::size_t s = 0; s < statements.size(); ++s)
      convert(statements[s], choice_.weights[s]);
    result_.program.statements = std::move(converted_);
    result_.program = drop_dead(result_.program);
    verify(result_.program);
    return std::move(result_);
  }

private:
  const Tensor &tensor(TensorId id) const { return result_.program[id]; }
  bool is_whole(TensorId id) const {
    return at(id) < choice_.group.size() && choice_.group[at(id)] >= 0;
  }
  // Of a tensor that lies in i8.
  double scale(TensorId id) const { return scale_of(most_.at(choice_.group[at(id)])); }

  void convert(Statement statement, int weights) {
    if (weights >= 0)
      return multiply(std::move(statement), weights);
    if (auto *map = std::get_if<Map>(&statement.body))
      convert(*map, statement.out);
    else if (auto *view = std::get_if<View>(&statement.body))
      view->in = like(view->in, statement.out);
    else if (sums_integers(statement))
      return add(std::move(statement));
    else
      convert(std::get<Contraction>(statement.body), statement.out);
    converted_.push_back(std::move(statement));
  }

  void convert(Map &map, TensorId out) {
    map.expr = in_f32(map.expr, map);
    if (is_whole(out))
      map.expr = quantize(std::move(map.expr), scale(out));
  }

  // What only moves values does so in its result's type, the rest reads f32.
  void convert(Contraction &body, TensorId out) {
    const bool moves = body.comb == Comb::None;
    for (Access &access : body.in)
      access.tensor = moves ? like(access.tensor, out) : as_f32(access.tensor);
    if (body.init)
      body.init = like(*body.init, out);
  }

  // The tensor in the type, and with the scale, of another.
  TensorId like(TensorId id, TensorId other) {
    return is_whole(other) ? as_i8(id, scale(other)) : as_f32(id);
  }

  bool sums_integers(const Statement &statement) const {
    const auto *body = std::get_if<Contraction>(&statement.body);
    return body != nullptr && body->agg == Agg::Sum && body->comb == Comb::None && !body->init &&
           is_whole(body->in[0].tensor) && !is_whole(statement.out);
  }

  // Reads i8, sums in i32, scales.
  void add(Statement statement) {
    const double step = scale(std::get<Contraction>(statement.body).in[0].tensor);
    const TensorId out = statement.out;
    const TensorId sum = sum_of(statement);
    converted_.push_back(std::move(statement));
    converted_.push_back({out, Map{dequantize(operand(0, DType::I32), step), {sum}}, "int8"});
  }

  // Makes the statement one of i32 and returns its result.
  TensorId sum_of(Statement &statement) {
    Tensor sum = tensor(statement.out);
    sum.type = DType::I32;
    sum.role = Role::Temporary;
    statement.out = result_.program.add(std::move(sum));
    return statement.out;
  }

  void multiply(Statement statement, int weights) {
    ++result_.products;
    auto &body = std::get<Contraction>(statement.body);
    Access &data = body.in[at(1 - weights)];
    Access &filter = body.in[at(weights)];
    const double step =
        is_whole(data.tensor) ? scale(data.tensor) : scale_of(largest_.at(at(data.tensor)));
    const TensorId out = statement.out;
    const TensorId scales = quantize_weights(statement, filter, step);
    data.tensor = as_i8(data.tensor, step);
    const std::string origin = statement.origin;
    const TensorId sum = sum_of(statement);
    converted_.push_back(std::move(statement));
    Expr value =
        call(ScalarOp::Mul, {cast(operand(0, DType::I32), DType::F32), operand(1, DType::F32)});
    if (is_whole(out))
      value = quantize(std::move(value), scale(out));
    converted_.push_back({out, Map{std::move(value), {sum, scales}}, origin});
  }

  // Replaces the weights by integers; a constant that broadcasts to the result: what its sums of
  // products count in.
  TensorId quantize_weights(const Statement &statement, Access &access, double step) {
    const Tensor from = tensor(access.tensor);
    const std::vector<ChannelDim> dims = channel_dims(result_.program, statement, access);
    Shape shape(tensor(statement.out).shape.size(), 1);
    for (const ChannelDim &dim : dims)
      shape[dim.in_result] = from.shape[dim.in_weights];
    const Shape strides = row_major(shape), in_weights = row_major(from.shape);
    const auto channel = [&](std::int64_t element) {
      std::int64_t place = 0;
      for (const ChannelDim &dim : dims)
        place += element / in_weights[dim.in_weights] % from.shape[dim.in_weights] *
                 strides[dim.in_result];
      return static_cast<std::size_t>(place);
    };
    std::vector<double> scales(static_cast<std::size_t>(elems(shape)), 0);
    const std::int64_t count = elems(from.shape);
    const auto value = [&](std::int64_t i) {
      return load_element(from.data->data(), from.type, i);
    };
    for (std::int64_t i = 0; i < count; ++i)
      scales[channel(i)] = std::max(scales[channel(i)], std::fabs(value(i)));
    for (double &scale : scales)
      scale = scale_of(scale);
    Bytes bytes(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i)
      store_element(bytes.data(), DType::I8, i, std::nearbyint(value(i) / scales[channel(i)]));
    result_.weight_bytes += count;
    result_.f32_weight_bytes += count * size_bytes(from.type);
    access.tensor = add_constant(from.name, DType::I8, from.shape, std::move(bytes));
    Bytes floats(scales.size() * sizeof(float));
    for (std::size_t i = 0; i < scales.size(); ++i)
      store_element(floats.data(), DType::F32, static_cast<std::int64_t>(i), scales[i] * step);
    return add_constant(from.name + ".scale", DType::F32, std::move(shape), std::move(floats));
  }

  TensorId add_constant(const std::string &name, DType type, Shape shape, Bytes bytes) {
    return result_.program.add({.name = name,
                                .type = type,
                                .shape = std::move(shape),
                                .role = Role::Constant,
                                .data = std::make_shared<const Bytes>(std::move(bytes))});
  }

  // The expression computed in f32 as before, its leaves read from integers.
  Expr in_f32(const Expr &expr, const Map &map) const {
    if (expr.kind == Expr::Kind::Operand) {
      const TensorId id = map.operands[at(expr.operand)];
      return is_whole(id) ? dequantize(operand(expr.operand, DType::I8), scale(id)) : expr;
    }
    Expr copy = expr;
    for (Expr &arg : copy.args)
      arg = in_f32(arg, map);
    return copy;
  }

  TensorId as_i8(TensorId id, double step) {
    return is_whole(id) ? id : converted(id, DType::I8, step);
  }
  TensorId as_f32(TensorId id) { return is_whole(id) ? converted(id, DType::F32, scale(id)) : id; }

  // The same tensor in another type, by a statement of its own; once per scale.
  TensorId converted(TensorId id, DType type, double step) {
    const auto [known, is_new] = others_.try_emplace({id, step});
    if (!is_new)
      return known->second;
    Tensor to = tensor(id);
    Expr value = type == DType::I8 ? quantize(operand(0, to.type), step)
                                   : dequantize(operand(0, to.type), step);
    to.type = type;
    to.role = Role::Temporary;
    to.data.reset();
    to.data_hash.clear();
    known->second = result_.program.add(std::move(to));
    converted_.push_back({known->second, Map{std::move(value), {id}}, "int8"});
    return known->second;
  }

  const QuantizeChoice choice_;
  const std::vector<double> &largest_;
  std::map<int, double> most_; // largest magnitude of a group
  Quantized result_;
  std::vector<Statement> converted_;
  std::map<std::pair<TensorId, double>, TensorId> others_;
};

} // namespace

std::vector<TensorId> tensors_to_calibrate(const Program &program) {
  const QuantizeChoice choice = choose_quantized(program);
  std::vector<bool> needed(program.tensors.size(), false);
  for (std::size_t t = 0; t < needed.size(); ++t)
    needed[t] = choice.group[t] >= 0;
  for (std::size_t s = 0; s < program.statements.size(); ++s)
    if (choice.weights[s] >= 0) {
      const auto &body = std::get<Contraction>(program.statements[s].body);
      needed[at(body.in[at(1 - choice.weights[s])].tensor)] = true;
    }
  std::vector<TensorId> found;
  for (std::size_t t = 0; t < needed.size(); ++t)
    if (needed[t])
      found.push_back(TensorId{static_cast<int>(t)});
  return found;
}

Quantized quantized(const Program &program, const std::vector<double> &largest) {
  TILEFUSE_CHECK(largest.size() == program.tensors.size(), "a magnitude for every tensor");
  return Quantizing(program, largest).run();
}

std::string summary(const Quantized &quantized) {
  return fmt::format("precision int8: {} products in 8-bit integers ({:.1f} MB of weights instead "
                     "of {:.1f}), {} activations stored in them, {} products kept in f32\n",
                     quantized.products, static_cast<double>(quantized.weight_bytes) * 1e-6,
                     static_cast<double>(quantized.f32_weight_bytes) * 1e-6, quantized.activations,
                     quantized.kept.size());
}

std::string to_text(const Quantized &quantized) {
  std::string text = summary(quantized);
  for (const std::string &kept : quantized.kept)
    text += "  f32: " + kept + "\n";
  return text;
}

} // namespace tilefuse::program
