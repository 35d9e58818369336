// SPDX-License-Identifier: Apache-2.0
// Resize and Upsample. Each resized axis is a matrix of weights [new size, old size] from the ONNX
// formulas; a matrix that only repeats every element a whole number of times becomes a nearest
// upsampling, any other an interpolation: of a few neighbours for each residue of the new
// coordinate where sizes have a common factor, else of all. The nearest element is chosen in single precision, in
// which ONNX gives scales and onnxruntime computes coordinates: 3 / 0.6 is 5 there, and a little
// less in double precision.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "onnx/operators.h"
#include "onnx/operators/along_axis.h"
#include "target/dtype_traits.h"

namespace tilefuse::onnx_import {
namespace {

constexpr std::int64_t kLargestMatrix = std::int64_t{1} << 24; // elements
constexpr std::int64_t kMostTaps = std::int64_t{1} << 26;      // of all new elements of an axis
constexpr std::int64_t kMostNeighbours = 8; // that a new element is the sum of, weighted

// One axis: its sizes and how a new coordinate becomes an old one.
struct ResizeAxis {
  std::int64_t in = 1;
  std::int64_t out = 1;
  double scale = 1;
  std::int64_t factor = 1; // of a nearest upsampling; 0: a matrix of weights
  // Of tf_crop_and_resize: what is resized, as shares of the axis.
  double begin = 0;
  double end = 1;
};

enum class Interpolation { Nearest, Linear, Cubic };
enum class Nearest { RoundPreferFloor, RoundPreferCeil, Floor, Ceil };
enum class Coordinates {
  HalfPixel,
  HalfPixelSymmetric,
  PytorchHalfPixel,
  HalfPixelForNearest,
  AlignCorners,
  Asymmetric,
  CropAndResize,
};

constexpr std::array<std::string_view, 3> kInterpolations = {"nearest", "linear", "cubic"};
constexpr std::array<std::string_view, 4> kNearests = {"round_prefer_floor", "round_prefer_ceil",
                                                       "floor", "ceil"};
constexpr std::array<std::string_view, 7> kCoordinates = {
    "half_pixel",    "half_pixel_symmetric", "pytorch_half_pixel", "tf_half_pixel_for_nn",
    "align_corners", "asymmetric",           "tf_crop_and_resize"};

struct ResizeMode {
  Interpolation interpolation = Interpolation::Nearest;
  Coordinates coordinates = Coordinates::Asymmetric;
  Nearest nearest = Nearest::Floor;
  double cubic = -0.75;
  bool exclude_outside = false;
  bool antialias = false;
  bool crops() const { return coordinates == Coordinates::CropAndResize; }
};

// The value that a text attribute names; the values of Enum count up as `names` do.
template <class Enum, std::size_t count>
Enum choice(const Call &call, const char *attribute,
            const std::array<std::string_view, count> &names) {
  const std::string name = call.text(attribute, std::string(names[0]));
  const auto *const found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
    call.fail(ErrorCode::Unsupported,
              fmt::format("its {} is \"{}\"; need {}", attribute, name, fmt::join(names, ", ")));
  return static_cast<Enum>(found - names.begin());
}

struct Tap {
  std::int64_t index = 0;
  double weight = 1;
};

using Taps = std::vector<Tap>;

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
  switch (mode.coordinates) {
  case Coordinates::Asymmetric:
    return at / scale;
  case Coordinates::HalfPixelForNearest:
    return centre;
  case Coordinates::AlignCorners:
    return axis.out == 1 ? 0 : at * (in - 1) / (out - 1);
  case Coordinates::PytorchHalfPixel:
    return axis.out == 1 ? 0 : centre - half;
  case Coordinates::HalfPixelSymmetric:
    return in / 2 * (1 - out / (scale * in)) + centre - half;
  case Coordinates::CropAndResize: {
    const auto begin = static_cast<Real>(axis.begin);
    const auto end = static_cast<Real>(axis.end);
    return axis.out == 1 ? half * (begin + end) * (in - 1)
                         : begin * (in - 1) + at * (end - begin) * (in - 1) / (out - 1);
  }
  default:
    return centre - half;
  }
}

double round_nearest(const ResizeMode &mode, double at) {
  switch (mode.nearest) {
  case Nearest::Floor:
    return std::floor(at);
  case Nearest::Ceil:
    return std::ceil(at);
  case Nearest::RoundPreferCeil:
    return std::floor(at + 0.5);
  default:
    return std::ceil(at - 0.5);
  }
}

// Weight of a neighbour at distance |d| < 2 (Keys 1981, with parameter a).
double cubic_weight(double a, double d) {
  d = std::abs(d);
  if (d < 1)
    return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? a * (((d - 5) * d + 8) * d - 4) : 0;
}

// Old elements to either side that a new one takes, of an axis that shrinks by `shrink` < 1 when
// aliases are to be kept out.
double reach_of(const ResizeMode &mode, double shrink) {
  switch (mode.interpolation) {
  case Interpolation::Nearest:
    return 0;
  case Interpolation::Linear:
    return 1 / shrink;
  default:
    return 2 / shrink;
  }
}

double shrink_of(const ResizeMode &mode, const ResizeAxis &axis) {
  return mode.antialias ? std::min(axis.scale, 1.0) : 1.0;
}

// Weights before indices are clamped into the input. Where an axis shrinks by `shrink` < 1 and
// aliases are to be kept out, the window and its weights are stretched by 1 / shrink.
void take_free_taps(const ResizeMode &mode, double at, double shrink, Taps &taps) {
  taps.clear();
  if (mode.interpolation == Interpolation::Nearest) {
    taps.push_back({static_cast<std::int64_t>(round_nearest(mode, at)), 1});
    return;
  }
  const bool is_linear = mode.interpolation == Interpolation::Linear;
  const double reach = reach_of(mode, shrink);
  const auto last = static_cast<std::int64_t>(std::ceil(at + reach)) - 1;
  for (auto i = static_cast<std::int64_t>(std::floor(at - reach)) + 1; i <= last; ++i) {
    const double d = (at - static_cast<double>(i)) * shrink;
    taps.push_back({i, is_linear ? 1 - std::abs(d) : cubic_weight(mode.cubic, d)});
  }
}

void normalise(Taps &taps) {
  double total = 0;
  for (const Tap &tap : taps)
    total += tap.weight;
  for (Tap &tap : taps)
    tap.weight = total == 0 ? tap.weight : tap.weight / total;
}

// Row x of an axis's matrix: the elements that it takes. `taps` is filled anew.
void take_taps(const ResizeMode &mode, const ResizeAxis &axis, std::int64_t x, Taps &taps) {
  const double limit = static_cast<double>(axis.in) + 4;
  const double at = mode.interpolation == Interpolation::Nearest
                        ? static_cast<double>(old_coordinate<float>(mode, axis, x))
                        : old_coordinate<double>(mode, axis, x);
  const double shrink = shrink_of(mode, axis);
  take_free_taps(mode, std::clamp(at, -limit, limit), shrink, taps);
  for (Tap &tap : taps) {
    if (mode.exclude_outside && (tap.index < 0 || tap.index >= axis.in))
      tap.weight = 0;
    tap.index = std::clamp<std::int64_t>(tap.index, 0, axis.in - 1);
  }
  if (mode.exclude_outside || shrink < 1)
    normalise(taps);
}

// Calls fn(x, tap) for every tap that is not 0, row by row.
template <class Fn> void each_tap(const ResizeMode &mode, const ResizeAxis &axis, Fn &&fn) {
  Taps taps;
  for (std::int64_t x = 0; x < axis.out; ++x) {
    take_taps(mode, axis, x, taps);
    for (const Tap &tap : taps)
      if (tap.weight != 0)
        fn(x, tap);
  }
}

bool is_unchanged(const ResizeMode &mode, const ResizeAxis &axis) {
  return axis.in == axis.out && axis.scale == 1 && !mode.crops();
}

// What the walks over an axis that is resized take counts as made for the model.
void reserve_taps(const Call &call, const ResizeMode &mode, const ResizeAxis &axis) {
  const double taps =
      static_cast<double>(axis.out) * (2 * reach_of(mode, shrink_of(mode, axis)) + 1);
  if (!(taps <= static_cast<double>(kMostTaps)))
    call.fail(ErrorCode::Limit,
              fmt::format("resizing {} elements to {} is not supported", axis.in, axis.out));
  call.make_elems(static_cast<std::int64_t>(taps) * std::int64_t{sizeof(Tap)}, DType::U8);
}

// The factor f when row x of the matrix takes element x / f alone, else 0.
std::int64_t whole_factor(const ResizeMode &mode, const ResizeAxis &axis) {
  if (is_unchanged(mode, axis))
    return 1;
  if (axis.out % axis.in != 0)
    return 0;
  const std::int64_t factor = axis.out / axis.in;
  Taps taps;
  for (std::int64_t x = 0; x < axis.out; ++x) {
    take_taps(mode, axis, x, taps);
    for (const Tap &tap : taps)
      if (tap.weight != 0 && (tap.index != x / factor || tap.weight != 1))
        return 0;
  }
  return factor;
}

Value dense(const Call &call, const ResizeMode &mode, const ResizeAxis &axis, DType type) {
  if (axis.in > kLargestMatrix / axis.out)
    call.fail(ErrorCode::Limit,
              fmt::format("resizing {} elements to {} is not supported", axis.in, axis.out));
  call.make_elems(axis.out * axis.in, type);
  program::HostTensor matrix =
      program::make_host_tensor("resize weights", type, {axis.out, axis.in});
  each_tap(mode, axis, [&](std::int64_t x, const Tap &tap) {
    const std::int64_t at = x * axis.in + tap.index;
    program::set(matrix, at, program::get(matrix, at) + tap.weight);
  });
  return make_constant(std::move(matrix));
}

// New element phases * q + p of an axis is made of old elements step * q + low and those behind it.
struct Band {
  std::int64_t runs = 1;
  std::int64_t phases = 1;
  std::int64_t step = 1;
  std::int64_t low = 0;
  std::int64_t count = 0; // of old elements
};

Band band_of(const ResizeMode &mode, const ResizeAxis &axis) {
  Band band;
  band.runs = std::gcd(axis.in, axis.out);
  band.phases = axis.out / band.runs;
  band.step = axis.in / band.runs;
  std::int64_t low = axis.in, high = -axis.in;
  each_tap(mode, axis, [&](std::int64_t x, const Tap &tap) {
    const std::int64_t from = tap.index - band.step * (x / band.phases);
    low = std::min(low, from);
    high = std::max(high, from);
  });
  band.low = low;
  band.count = high - low + 1;
  return band;
}

// Weights [runs, phases, count].
Value weights_of(const Call &call, const ResizeMode &mode, const ResizeAxis &axis, const Band &band,
                 DType type) {
  call.make_elems(axis.out * band.count, type);
  program::HostTensor weights =
      program::make_host_tensor("resize weights", type, {band.runs, band.phases, band.count});
  each_tap(mode, axis, [&](std::int64_t x, const Tap &tap) {
    const std::int64_t from = tap.index - band.step * (x / band.phases) - band.low;
    const std::int64_t at = x * band.count + from;
    program::set(weights, at, program::get(weights, at) + tap.weight);
  });
  return make_constant(std::move(weights));
}

// An index that nothing uses.
void drop_index(program::Contraction &body, program::Access &data, program::Access &weights,
                std::size_t index) {
  const auto drop = [&](auto &list) {
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(index));
  };
  drop(body.indices);
  for (auto *subscripts : {&body.out, &data.subscripts, &weights.subscripts})
    for (program::Affine &affine : *subscripts)
      drop(affine.coeff);
}

