// SPDX-License-Identifier: Apache-2.0
#include "model/oracle/random_nest.h"

#include <array>
#include <functional>
#include <string>

#include "base/index.h"
#include "model/oracle/nest_maker.h"
#include "target/dtype_traits.h"

namespace tilefuse::model {
namespace {

using nest::Nest;
using program::Agg;
using program::Comb;

const std::array<std::string, 3> kSpace = {"z", "y", "x"};
const std::array<std::string, 3> kTap = {"q", "r", "s"};

// One spatial dimension of a window operation.
struct Window {
  std::int64_t taps = 1, stride = 1, dilation = 1, before = 0, after = 0, in = 1, out = 1;
};

Window random_window(Random &random, int rank) {
  Window w;
  w.taps = random.between(1, 3);
  w.stride = random.between(1, 3);
  w.dilation = random.between(1, 2);
  w.before = random.chance(60) ? random.between(0, w.taps) : 0;
  w.after = random.chance(60) ? random.between(0, w.taps) : 0;
  const std::int64_t reach = (w.taps - 1) * w.dilation + 1;
  w.in =
      rank == 3 ? random.of<std::int64_t>({1, 3, 5}) : random.of<std::int64_t>({1, 3, 5, 7, 8, 13});
  w.out = (w.in + w.before + w.after - reach) / w.stride + 1;
  if (w.in + w.before + w.after < reach)
    w.out = 1;
  return w;
}

// What is common to convolutions, their gradients and pooling.
struct Shape {
  std::int64_t images = 1, groups = 1, channels = 1, filters = 1; // of one group
  std::vector<Window> windows;
};

Shape random_shape(Random &random, bool pooling) {
  Shape shape;
  const int rank = static_cast<int>(random.of<std::int64_t>({2, 1, 2, 3}));
  shape.images = random.between(1, rank == 3 ? 1 : 2);
  shape.channels = pooling ? 1 : random.of<std::int64_t>({1, 3, 4, 7});
  shape.filters = pooling ? 1 : random.of<std::int64_t>({1, 2, 3, 5, 8, 17});
  shape.groups = random.of<std::int64_t>({1, 1, 2, 3, 8});
  if (pooling)
    shape.groups = random.of<std::int64_t>({1, 3, 8, 17});
  for (int d = 0; d < rank; ++d)
    shape.windows.push_back(random_window(random, rank));
  return shape;
}

DType out_type(Random &random, DType type) {
  if (is_float(type))
    return random.chance(80) ? type : DType::F32;
  return random.chance(50) ? type : DType::I32;
}

std::string letter(const std::array<std::string, 3> &names, std::size_t d, std::size_t rank) {
  return names.at(3 - rank + d);
}

Subscript through(const Window &w, int point, int tap) {
  return {{{point, w.stride}, {tap, w.dilation}}, -w.before, w.in};
}

Nest convolution(Random &random, DType type, bool depthwise) {
  Shape shape = random_shape(random, false);
  if (depthwise) {
    shape.groups = random.of<std::int64_t>({1, 3, 8, 17});
    shape.channels = 1;
    shape.filters = random.between(1, 2);
  }
  NestMaker make(random, depthwise ? "depthwise" : "conv", type);
  const std::size_t rank = shape.windows.size();
  const int n = make.output("n", shape.images);
  const int g = make.output("g", shape.groups);
  const int m = make.output("m", shape.filters);
  std::vector<int> points;
  std::vector<int> taps;
  for (std::size_t d = 0; d < rank; ++d)
    points.push_back(make.output(letter(kSpace, d, rank), shape.windows[d].out));
  const int c = make.reduced("c", shape.channels);
  for (std::size_t d = 0; d < rank; ++d)
    taps.push_back(make.reduced(letter(kTap, d, rank), shape.windows[d].taps));
  std::vector<Subscript> in = {make.whole(n),
                               {{{g, shape.channels}, {c, 1}}, 0, shape.channels * shape.groups}};
  std::vector<Subscript> filter = {make.whole(g), make.whole(m), make.whole(c)};
  std::vector<Subscript> out = {make.whole(m), make.whole(g), make.whole(n)};
  for (std::size_t d = 0; d < rank; ++d) {
    in.push_back(through(shape.windows[d], points[d], taps[d]));
    filter.push_back(make.whole(taps[d]));
    out.push_back(make.whole(points[d]));
  }
  make.nest().agg = Agg::Sum;
  make.nest().comb = Comb::Mul;
  make.input(in);
  make.input(filter, random.chance(75));
  make.out(out, out_type(random, type));
  make.add_post(out);
  return make.nest();
}

// One residue class of the gradient with respect to a strided convolution's input: every stride-th
// element is written, and taps run against the result.
Nest data_gradient(Random &random, DType type) {
  NestMaker make(random, "conv_dgrad", type);
  const std::int64_t stride = random.between(1, 3);
  const std::int64_t residue = random.between(0, stride - 1);
  const std::int64_t taps = random.between(1, 3);
  const std::int64_t points = random.of<std::int64_t>({1, 3, 5, 8});
  const std::int64_t errors = random.of<std::int64_t>({1, 2, 5, 9});
  const int m = make.output("c", random.of<std::int64_t>({1, 3, 8, 17}));
  const int y = make.output("y", points);
  const int x = make.output("x", random.of<std::int64_t>({1, 4, 7}));
  const int k = make.reduced("k", random.of<std::int64_t>({1, 2, 5}));
  const int r = make.reduced("r", taps);
  make.nest().agg = Agg::Sum;
  make.nest().comb = Comb::Mul;
  make.input({make.whole(k), {{{y, 1}, {r, -1}}, random.between(0, 1), errors}, make.whole(x)});
  make.input({make.whole(k), make.whole(m), {{{r, stride}}, residue, stride * taps + residue}},
             random.chance(75));
  const std::vector<Subscript> out = {
      make.whole(m), {{{y, stride}}, residue, stride * points + residue}, make.whole(x)};
  make.out(out, out_type(random, type));
  make.add_post(out);
  return make.nest();
}

// The gradient with respect to the filter: images and pixels are summed, taps are results.
Nest filter_gradient(Random &random, DType type) {
  const Shape shape = random_shape(random, false);
  NestMaker make(random, "conv_wgrad", type);
  const Window &w = shape.windows[0];
  const int m = make.output("m", shape.filters);
  const int c = make.output("c", shape.channels);
  const int r = make.output("r", w.taps);
  const int n = make.reduced("n", shape.images);
  const int y = make.reduced("y", w.out);
  make.nest().agg = Agg::Sum;
  make.nest().comb = Comb::Mul;
  make.input({make.whole(n), make.whole(c), through(w, y, r)});
  make.input({make.whole(n), make.whole(m), make.whole(y)});
  const std::vector<Subscript> out = {make.whole(m), make.whole(c), make.whole(r)};
  make.out(out, out_type(random, type));
  make.add_post(out);
  return make.nest();
}

Nest pooling(Random &random, DType type) {
  const Shape shape = random_shape(random, true);
  NestMaker make(random, "pool", type);
  const std::size_t rank = shape.windows.size();
  const int n = make.output("n", shape.images);
  const int c = make.output("c", shape.groups);
  std::vector<int> points;
  std::vector<int> taps;
  for (std::size_t d = 0; d < rank; ++d)
    points.push_back(make.output(letter(kSpace, d, rank), shape.windows[d].out));
  for (std::size_t d = 0; d < rank; ++d)
    taps.push_back(make.reduced(letter(kTap, d, rank), shape.windows[d].taps));
  std::vector<Subscript> in = {make.whole(n), make.whole(c)};
  std::vector<Subscript> out = {make.whole(c), make.whole(n)};
  for (std::size_t d = 0; d < rank; ++d) {
    in.push_back(through(shape.windows[d], points[d], taps[d]));
    out.push_back(make.whole(points[d]));
  }
  make.nest().agg = random.of({Agg::Max, Agg::Sum, Agg::Min});
  make.input(in);
  make.out(out, out_type(random, type));
  make.add_post(out);
  return make.nest();
}

Nest product(Random &random, DType type) {
  NestMaker make(random, "gemm", type);
  const bool has_rows = random.chance(80);
  const int b = make.output("b", random.of<std::int64_t>({1, 1, 3}));
  const int m = make.output("m", has_rows ? random.of<std::int64_t>({1, 2, 7, 16}) : 1);
  const int n = make.output("n", random.of<std::int64_t>({1, 3, 8, 19}));
  const int k = make.reduced("k", random.of<std::int64_t>({1, 5, 16, 33}));
  make.nest().agg = Agg::Sum;
  make.nest().comb = Comb::Mul;
  make.input({make.whole(b), make.whole(m), make.whole(k)});
  make.input({make.whole(k), make.whole(n)}, random.chance(70));
  const std::vector<Subscript> out = {make.whole(n), make.whole(b), make.whole(m)};
  make.out(out, out_type(random, type));
  make.add_post(out);
  return make.nest();
}

// Of three inputs.
program::Expr random_term(Random &random, DType type) {
  const auto in = [&](int k) { return program::operand(k, type); };
  const program::Expr distance = program::call(ScalarOp::Sub, {in(0), in(1)});
  const program::Expr product = program::call(ScalarOp::Mul, {distance, in(2)});
  if (random.chance(50))
    return product;
  const program::Expr passes = program::call(ScalarOp::Gt, {in(1), program::constant(0, type)});
  return program::call(ScalarOp::Select, {passes, product, program::constant(0, type)});
}

Nest reduction(Random &random, DType type) {
  NestMaker make(random, "reduce", type);
  std::vector<Subscript> out;
  std::vector<Subscript> in;
  const std::int64_t outputs = random.between(0, 2);
  for (std::int64_t i = 0; i < outputs; ++i)
    make.output(std::string(1, static_cast<char>('a' + i)), random.of<std::int64_t>({1, 3, 8, 21}));
  const std::int64_t reduced = random.between(1, 2);
  for (std::int64_t i = 0; i < reduced; ++i)
    make.reduced(std::string(1, static_cast<char>('k' + i)),
                 random.of<std::int64_t>({1, 2, 5, 12}));
  for (int i = 0; i < static_cast<int>(make.nest().indices.size()); ++i) {
    in.push_back(make.whole(i));
    if (i < outputs)
      out.push_back(make.whole(i));
  }
  make.nest().agg = random.of({Agg::Sum, Agg::Max, Agg::Min, Agg::Product});
  make.nest().comb = is_float(type) ? random.of({Comb::None, Comb::Mul, Comb::Add, Comb::Term})
                                    : random.of({Comb::None, Comb::Mul, Comb::Add});
  // As flattening leaves them: in their type where no window is empty, and in a wider one.
  if (make.nest().agg == Agg::Max && make.nest().comb == Comb::None && is_narrow(type)) {
    make.nest().acc_type = type;
    make.nest().post = program::acc(type);
  }
  make.input(in);
  if (make.nest().comb != Comb::None)
    make.input(random.chance(50) ? in : std::vector<Subscript>{in.back()}, random.chance(50));
  if (make.nest().comb == Comb::Term) {
    make.input(in);
    make.nest().term = random_term(random, make.nest().acc_type);
  }
  make.out(out, out_type(random, type));
  make.add_post(out);
  return make.nest();
}

// A slice, a transposition or a padding.
Nest copy(Random &random, DType type) {
  NestMaker make(random, "copy", type);
  make.nest().acc_type = type;
  make.nest().post = program::acc(type);
  const int y = make.output("y", random.of<std::int64_t>({1, 3, 11}));
  const int x = make.output("x", random.of<std::int64_t>({1, 2, 8, 21}));
  const std::int64_t pad = random.between(0, 2);
  const std::int64_t step = random.of<std::int64_t>({1, 2, -1});
  const std::int64_t first = step < 0 ? make.extent(x) - 1 : 0;
  make.input({{{{y, 1}}, -pad, make.extent(y)}, {{{x, step}}, first, make.extent(x)}});
  const std::vector<Subscript> out = {make.whole(y), make.whole(x)};
  make.out(out, type);
  return make.nest();
}

Nest map(Random &random, DType type) {
  NestMaker make(random, "map", type);
  make.nest().acc_type = type;
  const int y = make.output("y", random.of<std::int64_t>({1, 3, 11}));
  const int x = make.output("x", random.of<std::int64_t>({1, 2, 8, 21}));
  const std::vector<Subscript> out = {make.whole(y), make.whole(x)};
  make.nest().extras.push_back(make.operand(out, type));
  make.nest().post = program::operand(0, type);
  make.add_post(out);
  make.out(out, out_type(random, type));
  return make.nest();
}

// Rows of a tensor, or elements of each of its images, that positions name, inside it and outside;
// now and then as taps with weights.
Nest picks(Random &random, DType type) {
  NestMaker make(random, "pick", type);
  const int n = make.output("n", random.between(1, 2));
  const int e = make.output("e", random.of<std::int64_t>({1, 3, 7}));
  const int c = make.output("c", random.of<std::int64_t>({1, 3, 8, 17}));
  const int t = make.reduced("t", random.between(1, 3));
  make.nest().agg = Agg::Sum;
  make.nest().comb = Comb::Pick;
  const Subscript picked{{}, 0, random.of<std::int64_t>({1, 3, 5})};
  make.input({make.whole(n), picked, make.whole(c)});
  std::vector<Subscript> at = {make.whole(e), make.whole(t)};
  if (random.chance(50))
    make.input(at, random.chance(50));
  if (random.chance(50))
    at.push_back(make.whole(n));
  const DType positions = random.of({DType::I32, DType::I64, DType::I8});
  make.nest().inputs.push_back(make.operand(at, positions, random.chance(30)));
  nest::Dim &dim = make.nest().inputs[0].dims[1];
  dim.by = static_cast<int>(make.nest().inputs.size()) - 1;
  dim.guarded = true;
  const std::vector<Subscript> out = {make.whole(n), make.whole(e), make.whole(c)};
  make.out(out, out_type(random, type));
  make.add_post(out);
  return make.nest();
}

// Any affine subscripts and constraints.
Nest affine(Random &random, DType type) {
  NestMaker make(random, "affine", type);
  const std::int64_t outputs = random.between(1, 3);
  const std::int64_t reduced = random.between(0, 2);
  std::vector<Subscript> out;
  for (std::int64_t i = 0; i < outputs; ++i) {
    const int index = make.output(std::string(1, static_cast<char>('a' + i)),
                                  random.of<std::int64_t>({1, 3, 5, 8}));
    const std::int64_t step = random.between(1, 2);
    const std::int64_t shift = random.between(0, 1);
    out.push_back({{{index, step}}, shift, step * make.extent(index) + shift});
  }
  for (std::int64_t i = 0; i < reduced; ++i)
    make.reduced(std::string(1, static_cast<char>('k' + i)), random.between(1, 4));
  const int last = static_cast<int>(outputs + reduced) - 1;
  const auto any = [&](int terms) {
    Subscript at{{}, random.between(0, 2), random.between(1, 9)};
    for (int t = 0; t < terms; ++t)
      at.terms.push_back(
          {static_cast<int>(random.between(0, last)), random.of<std::int64_t>({1, 1, 2, -1, 3})});
    return at;
  };
  make.nest().agg = reduced == 0 ? random.of({Agg::Sum, Agg::Max, Agg::Assign})
                                 : random.of({Agg::Sum, Agg::Max, Agg::Min});
  make.nest().comb = random.of({Comb::Mul, Comb::None, Comb::Add});
  for (int k = 0; k < (make.nest().comb == Comb::None ? 1 : 2); ++k) {
    std::vector<Subscript> dims;
    for (std::int64_t d = random.between(1, 3); d > 0; --d)
      dims.push_back(any(static_cast<int>(random.between(1, 2))));
    make.input(dims, random.chance(40));
  }
  if (random.chance(25)) {
    const Subscript at = any(2);
    nest::Constraint where{{at.constant, std::vector<std::int64_t>(make.nest().indices.size(), 0)},
                           at.size};
    for (const auto &[i, coeff] : at.terms)
      where.expr.coeff[static_cast<std::size_t>(i)] += coeff;
    make.nest().constraints.push_back(where);
  }
  make.out(out, out_type(random, type));
  make.add_post(out);
  return make.nest();
}

} // namespace

Nest random_nest(Random &random) {
  const DType type = random.of({DType::F32, DType::F32, DType::F32, DType::F16, DType::BF16,
                                DType::F64, DType::I8, DType::U8, DType::I32});
  switch (random.between(0, 11)) {
  case 0:
    return map(random, type);
  case 1:
    return copy(random, type);
  case 2:
    return product(random, type);
  case 3:
    return reduction(random, type);
  case 4:
    return pooling(random, type);
  case 5:
    return convolution(random, type, true);
  case 6:
    return data_gradient(random, type);
  case 7:
    return filter_gradient(random, type);
  case 8:
    return affine(random, type);
  case 9:
    return picks(random, type);
  default:
    return convolution(random, type, false);
  }
}

} // namespace tilefuse::model
