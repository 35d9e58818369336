// SPDX-License-Identifier: Apache-2.0
// Resize and Upsample. Each resized axis is a matrix of weights [new size, old size] from the ONNX
// formulas; a matrix that only repeats every element a whole number of times becomes a nearest
// upsampling, any other an interpolation. The nearest element is chosen in single precision, in
// which ONNX gives scales and onnxruntime computes coordinates: 3 / 0.6 is 5 there, and a little
// less in double precision.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "onnx/operators.h"

namespace tilefuse::onnx_import {
namespace {

constexpr std::int64_t kLargestMatrix = std::int64_t{1} << 24; // elements

// One axis: its sizes and how a new coordinate becomes an old one.
struct ResizeAxis {
  std::int64_t in = 1;
  std::int64_t out = 1;
  double scale = 1;
  std::int64_t factor = 1; // of a nearest upsampling; 0: a matrix of weights
};

struct ResizeMode {
  std::string interpolation = "nearest";
  std::string coordinates = "asymmetric";
  std::string nearest = "floor";
  double cubic = -0.75;
  bool exclude_outside = false;
};

struct Tap {
  std::int64_t index = 0;
  double weight = 1;
};

// At most four, as cubic interpolation has.
class Taps {
public:
  void add(std::int64_t index, double weight) { taps_[count_++] = {index, weight}; }
  Tap *begin() { return taps_.data(); }
  Tap *end() { return taps_.data() + count_; }
  const Tap *begin() const { return taps_.data(); }
  const Tap *end() const { return taps_.data() + count_; }

private:
  std::array<Tap, 4> taps_;
  std::size_t count_ = 0;
};

// The ONNX formulas in the arithmetic of Real, operation by operation: which of two neighbours is
// nearest depends on it.
template <class Real>
Real old_coordinate(const ResizeMode &mode, const ResizeAxis &axis, std::int64_t x) {
  const auto at = static_cast<Real>(x);
  const auto in = static_cast<Real>(axis.in);
  const auto out = static_cast<Real>(axis.out);
  const auto scale = static_cast<Real>(axis.scale);
  const Real half = 0.5;
  const Real centre = (at + half) / scale;
  if (mode.coordinates == "asymmetric")
    return at / scale;
  if (mode.coordinates == "align_corners")
    return axis.out == 1 ? 0 : at * (in - 1) / (out - 1);
  if (mode.coordinates == "pytorch_half_pixel")
    return axis.out == 1 ? 0 : centre - half;
  if (mode.coordinates == "half_pixel_symmetric")
    return in / 2 * (1 - out / (scale * in)) + centre - half;
  return centre - half;
}

double round_nearest(const ResizeMode &mode, double at) {
  if (mode.nearest == "floor")
    return std::floor(at);
  if (mode.nearest == "ceil")
    return std::ceil(at);
  return mode.nearest == "round_prefer_ceil" ? std::floor(at + 0.5) : std::ceil(at - 0.5);
}

// Weight of a neighbour at distance |d| < 2 (Keys 1981, with parameter a).
double cubic_weight(double a, double d) {
  d = std::abs(d);
  if (d < 1)
    return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? a * (((d - 5) * d + 8) * d - 4) : 0;
}

// Weights before indices are clamped into the input.
Taps free_taps(const ResizeMode &mode, double at) {
  const double floor = std::floor(at);
  const auto first = static_cast<std::int64_t>(floor);
  Taps taps;
  if (mode.interpolation == "nearest") {
    taps.add(static_cast<std::int64_t>(round_nearest(mode, at)), 1);
  } else if (mode.interpolation == "linear") {
    taps.add(first, 1 - (at - floor));
    taps.add(first + 1, at - floor);
  } else {
    for (std::int64_t i = first - 1; i <= first + 2; ++i)
      taps.add(i, cubic_weight(mode.cubic, at - static_cast<double>(i)));
  }
  return taps;
}

// Row x of an axis's matrix: the elements that it takes.
Taps taps_of(const ResizeMode &mode, const ResizeAxis &axis, std::int64_t x) {
  const double limit = static_cast<double>(axis.in) + 4;
  const double at = mode.interpolation == "nearest"
                        ? static_cast<double>(old_coordinate<float>(mode, axis, x))
                        : old_coordinate<double>(mode, axis, x);
  Taps taps = free_taps(mode, std::clamp(at, -limit, limit));
  double total = 0;
  for (Tap &tap : taps) {
    const bool is_outside = tap.index < 0 || tap.index >= axis.in;
    if (is_outside && mode.exclude_outside)
      tap.weight = 0;
    tap.index = std::clamp<std::int64_t>(tap.index, 0, axis.in - 1);
    total += tap.weight;
  }
  if (mode.exclude_outside && total != 0)
    for (Tap &tap : taps)
      tap.weight /= total;
  return taps;
}

// The factor f when row x of the matrix takes element x / f alone, else 0.
std::int64_t whole_factor(const ResizeMode &mode, const ResizeAxis &axis) {
  if (axis.in == axis.out && axis.scale == 1)
    return 1;
  if (axis.out % axis.in != 0)
    return 0;
  const std::int64_t factor = axis.out / axis.in;
  for (std::int64_t x = 0; x < axis.out; ++x)
    for (const Tap &tap : taps_of(mode, axis, x))
      if (tap.weight != 0 && (tap.index != x / factor || tap.weight != 1))
        return 0;
  return factor;
}

Value dense(const Call &call, const ResizeMode &mode, const ResizeAxis &axis, DType type) {
  if (axis.in > kLargestMatrix / axis.out)
    call.fail(ErrorCode::Limit,
              fmt::format("resizing {} elements to {} is not supported", axis.in, axis.out));
  call.make_elems(axis.out * axis.in, type);
  program::HostTensor matrix =
      program::make_host_tensor("resize weights", type, {axis.out, axis.in});
  for (std::int64_t x = 0; x < axis.out; ++x)
    for (const Tap &tap : taps_of(mode, axis, x)) {
      const std::int64_t at = x * axis.in + tap.index;
      program::set(matrix, at, program::get(matrix, at) + tap.weight);
    }
  return make_constant(std::move(matrix));
}

Value resize_axis(const Call &call, const Value &value, std::size_t i, const ResizeAxis &axis,
                  const ResizeMode &mode) {
  program::Shape shape = value.shape;
  shape[i] = axis.out;
  const Value view = call.reshape(value, {elems_between(value.shape, 0, i), axis.in,
                                          elems_between(value.shape, i + 1, shape.size())});
  if (axis.factor > 1)
    return call.reshape(call.apply("upsample_axis", {view}, {{"FACTOR", axis.factor}}), shape);
  if (!is_float(value.type))
    call.fail(ErrorCode::Unsupported, "only float tensors can be interpolated");
  return call.reshape(call.apply("interpolate_axis", {view, dense(call, mode, axis, value.type)}),
                      shape);
}

Value resize(const Call &call, std::vector<ResizeAxis> axes, const ResizeMode &mode) {
  Value result = call.value(0);
  program::Shape shape;
  for (const ResizeAxis &axis : axes) {
    if (axis.in < 1 || axis.out < 1 || axis.out > kLargestMatrix)
      call.fail(ErrorCode::Limit,
                fmt::format("resizing {} elements to {} is not supported", axis.in, axis.out));
    shape.push_back(axis.out);
  }
  call.elems(shape);
  for (ResizeAxis &axis : axes)
    axis.factor = whole_factor(mode, axis);
  if (axes.size() == 4 && axes[0].factor == 1 && axes[1].factor == 1 && axes[2].factor > 0 &&
      axes[3].factor > 0)
    return call.apply("upsample_nearest", {result},
                      {{"FY", axes[2].factor}, {"FX", axes[3].factor}});
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i].factor != 1)
      result = resize_axis(call, result, i, axes[i], mode);
  return result;
}