// The axis of the result is two, run and phase, until it is viewed as one.
Value interpolate_band(const Call &call, const Value &value, std::size_t i, const ResizeAxis &axis,
                       const ResizeMode &mode, const Band &band) {
  const std::size_t rank = value.shape.size(), run = rank, phase = rank + 1, tap = rank + 2;
  const auto form = [&](std::size_t index, std::int64_t factor = 1) {
    program::Affine affine;
    affine.coeff.assign(rank + 3, Rational(0));
    affine.coeff[index] = factor;
    return affine;
  };
  program::Contraction body;
  program::Access data{program::TensorId{0}, {}},
      weights{program::TensorId{1}, {form(run), form(phase), form(tap)}};
  program::Shape shape;
  for (std::size_t d = 0; d < rank; ++d) {
    body.indices.push_back(fmt::format("d{}", d));
    data.subscripts.push_back(form(d));
    if (d != i) {
      body.out.push_back(form(d));
      shape.push_back(value.shape[d]);
      continue;
    }
    data.subscripts.back() = form(run, band.step);
    data.subscripts.back().coeff[tap] = 1;
    data.subscripts.back().constant = band.low;
    body.out.push_back(form(run));
    body.out.push_back(form(phase));
    shape.push_back(band.runs);
    shape.push_back(band.phases);
  }
  body.indices.insert(body.indices.end(), {"q", "p", "t"});
  drop_index(body, data, weights, i);
  body.comb = program::Comb::Mul;
  body.in = {std::move(data), std::move(weights)};
  const Value parts =
      call.contract(body, {value, weights_of(call, mode, axis, band, value.type)}, shape);
  shape = value.shape;
  shape[i] = axis.out;
  return call.reshape(parts, shape);
}

