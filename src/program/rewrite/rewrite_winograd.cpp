// SPDX-License-Identifier: Apache-2.0
// Winograd's minimal filtering F(m x m, 3 x 3) (Lavin and Gray 2016, section 4), in contractions:
// with a = m + 2 points per axis, tiles (ty, tx) of m x m results,
//
//   U[i, j, m, c]          = sum over r, s of G[i, r] G[j, s] K[m, c, r, s]
//   V[i, j, n, ty, tx, c]  = sum over a, b of B[i, a] B[j, b] D[n, c, m*ty + a - 1, m*tx + b - 1]
//   P[i, j, n, ty, tx, m]  = sum over c of U[i, j, m, c] V[i, j, n, ty, tx, c]
//   O[n, m, m*ty + p, m*tx + q] = sum over i, j of A[p, i] A[q, j] P[i, j, n, ty, tx, m]
//
// All sums are in f32. What stands in D's padding counts as 0, results past an edge are not
// written. An input gradient of stride 1 is the same with taps in falling order.
#include "program/rewrite/rewrite_winograd.h"

#include <algorithm>
#include <array>

#include "base/index.h"
#include "program/rewrite/rewriter.h"

namespace tilefuse::program {
namespace {

constexpr std::int64_t kTaps = 3;

using Matrix = std::vector<std::vector<double>>;

struct Matrices {
  Matrix filter; // G, points x taps
  Matrix data;   // B transposed, points x points
  Matrix result; // A transposed, results x points
};

Matrices matrices_of(int outputs) {
  if (outputs == 2)
    return {.filter = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}},
            .data = {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}},
            .result = {{1, 1, 1, 0}, {0, 1, -1, -1}}};
  return {.filter = {{1.0 / 4, 0, 0},
                     {-1.0 / 6, -1.0 / 6, -1.0 / 6},
                     {-1.0 / 6, 1.0 / 6, -1.0 / 6},
                     {1.0 / 24, 1.0 / 12, 1.0 / 6},
                     {1.0 / 24, -1.0 / 12, 1.0 / 6},
                     {0, 0, 1}},
          .data = {{4, 0, -5, 0, 1, 0},
                   {0, -4, -4, 1, 1, 0},
                   {0, 4, -4, -1, 1, 0},
                   {0, -2, -1, 2, 1, 0},
                   {0, 2, -1, -2, 1, 0},
                   {0, 4, 0, -5, 0, 1}},
          .result = {
              {1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}}};
}

// One axis of the convolution: D is read at pixel + sign * tap + shift.
struct Axis {
  int pixel = -1;
  int tap = -1;
  int sign = 1;
  std::int64_t shift = 0;
  std::size_t data_dim = 0;
  std::size_t out_dim = 0;
  std::int64_t size = 0; // of the result
};

struct Convolution {
  std::size_t data = 0; // operand
  std::array<Axis, 2> axes;
};

// pixel + sign * tap + shift with an extent of three for the tap, or nothing. Which of two indices
// with coefficient 1 is the tap is told by `is_tap`.
template <typename IsTap>
std::optional<Axis> axis_of(const Affine &subscript, const IsTap &is_tap) {
  Axis axis;
  if (!subscript.constant.is_integer())
    return std::nullopt;
  axis.shift = subscript.constant.num();
  for (std::size_t i = 0; i < subscript.coeff.size(); ++i) {
    const Rational &coeff = subscript.coeff[i];
    if (coeff.is_zero())
      continue;
    const bool unit = coeff == Rational(1) || coeff == Rational(-1);
    int &place = is_tap(static_cast<int>(i)) ? axis.tap : axis.pixel;
    if (!unit || place >= 0)
      return std::nullopt;
    place = static_cast<int>(i);
    if (is_tap(static_cast<int>(i)))
      axis.sign = static_cast<int>(coeff.num());
    else if (coeff != Rational(1))
      return std::nullopt;
  }
  if (axis.pixel < 0 || axis.tap < 0)
    return std::nullopt;
  return axis;
}

std::size_t dim_of(const std::vector<Affine> &subscripts, int index) {
  for (std::size_t d = 0; d < subscripts.size(); ++d)
    if (plain_index(subscripts[d]) == index)
      return d;
  return subscripts.size();
}