std::vector<double> floats(const Call &call, std::size_t i, const char *what) {
  const Value &operand = call.value(i);
  if (!operand.is_constant())
    call.fail(ErrorCode::Unsupported,
              fmt::format("its {} is computed at run time; need a constant", what));
  std::vector<double> list;
  for (std::int64_t at = 0; at < program::elems(operand.shape); ++at)
    list.push_back(load_element(operand.data->data(), operand.type, at));
  return list;
}

// The axes that scales or sizes speak of; all when attribute `axes` is absent.
std::vector<std::size_t> named_axes(const Call &call, std::size_t rank, std::size_t count,
                                    const char *what) {
  std::vector<std::size_t> axes;
  for (const std::int64_t axis : call.integers("axes"))
    axes.push_back(call.resolve_axis(axis, rank));
  if (axes.empty()) {
    axes.resize(rank);
    std::iota(axes.begin(), axes.end(), 0);
  }
  if (axes.size() != count)
    call.fail(ErrorCode::Shape, fmt::format("it has {} {} for {} axes", count, what, axes.size()));
  return axes;
}

std::vector<ResizeAxis> unchanged(const Value &value) {
  std::vector<ResizeAxis> axes;
  for (const std::int64_t size : value.shape)
    axes.push_back({size, size, 1});
  return axes;
}