Value resize_axis(const Call &call, const Value &value, std::size_t i, const ResizeAxis &axis,
                  const ResizeMode &mode) {
  program::Shape shape = value.shape;
  shape[i] = axis.out;
  const Value view = call.reshape(value, {elems_between(value.shape, 0, i), axis.in,
                                          elems_between(value.shape, i + 1, shape.size())});
  if (axis.factor > 1)
    return call.reshape(call.apply("upsample_axis", {view}, {{"FACTOR", axis.factor}}), shape);
  const Band band = band_of(mode, axis);
  if (band.count <= kMostNeighbours && band.count < axis.in)
    return interpolate_band(call, value, i, axis, mode, band);
  return call.reshape(call.apply("interpolate_axis", {view, dense(call, mode, axis, value.type)}),
                      shape);
}

// Where tf_crop_and_resize looks beyond an axis of the input, the number that stands there.
Value extrapolate(const Call &call, Value result, const std::vector<ResizeAxis> &axes,
                  const ResizeMode &mode) {
  const Value number = scalar_constant(call.real("extrapolation_value", 0), result.type);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    program::Shape shape(axes.size() - i, 1);
    shape[0] = axes[i].out;
    program::HostTensor outside = program::make_host_tensor({}, DType::Bool, shape);
    for (std::int64_t x = 0; x < axes[i].out; ++x) {
      const double at = old_coordinate<double>(mode, axes[i], x);
      program::set(outside, x, at < 0 || at > static_cast<double>(axes[i].in - 1) ? 1 : 0);
    }
    if (std::any_of(outside.data.begin(), outside.data.end(),
                    [](std::byte b) { return b != std::byte{0}; }))
      result = call.apply("where", {make_constant(std::move(outside)), number, result});
  }
  return result;
}