// The axes where `windows` (D, or the result of a gradient) is indexed through taps and `plain`
// (the result, or D) by pixels alone.
std::optional<std::array<Axis, 2>> axes_of(const Product &product,
                                           const std::vector<Affine> &windows,
                                           const std::vector<Affine> &plain,
                                           const std::vector<Affine> &filter) {
  std::array<Axis, 2> axes;
  std::size_t found = 0;
  const auto is_tap = [&](int i) {
    return dim_of(filter, i) < filter.size() && !uses(plain, i) && product.extents[at(i)] == kTaps;
  };
  for (std::size_t d = 0; d < windows.size(); ++d) {
    if (plain_index(windows[d]) >= 0)
      continue;
    const std::optional<Axis> axis = axis_of(windows[d], is_tap);
    if (!axis || found == axes.size() || uses(filter, axis->pixel))
      return std::nullopt;
    axes[found] = *axis;
    axes[found].data_dim = d;
    axes[found].out_dim = dim_of(plain, axis->pixel);
    if (axes[found].out_dim == plain.size())
      return std::nullopt;
    ++found;
  }
  return found == axes.size() ? std::optional(axes) : std::nullopt;
}

std::optional<Convolution> convolution_of(const Program &program, const Product &product) {
  const Contraction &body = product.body;
  for (std::size_t data = 0; data < 2; ++data) {
    const std::vector<Affine> &in = body.in[data].subscripts;
    const std::vector<Affine> &filter = body.in[1 - data].subscripts;
    if (!is_plain(filter))
      continue;
    const Shape &shape = program[product.out].shape;
    if (is_plain(body.out)) {
      if (auto axes = axes_of(product, in, body.out, filter)) {
        for (Axis &axis : *axes)
          axis.size = shape[axis.out_dim];
        return Convolution{data, *axes};
      }
    } else if (is_plain(in)) {
      // out[pixel + sign * tap + shift]: seen from the result, D is read at the other end.
      if (auto axes = axes_of(product, body.out, in, filter)) {
        for (Axis &axis : *axes) {
          std::swap(axis.data_dim, axis.out_dim);
          axis.sign = -axis.sign;
          axis.shift = -axis.shift;
          axis.size = shape[axis.out_dim];
        }
        return Convolution{data, *axes};
      }
    }
  }
  return std::nullopt;
}

// Both axes' matrices as one: value [i, j, a, b] is of axis 0 at (i, a) times of axis 1 at (j, b).
std::vector<double> both(const Matrix &first, const Matrix &second) {
  std::vector<double> values;
  for (const std::vector<double> &i : first)
    for (const std::vector<double> &j : second)
      for (const double a : i)
        for (const double b : j)
          values.push_back(a * b);
  return values;
}

Matrix reversed(Matrix matrix, bool is_reversed) {
  if (is_reversed)
    for (std::vector<double> &row : matrix)
      std::reverse(row.begin(), row.end());
  return matrix;
}

class Winograd {
public:
  Winograd(Program &program, const Product &product, const Convolution &convolution, int outputs)
      : rewriter_(program, product, outputs == 2 ? "winograd_f2" : "winograd_f4"),
        body_(product.body), convolution_(convolution), outputs_(outputs), points_(outputs + 2),
        matrices_(matrices_of(outputs)), extents_(product.extents) {
    own_ = static_cast<int>(body_.indices.size());
    names_ = body_.indices;
    for (const auto &[name, extent] : {std::pair<const char *, std::int64_t>{"wi", points_},
                                       {"wj", points_},
                                       {"wa", points_},
                                       {"wb", points_},
                                       {"ty", tiles(0)},
                                       {"tx", tiles(1)},
                                       {"wp", outputs_},
                                       {"wq", outputs_}}) {
      names_.emplace_back(name);
      extents_.push_back(extent);
    }
  }

  void run() {
    const Access u = filter();
    const Access v = data();
    const Access p = product(u, v);
    result(p);
  }

private:
  // Indices that are added behind the statement's own.
  int point(int axis) const { return own_ + axis; }
  int window(int axis) const { return own_ + 2 + axis; }
  int tile(int axis) const { return own_ + 4 + axis; }
  int place(int axis) const { return own_ + 6 + axis; }

  std::int64_t tiles(int axis) const {
    return (convolution_.axes[at(axis)].size + outputs_ - 1) / outputs_;
  }
  const Axis &axis(int a) const { return convolution_.axes[at(a)]; }