std::vector<ResizeAxis> by_scales(const Call &call, const std::vector<double> &scales) {
  std::vector<ResizeAxis> axes = unchanged(call.value(0));
  const auto named = named_axes(call, axes.size(), scales.size(), "scales");
  for (std::size_t i = 0; i < named.size(); ++i) {
    ResizeAxis &axis = axes[named[i]];
    const float size = static_cast<float>(axis.in) * static_cast<float>(scales[i]);
    if (!(scales[i] > 0) || !(size >= 1) || size > static_cast<float>(kLargestMatrix))
      call.fail(ErrorCode::Limit,
                fmt::format("scaling {} elements by {} is not supported", axis.in, scales[i]));
    axis.out = static_cast<std::int64_t>(size);
    axis.scale = scales[i];
  }
  return axes;
}

std::vector<ResizeAxis> by_sizes(const Call &call, const Ints &sizes) {
  std::vector<ResizeAxis> axes = unchanged(call.value(0));
  const auto named = named_axes(call, axes.size(), sizes.size(), "sizes");
  for (std::size_t i = 0; i < named.size(); ++i) {
    ResizeAxis &axis = axes[named[i]];
    axis.out = sizes[i];
    axis.scale = static_cast<double>(axis.out) / static_cast<double>(axis.in);
  }
  return axes;
}

// An operand that is there and not empty.
bool is_given(const Call &call, std::size_t i) {
  return call.has(i) && program::elems(call.value(i).shape) > 0;
}

} // namespace

void import_upsample(Call &call) {
  ResizeMode mode;
  mode.interpolation = call.text("mode", "nearest");
  const std::vector<double> scales =
      call.has_attribute("scales") ? call.reals("scales") : floats(call, 1, "scales");
  call.result(resize(call, by_scales(call, scales), mode));
}

void import_resize(Call &call) {
  const ResizeMode mode{.interpolation = call.text("mode", "nearest"),
                        .coordinates = call.text("coordinate_transformation_mode", "half_pixel"),
                        .nearest = call.text("nearest_mode", "round_prefer_floor"),
                        .cubic = call.real("cubic_coeff_a", -0.75),
                        .exclude_outside = call.flag("exclude_outside", false)};
  if (is_given(call, 3))
    call.result(resize(call, by_sizes(call, call.bounded_ints(3, "sizes")), mode));
  else if (is_given(call, 2))
    call.result(resize(call, by_scales(call, floats(call, 2, "scales")), mode));
  else
    call.fail(ErrorCode::Shape, "it has neither scales nor sizes");
}

} // namespace tilefuse::onnx_import