// Axis by axis. Integers of 8 bits are interpolated as floats, whose fraction is cut off as
// onnxruntime does.
Value resize_axes(const Call &call, const std::vector<ResizeAxis> &axes, const ResizeMode &mode) {
  Value result = call.value(0);
  const DType type = result.type;
  const bool is_repeated =
      std::all_of(axes.begin(), axes.end(), [](const ResizeAxis &axis) { return axis.factor > 0; });
  const bool is_converted = !is_float(type) && !is_repeated;
  if (is_converted && (!is_narrow(type) || mode.interpolation == Interpolation::Cubic))
    call.fail(ErrorCode::Unsupported,
              fmt::format("{} of {} is not supported; need float, or linear of 8 bits",
                          kInterpolations.at(static_cast<std::size_t>(mode.interpolation)),
                          to_string(type)));
  if (is_converted)
    result = call.apply("cast_f32", {result});
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i].factor != 1)
      result = resize_axis(call, result, i, axes[i], mode);
  if (is_converted)
    result = call.apply(fmt::format("cast_{}", to_string(type)), {result});
  return mode.crops() ? extrapolate(call, result, axes, mode) : result;
}

Value resize(const Call &call, std::vector<ResizeAxis> axes, const ResizeMode &mode) {
  program::Shape shape;
  for (const ResizeAxis &axis : axes) {
    if (axis.in < 1 || axis.out < 1 || axis.out > kLargestMatrix)
      call.fail(ErrorCode::Limit,
                fmt::format("resizing {} elements to {} is not supported", axis.in, axis.out));
    if (!is_unchanged(mode, axis))
      reserve_taps(call, mode, axis);
    shape.push_back(axis.out);
  }
  call.elems(shape);
  for (ResizeAxis &axis : axes)
    axis.factor = whole_factor(mode, axis);
  if (axes.size() == 4 && axes[0].factor == 1 && axes[1].factor == 1 && axes[2].factor > 0 &&
      axes[3].factor > 0)
    return call.apply("upsample_nearest", {call.value(0)},
                      {{"FY", axes[2].factor}, {"FX", axes[3].factor}});
  return resize_axes(call, axes, mode);
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

// keep_aspect_ratio_policy: one scale for all named axes, the least or the largest of theirs.
std::vector<ResizeAxis> by_sizes(const Call &call, const Ints &sizes) {
  std::vector<ResizeAxis> axes = unchanged(call.value(0));
  const auto named = named_axes(call, axes.size(), sizes.size(), "sizes");
  const std::string policy = call.text("keep_aspect_ratio_policy", "stretch");
  std::vector<double> scales;
  for (std::size_t i = 0; i < named.size(); ++i)
    scales.push_back(static_cast<double>(sizes[i]) / static_cast<double>(axes[named[i]].in));
  const auto [least, largest] = std::minmax_element(scales.begin(), scales.end());
  for (std::size_t i = 0; i < named.size(); ++i) {
    ResizeAxis &axis = axes[named[i]];
    axis.scale = policy == "stretch" ? scales[i] : policy == "not_larger" ? *least : *largest;
    axis.out = policy == "stretch"
                   ? sizes[i]
                   : static_cast<std::int64_t>(std::floor(
                         std::min(axis.scale * static_cast<double>(axis.in), 1e18) + 0.5));
  }
  return axes;
}

// The region of tf_crop_and_resize: where each named axis begins, then where each ends.
void set_region(const Call &call, std::vector<ResizeAxis> &axes) {
  const std::vector<double> region = floats(call, 1, "roi");
  const auto named = named_axes(call, axes.size(), region.size() / 2, "halves of roi");
  for (std::size_t i = 0; i < named.size(); ++i) {
    axes[named[i]].begin = region[i];
    axes[named[i]].end = region[named.size() + i];
  }
}

// An operand that is there and not empty.
bool is_given(const Call &call, std::size_t i) {
  return call.has(i) && program::elems(call.value(i).shape) > 0;
}

} // namespace

