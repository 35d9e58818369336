// SPDX-License-Identifier: Apache-2.0
// Samples of pictures at computed places: taps with weights by distance (ops/sample.tile).
#include <fmt/format.h>

#include "onnx/operators.h"
#include "onnx/operators/along_axis.h"
#include "onnx/operators/ops_conv.h"
#include "onnx/operators/ops_index.h"
#include "onnx/operators/ops_slice.h"
#include "onnx/operators/window.h"

namespace tilefuse::onnx_import {
namespace {

struct Sampling {
  std::string mode;    // "linear", "nearest", "cubic"
  std::string padding; // "zeros", "border", "reflection"
  bool aligned = false;
};

Sampling sampling_of(const Call &call) {
  std::string mode = call.text("mode", "linear");
  if (mode.starts_with("bi"))
    mode = mode.substr(2);
  return {mode, call.text("padding_mode", "zeros"), call.flag("align_corners", false)};
}

// Places moved into the picture as the padding mode says.
Value inside(const Call &call, const Sampling &sampling, Value places, std::int64_t size) {
  if (sampling.padding == "zeros")
    return places;
  if (sampling.padding == "reflection" && sampling.aligned && size > 1)
    places = call.apply("place_reflected", {places},
                        {{"LO", 0.0}, {"SPAN", static_cast<double>(size - 1)}});
  else if (sampling.padding == "reflection" && !sampling.aligned)
    places = call.apply("place_reflected", {places},
                        {{"LO", -0.5}, {"SPAN", static_cast<double>(size)}});
  else
    places = call.apply("place_at_border", {places}, {{"A", size}});
  return places;
}

// Elements of one axis beside places [N, P] as subscripts [N, P, T], and their weights.
struct Taps {
  Value at;
  Value weights;
};

Taps taps_of(const Call &call, const Sampling &sampling, const Value &places, std::int64_t size) {
  const tile::Attributes axis{{"A", size}};
  Value numbers;
  if (sampling.mode == "nearest")
    numbers = call.apply("nearest_tap", {places});
  else if (sampling.mode == "cubic")
    numbers = call.apply("taps", {places}, {{"T", std::int64_t{4}}, {"FIRST", std::int64_t{-1}}});
  else
    numbers = call.apply("taps", {places}, {{"T", std::int64_t{2}}});
  const Value weights = call.apply("weights_" + sampling.mode, {places, numbers});
  if (sampling.mode == "cubic")
    numbers = inside(call, sampling, numbers, size);
  return {call.apply("subscripts", {numbers}, axis), weights};
}

// The taps of one axis for its coordinates [N, P] of the grid.
Taps grid_taps(const Call &call, const Sampling &sampling, const Value &grid, std::int64_t size) {
  const tile::Attributes axis{{"A", size}};
  Value places = call.apply(sampling.aligned ? "place_of_centres" : "place_of_edges", {grid}, axis);
  places = inside(call, sampling, places, size);
  if (sampling.mode != "cubic" && sampling.padding != "zeros")
    places = call.apply("place_at_border", {places}, axis);
  return taps_of(call, sampling, places, size);
}

// Where tap k of a window looks for result p without an offset, along one axis of a picture of two:
// [taps * results].
Value regular_places(const Call &call, const Window &window, std::size_t along, DType type) {
  const WindowAxis &rows = window[0], &columns = window[1];
  call.make_elems(rows.kernel * columns.kernel * rows.out * columns.out, type);
  program::HostTensor tensor =
      program::make_host_tensor({}, type, {rows.kernel * columns.kernel * rows.out * columns.out});
  std::int64_t at = 0;
  for (std::int64_t r = 0; r < rows.kernel; ++r)
    for (std::int64_t s = 0; s < columns.kernel; ++s)
      for (std::int64_t y = 0; y < rows.out; ++y)
        for (std::int64_t x = 0; x < columns.out; ++x) {
          const WindowAxis &axis = window[along];
          const std::int64_t tap = along == 0 ? r : s, result = along == 0 ? y : x;
          program::set(
              tensor, at++,
              static_cast<double>(axis.stride * result + axis.dilation * tap - axis.begin));
        }
  return make_constant(std::move(tensor));
}

// The elements' centres of a picture from -1 to 1, the last coordinate first, and a 1 behind them:
// [elements, rank + 1]. Corners that are aligned are at -1 and 1 themselves.
Value centres_of(const Call &call, const program::Shape &picture, bool are_aligned, DType type) {
  const std::int64_t points = call.elems(picture);
  const auto rank = static_cast<std::int64_t>(picture.size());
  call.make_elems(call.elems({points, rank + 1}), type);
  program::HostTensor tensor = program::make_host_tensor({}, type, {points, rank + 1});
  for (std::int64_t p = 0; p < points; ++p) {
    std::int64_t rest = p;
    for (std::int64_t k = 0; k < rank; ++k) {
      const std::int64_t along = picture[picture.size() - 1 - static_cast<std::size_t>(k)];
      const auto place = static_cast<double>(rest % along), length = static_cast<double>(along);
      const double steps = are_aligned ? length - 1 : length;
      const double centre = steps > 0 ? (2 * place + (are_aligned ? 0 : 1)) / steps - 1 : -1;
      program::set(tensor, p * (rank + 1) + k, centre);
      rest /= along;
    }
    program::set(tensor, p * (rank + 1) + rank, 1);
  }
  return make_constant(std::move(tensor));
}

// The sizes of a DeformConv.
struct Deformed {
  Window window;
  std::int64_t batch, channels, filters;
  std::int64_t groups; // of channels that are summed
  std::int64_t parts;  // of channels that share offsets
  std::int64_t taps() const { return window[0].kernel * window[1].kernel; }
  std::int64_t results() const { return window[0].out * window[1].out; }
};

Deformed deformed_of(const Call &call) {
  const Value &input = call.value(0), &filter = call.value(1);
  const Ints sizes = spatial_sizes(call, input);
  if (sizes.size() != 2 || filter.shape.size() != 4)
    call.fail(ErrorCode::Unsupported, "only pictures of two dimensions are supported");
  const Deformed d{sliding_window(call, sizes, {filter.shape[2], filter.shape[3]}),
                   input.shape[0],
                   input.shape[1],
                   filter.shape[0],
                   call.integer("group", 1),
                   call.integer("offset_group", 1)};
  if (d.groups < 1 || d.parts < 1 || d.channels % d.groups != 0 || d.channels % d.parts != 0 ||
      d.filters % d.groups != 0)
    call.fail(ErrorCode::Shape,
              fmt::format("{} channels in {} and {} groups and a filter {} do not match",
                          d.channels, d.groups, d.parts, to_text(filter.shape)));
  return d;
}

// What all taps of all results read, [batch * parts, channels / parts, taps * results].
Value deformed_samples(const Call &call, const Deformed &d) {
  const Value &input = call.value(0);
  const std::int64_t rows = d.batch * d.parts, places = d.taps() * d.results();
  const Value pairs = call.reshape(call.value(2), {rows * d.taps(), 2, d.results()});
  std::vector<Value> args{
      call.reshape(input, {rows, d.channels / d.parts, d.window[0].in, d.window[1].in})};
  for (std::size_t along = 0; along < 2; ++along) {
    const Value own = take_range(call, pairs, 1, static_cast<std::int64_t>(along), 1);
    const Value moved = call.apply("add", {call.reshape(own, {rows, places}),
                                           regular_places(call, d.window, along, input.type)});
    const Taps taps = taps_of(call, {"linear", "zeros"}, moved, d.window[along].in);
    args.insert(args.end(), {taps.at, taps.weights});
  }
  const Value samples = call.apply("sample2d", args);
  return call.has(4) ? call.apply("mul", {samples, call.reshape(call.value(4), {rows, 1, places})})
                     : samples;
}

// The taps of places [regions, bins * each] of one axis, [regions, bins, taps of a bin]. Of a bin's
// they are averaged, or the largest is taken; then each subscript must name an element.
Taps region_taps(const Call &call, const Value &places, std::int64_t size, std::int64_t bins,
                 bool averages) {
  const Value share =
      call.apply("region_share", {places}, {{"A", size}, {"B", averages ? bins : places.shape[1]}});
  const Value moved = call.apply("region_inside", {places}, {{"A", size}});
  Taps taps = taps_of(call, {"linear", "zeros"}, moved, size);
  taps.weights = call.apply("region_weights", {taps.weights, share});
  if (!averages)
    taps.at = call.apply("subscripts_inside", {taps.at}, {{"A", size}});
  const program::Shape shape{places.shape[0], bins, places.shape[1] / bins * taps.at.shape.back()};
  return {call.reshape(taps.at, shape), call.reshape(taps.weights, shape)};
}

} // namespace

void import_grid_sample(Call &call) {
  const Value &input = call.value(0), &grid = call.value(1);
  const Ints sizes = spatial_sizes(call, input);
  const auto rank = static_cast<std::int64_t>(sizes.size());
  if (rank < 2 || grid.shape.size() != input.shape.size() || grid.shape.back() != rank)
    call.fail(ErrorCode::Shape, fmt::format("its grid has shape {}", to_text(grid.shape)));
  const Sampling sampling = sampling_of(call);
  const std::int64_t points = elems_between(grid.shape, 1, grid.shape.size() - 1);
  const Value flat = call.reshape(grid, {grid.shape[0] * points, rank, 1});
  std::vector<Value> args{input};
  for (std::int64_t d = 0; d < rank; ++d) {
    const Value column =
        call.apply("slice", {flat}, {{"START", rank - 1 - d}, {"COUNT", std::int64_t{1}}});
    const Taps taps = grid_taps(call, sampling, call.reshape(column, {grid.shape[0], points}),
                                sizes[static_cast<std::size_t>(d)]);
    args.insert(args.end(), {taps.at, taps.weights});
  }
  const Value samples = call.apply(by_rank("sample", sizes.size()), args);
  program::Shape shape{input.shape[0], input.shape[1]};
  shape.insert(shape.end(), grid.shape.begin() + 1, grid.shape.end() - 1);
  call.result(call.reshape(samples, shape));
}

void import_affine_grid(Call &call) {
  const Value &maps = call.value(0);
  const Ints size = call.bounded_ints(1, "size");
  const auto rank = static_cast<std::int64_t>(size.size()) - 2;
  if ((rank != 2 && rank != 3) || maps.shape != program::Shape{size[0], rank, rank + 1})
    call.fail(ErrorCode::Shape,
              fmt::format("maps {} do not make a grid of {}", to_text(maps.shape), to_text(size)));
  const program::Shape picture(size.begin() + 2, size.end());
  program::Shape shape{size[0]};
  shape.insert(shape.end(), picture.begin(), picture.end());
  shape.push_back(rank);
  const Value centres = centres_of(call, picture, call.flag("align_corners", false), maps.type);
  call.result(call.reshape(call.apply("affine_grid", {maps, centres}), shape));
}

void import_deform_conv(Call &call) {
  const Deformed d = deformed_of(call);
  const std::int64_t reach = d.channels / d.groups * d.taps();
  const Value samples =
      call.reshape(deformed_samples(call, d), {d.batch, d.groups, reach, d.results()});
  const Value filter = call.reshape(call.value(1), {d.groups, d.filters / d.groups, reach});
  const Value result = call.reshape(call.apply("deform_product", {samples, filter}),
                                    {d.batch, d.filters, d.window[0].out, d.window[1].out});
  call.result(call.has(3) ? add_bias(call, result, call.value(3)) : result);
}

void import_roi_align(Call &call) {
  const Value &input = call.value(0), &regions = call.value(1);
  const Ints sizes = spatial_sizes(call, input);
  const std::int64_t each = call.integer("sampling_ratio", 0);
  if (sizes.size() != 2 || each < 1)
    call.fail(ErrorCode::Unsupported,
              fmt::format("sampling_ratio {} of {} samples a number of places that depends on the "
                          "data; onnxruntime runs such a node",
                          each, to_text(input.shape)));
  if (regions.shape.size() != 2 || regions.shape[1] != 4)
    call.fail(ErrorCode::Shape, fmt::format("its regions have shape {}", to_text(regions.shape)));
  const std::int64_t count = regions.shape[0];
  const bool averages = call.text("mode", "avg") == "avg";
  const bool is_old = call.opset() < 16 || call.text("coordinate_transformation_mode",
                                                     "half_pixel") == "output_half_pixel";
  std::vector<Value> args{input, call.reshape(call.value(2), {count})};
  for (const std::int64_t along : {0, 1}) { // rows, columns; a region is x, y, x, y
    const std::int64_t bins = call.integer(along == 0 ? "output_height" : "output_width", 1);
    tile::Attributes attributes{
        {"T", bins * each}, {"SCALE", call.real("spatial_scale", 1)}, {"SHIFT", is_old ? 0 : 0.5}};
    if (is_old)
      attributes["LEAST"] = 1.0;
    const auto edge = [&](std::int64_t at) {
      return call.reshape(take_range(call, regions, 1, at, 1), {count});
    };
    const Value places =
        call.apply("region_places", {edge(1 - along), edge(3 - along)}, attributes);
    const Taps taps =
        region_taps(call, places, sizes[static_cast<std::size_t>(along)], bins, averages);
    args.insert(args.end(), {taps.at, taps.weights});
  }
  call.result(call.apply(averages ? "region_align" : "region_largest", args));
}

} // namespace tilefuse::onnx_import