  Affine form(int index) const { return index_form(index, names_.size()); }
  Access wide(const Access &access) const {
    Access result = access;
    for (Affine &subscript : result.subscripts)
      subscript.coeff.resize(names_.size());
    return result;
  }
  Access matrix(const std::string &name, const std::vector<int> &order,
                const std::vector<double> &values) {
    Access access;
    Shape shape;
    for (const int i : order) {
      access.subscripts.push_back(form(i));
      shape.push_back(extents_[at(i)]);
    }
    access.tensor = rewriter_.constant(name, shape, values);
    return access;
  }
  Contraction sum_of(const Access &a, const Access &b) const {
    return {.agg = Agg::Sum, .comb = Comb::Mul, .indices = names_, .in = {a, b}};
  }
  Access emit(const std::string &what, const std::vector<int> &order, Contraction body) {
    return rewriter_.temporary(what, DType::F32, order, extents_, std::move(body));
  }

  const Access &operand(bool data) const {
    return body_.in[data ? convolution_.data : 1 - convolution_.data];
  }
  bool is_axis(int index) const {
    for (const Axis &one : convolution_.axes)
      if (index == one.pixel || index == one.tap)
        return true;
    return false;
  }
  bool in_result(int index) const { return uses(body_.out, index); }

  // The statement's own indices, taps and pixels aside, that an operand uses: with `kept` those of
  // the result, else the summed ones.
  void add_own(std::vector<int> &order, bool data, bool kept) const {
    for (int i = 0; i < own_; ++i)
      if (!is_axis(i) && uses(operand(data).subscripts, i) && in_result(i) == kept)
        order.push_back(i);
  }

  Access filter();
  Access data();
  Access product(const Access &u, const Access &v);
  void result(const Access &p);

  Rewriter rewriter_;
  const Contraction &body_;
  const Convolution &convolution_;
  int outputs_;
  std::int64_t points_;
  Matrices matrices_;
  std::vector<std::int64_t> extents_;
  std::vector<std::string> names_;
  int own_ = 0;
};

Access Winograd::filter() {
  const Access g = matrix("winograd filter", {point(0), point(1), axis(0).tap, axis(1).tap},
                          both(reversed(matrices_.filter, axis(0).sign < 0),
                               reversed(matrices_.filter, axis(1).sign < 0)));
  std::vector<int> order = {point(0), point(1)};
  add_own(order, false, true);
  add_own(order, false, false);
  return emit("filter", order, sum_of(g, wide(operand(false))));
}

Access Winograd::data() {
  const Access b = matrix("winograd data", {point(0), point(1), window(0), window(1)},
                          both(matrices_.data, matrices_.data));
  Access in = wide(operand(true));
  for (int a = 0; a < 2; ++a) {
    // Falling taps end where rising ones would begin.
    const std::int64_t first = axis(a).sign < 0 ? axis(a).shift - (kTaps - 1) : axis(a).shift;
    Affine subscript = form(window(a));
    subscript.coeff[at(tile(a))] = outputs_;
    subscript.constant = first;
    in.subscripts[axis(a).data_dim] = subscript;
  }
  std::vector<int> order = {point(0), point(1)};
  add_own(order, true, true);
  order.insert(order.end(), {tile(0), tile(1)});
  add_own(order, true, false);
  return emit("data", order, sum_of(b, in));
}

Access Winograd::product(const Access &u, const Access &v) {
  std::vector<int> order = {point(0), point(1)};
  add_own(order, true, true);
  order.insert(order.end(), {tile(0), tile(1)});
  std::vector<int> channels;
  add_own(channels, false, true);
  for (const int i : channels)
    if (std::find(order.begin(), order.end(), i) == order.end())
      order.push_back(i);
  return emit("product", order, sum_of(v, u));
}

void Winograd::result(const Access &p) {
  const Access a = matrix("winograd result", {place(0), place(1), point(0), point(1)},
                          both(matrices_.result, matrices_.result));
  Contraction body = sum_of(a, p);
  body.out = body_.out;
  for (Affine &subscript : body.out)
    subscript.coeff.resize(names_.size());
  for (int k = 0; k < 2; ++k) {
    Affine subscript = form(place(k));
    subscript.coeff[at(tile(k))] = outputs_;
    body.out[axis(k).out_dim] = subscript;
  }
  rewriter_.result("result", std::move(body));
}

} // namespace

std::string rewrite_winograd(Program &program, const Product &product, int outputs) {
  if (!is_float(program[product.out].type))
    return "its numbers are integers";
  const std::optional<Convolution> convolution = convolution_of(program, product);
  if (!convolution)
    return "it is not a convolution of 3x3 taps and stride 1";
  Winograd(program, product, *convolution, outputs).run();
  return {};
}

} // namespace tilefuse::program