void import_upsample(Call &call) {
  ResizeMode mode;
  mode.interpolation = choice<Interpolation>(call, "mode", kInterpolations);
  const std::vector<double> scales =
      call.has_attribute("scales") ? call.reals("scales") : floats(call, 1, "scales");
  call.result(resize(call, by_scales(call, scales), mode));
}

void import_resize(Call &call) {
  const ResizeMode mode{
      .interpolation = choice<Interpolation>(call, "mode", kInterpolations),
      .coordinates = choice<Coordinates>(call, "coordinate_transformation_mode", kCoordinates),
      .nearest = choice<Nearest>(call, "nearest_mode", kNearests),
      .cubic = call.real("cubic_coeff_a", -0.75),
      .exclude_outside = call.flag("exclude_outside", false),
      .antialias = call.flag("antialias", false)};
  if (!is_given(call, 3) && !is_given(call, 2))
    call.fail(ErrorCode::Shape, "it has neither scales nor sizes");
  std::vector<ResizeAxis> axes = is_given(call, 3) ? by_sizes(call, call.bounded_ints(3, "sizes"))
                                                   : by_scales(call, floats(call, 2, "scales"));
  if (mode.crops())
    set_region(call, axes);
  call.result(resize(call, std::move(axes), mode));
}

} // namespace tilefuse::onnx_import
