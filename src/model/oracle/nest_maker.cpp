// SPDX-License-Identifier: Apache-2.0
#include "model/oracle/nest_maker.h"

#include <numeric>

#include "base/index.h"
#include "nest/integer/interval.h"

namespace tilefuse::model {
namespace {

using nest::Operand;
using program::Expr;

} // namespace

NestMaker::NestMaker(Random &random, std::string name, DType type) : random_(random), type_(type) {
  nest_.name = std::move(name);
  nest_.acc_type = accumulator_type(type);
  nest_.post = program::acc(nest_.acc_type);
}

int NestMaker::output(const std::string &name, std::int64_t extent) {
  ++nest_.output_indices;
  return reduced(name, extent);
}

int NestMaker::reduced(const std::string &name, std::int64_t extent) {
  nest_.indices.push_back({name, extent});
  return static_cast<int>(nest_.indices.size()) - 1;
}

std::int64_t NestMaker::extent(int index) const { return nest_.indices[at(index)].extent; }

Operand NestMaker::operand(const std::vector<Subscript> &dims, DType type, bool constant) {
  Operand operand{.slot = nest_.slots.next_id(), .constant = constant};
  operand.dims.resize(dims.size());
  std::vector<std::size_t> order(dims.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  random_.shuffle(order.begin(), order.end());
  std::int64_t elems = 1;
  for (auto d = order.rbegin(); d != order.rend(); ++d) {
    nest::Dim &dim = operand.dims[*d];
    dim.at.constant = dims[*d].constant;
    dim.at.coeff.assign(nest_.indices.size(), 0);
    for (const auto &[i, coeff] : dims[*d].terms)
      dim.at.coeff[at(i)] += coeff;
    dim.size = dims[*d].size;
    dim.stride = elems;
    const nest::Interval range = nest::range_of(dim.at, nest_.indices);
    dim.guarded = range.lo < 0 || range.hi >= dim.size;
    elems *= dim.size + (random_.chance(15) ? random_.between(1, 3) : 0);
  }
  operand.offset = random_.chance(15) ? random_.between(1, 5) : 0;
  nest_.slots.push_back({type, elems + operand.offset});
  return operand;
}

void NestMaker::input(const std::vector<Subscript> &dims, bool constant) {
  nest_.inputs.push_back(operand(dims, type_, constant));
}

void NestMaker::out(const std::vector<Subscript> &dims, DType type) {
  nest_.out = operand(dims, type);
}

Expr NestMaker::extra(const std::vector<Subscript> &dims, bool constant) {
  const DType type = random_.chance(70) ? type_ : DType::F32;
  const DType allowed = is_float(type_) ? type : type_;
  nest_.extras.push_back(operand(dims, allowed, constant));
  return program::operand(static_cast<int>(nest_.extras.size()) - 1, allowed);
}

Expr NestMaker::step(const Expr &value, const std::vector<Subscript> &out_dims) {
  using program::call;
  using program::constant;
  const DType type = value.type;
  switch (random_.between(0, is_float(type) ? 12 : 7)) {
  case 0:
    return call(ScalarOp::Max, {value, constant(0, type)});
  case 1:
    return call(ScalarOp::Add,
                {value, out_dims.empty() ? constant(2, type) : extra({out_dims.front()}, true)});
  case 2:
    return call(ScalarOp::Add, {value, extra(out_dims, false)});
  case 3:
    return call(ScalarOp::Min, {value, constant(6, type)});
  case 4:
    return call(ScalarOp::Mul, {value, constant(3, type)});
  case 5:
    return call(ScalarOp::Sub, {extra(out_dims, false), value});
  case 6:
    return call(ScalarOp::Abs, {value});
  case 7:
    return call(ScalarOp::Select, {call(ScalarOp::Gt, {value, constant(0, type)}), value,
                                   call(ScalarOp::Neg, {value})});
  case 8:
    return call(ScalarOp::Tanh, {value});
  case 9:
    return call(ScalarOp::Div, {value, constant(3, type)});
  case 10:
    return call(ScalarOp::Sqrt, {call(ScalarOp::Abs, {value})});
  case 11:
    return call(ScalarOp::Exp, {call(ScalarOp::Min, {value, constant(2, type)})});
  default:
    return call(ScalarOp::Erf, {value});
  }
}

void NestMaker::add_post(const std::vector<Subscript> &out_dims) {
  for (std::int64_t left = random_.between(0, 3); left > 0; --left)
    nest_.post = step(nest_.post, out_dims);
}

} // namespace tilefuse::model
