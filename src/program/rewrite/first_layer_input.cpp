// SPDX-License-Identifier: Apache-2.0
#include "program/rewrite/first_layer_input.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "base/index.h"
#include "program/rewrite/convolution.h"
#include "program/rewrite/rows_of_taps.h"

namespace tilefuse::program {
namespace {

constexpr std::int64_t kCopyElems = 8;    // of the longest asynchronous copy: 16 bytes
constexpr double kCopied = 28;            // an element that is copied once more, in reads by tiles
constexpr std::int64_t kTileRows = 128;   // of a matrix unit's tile, about
constexpr std::int64_t kMostColumns = 96; // of blocks larger than the stride
constexpr std::int64_t kLeastRows = 1 << 14;
constexpr std::array<std::int64_t, 6> kTileColumns = {16, 32, 64, 96, 128, 192};
constexpr std::array<std::int64_t, 3> kTimes = {1, 2, 4}; // the stride along a block

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return a >= 0 ? (a + b - 1) / b : -(-a / b);
}
std::int64_t floor_div(std::int64_t a, std::int64_t b) { return -ceil_div(-a, b); }

// Blocks along one spatial dimension. Pixel a of block q is element pixels * q + a - shift; it gets
// the product of tap first + a - step * u and element move * q + dilation * u + low of the error.
struct Blocks {
  std::int64_t pixels = 1; // of a block
  std::int64_t shift = 0;
  std::int64_t count = 0;
  std::int64_t taps = 0; // u
  std::int64_t first = 0;
  std::int64_t step = 1;
  std::int64_t move = 1;
  std::int64_t dilation = 1;
  std::int64_t low = 0;
};

Blocks blocks_of(const Window &window, std::int64_t size, std::int64_t taps, std::int64_t times) {
  Blocks best;
  for (const std::int64_t shift : {std::int64_t{0}, window.before % window.step}) {
    const std::int64_t before = window.before - shift;
    Blocks blocks{.pixels = window.step * times,
                  .shift = shift,
                  .step = window.step,
                  .move = times,
                  .dilation = window.dilation};
    blocks.count = ceil_div(size + shift, blocks.pixels);
    if (window.dilation > 1) { // and the step is 1
      blocks.taps = taps;
      blocks.first = taps - 1;
      blocks.low = before - window.dilation * (taps - 1);
    } else {
      blocks.low = ceil_div(before - taps + 1, window.step);
      blocks.taps = floor_div(blocks.pixels - 1 + before, window.step) - blocks.low + 1;
      blocks.first = before - window.step * blocks.low;
    }
    if (best.count == 0 || blocks.taps * blocks.count < best.taps * best.count)
      best = blocks;
  }
  return best;
}

// How a whole gradient is cut.
struct Plan {
  std::vector<Blocks> blocks; // by spatial dimension
  std::int64_t channels = 0;  // of a pixel, with those that pad
  std::int64_t columns = 1;   // of a block
  std::int64_t rows = 1;      // blocks in all
  std::int64_t taps = 1;
  std::int64_t copied = 0; // elements, where blocks cover more than the gradient
  // Elements that a matrix unit's tiles read, but for a factor, and copies.
  double cost() const {
    const auto *wide = std::find_if(kTileColumns.begin(), kTileColumns.end() - 1,
                                    [&](std::int64_t w) { return w >= columns; });
    return static_cast<double>(rows * taps) * static_cast<double>(kTileRows + *wide) +
           kCopied * static_cast<double>(copied);
  }
};

class BlockedGradient {
public:
  BlockedGradient(Program &program, std::vector<Statement> &statements, const Statement &statement,
                  const Access &error, const Convolution &conv)
      : program_(program), statements_(statements), statement_(statement), error_(error),
        conv_(conv), spatial_(conv.spatial.size()) {}

  bool run() {
    for (const Spatial &spatial : conv_.spatial)
      if (spatial.window.step > 1 && spatial.window.dilation > 1)
        return false;
    if (!is_worth_it())
      return false;
    plan_ = best_plan();
    store_result(multiply(store_filter()));
    return true;
  }

private:
  const Shape &data() const { return program_[conv_.data].shape; }
  const Shape &filter() const { return program_[conv_.filter].shape; }
  std::int64_t images() const { return data()[conv_.image_in_data]; }
  std::int64_t channels() const { return data()[conv_.channel_in_data]; }
  std::int64_t features() const { return filter()[conv_.feature_in_filter]; }

  // Of few images the roles of filter and error could be exchanged: windows are the smaller ones.
  bool is_worth_it() const {
    if (images() <= kMostTapChannels)
      for (const Spatial &spatial : conv_.spatial)
        if (filter()[spatial.in_filter] > data()[spatial.in_data])
          return false;
    return channels() <= kMostTapChannels && features() % kCopyElems == 0;
  }

  Plan plan_of(const std::vector<std::int64_t> &times) const {
    Plan plan{.rows = images()};
    for (std::size_t k = 0; k < spatial_; ++k) {
      const Spatial &spatial = conv_.spatial[k];
      plan.blocks.push_back(blocks_of(spatial.window, data()[spatial.in_data],
                                      filter()[spatial.in_filter], times[k]));
      plan.columns *= plan.blocks.back().pixels;
      plan.rows *= plan.blocks.back().count;
      plan.taps *= plan.blocks.back().taps;
    }
    // Work-items store pairs of columns of a row of a block, copies take 16 bytes of the filter.
    plan.channels = channels();
    while (plan.columns * plan.channels % kCopyElems != 0 ||
           plan.blocks.back().pixels * plan.channels % 2 != 0)
      ++plan.channels;
    plan.columns *= plan.channels;
    plan.copied = covers(plan) ? 0 : elems(data());
    return plan;
  }

  // The blocks are the gradient as it lies.
  bool covers(const Plan &plan) const {
    for (std::size_t k = 0; k < spatial_; ++k)
      if (plan.blocks[k].shift != 0 || conv_.spatial[k].in_data != k + 1 ||
          plan.blocks[k].count * plan.blocks[k].pixels != data()[k + 1])
        return false;
    return plan.channels == channels() && conv_.image_in_data == 0;
  }

  // Larger blocks along the last two dimensions where their windows overlap less.
  Plan best_plan() const {
    std::vector<std::int64_t> times(spatial_, 1);
    Plan best = plan_of(times);
    for (const std::int64_t rows : kTimes)
      for (const std::int64_t columns : kTimes) {
        if (spatial_ > 1)
          times[spatial_ - 2] = rows;
        times[spatial_ - 1] = columns;
        if (!can_grow(times))
          continue;
        Plan plan = plan_of(times);
        if (plan.columns <= kMostColumns && plan.rows >= kLeastRows && plan.cost() < best.cost())
          best = std::move(plan);
      }
    return best;
  }

  bool can_grow(const std::vector<std::int64_t> &times) const {
    for (std::size_t k = 0; k < spatial_; ++k)
      if (times[k] > 1 && conv_.spatial[k].window.dilation > 1)
        return false;
    return true;
  }

  TensorId add(Shape shape, std::variant<Contraction, Map, View> body, const std::string &what) {
    const Tensor &like = program_[statement_.out];
    const TensorId id =
        program_.add({.name = like.name, .type = like.type, .shape = std::move(shape)});
    statements_.push_back({id, std::move(body), statement_.origin + what});
    return id;
  }
  static void name_indices(Contraction &body, const char *letter, std::size_t count) {
    for (std::size_t k = 0; k < count; ++k)
      body.indices.push_back(letter + std::to_string(k));
  }
  // [pixel of a block but for the last dimension…, pixel and channel, tap…, m]
  TensorId store_filter() {
    Contraction body;
    body.agg = Agg::Assign;
    name_indices(body, "a", spatial_);
    body.indices.emplace_back("c");
    name_indices(body, "u", spatial_);
    body.indices.emplace_back("m");
    const std::size_t count = body.indices.size();
    Access read{conv_.filter, std::vector<Affine>(filter().size())};
    read.subscripts[conv_.feature_in_filter] = sum_of(count, {{count - 1, 1}});
    read.subscripts[conv_.channel_in_filter] = sum_of(count, {{spatial_, 1}});
    Shape shape, columns;
    for (std::size_t k = 0; k < spatial_; ++k) {
      const Blocks &blocks = plan_.blocks[k];
      read.subscripts[conv_.spatial[k].in_filter] =
          sum_of(count, {{k, 1}, {spatial_ + 1 + k, -blocks.step}}, blocks.first);
      shape.push_back(blocks.pixels);
    }
    columns = shape;
    columns.back() *= plan_.channels;
    shape.push_back(plan_.channels);
    for (Shape *one : {&shape, &columns}) {
      for (const Blocks &blocks : plan_.blocks)
        one->push_back(blocks.taps);
      one->push_back(features());
    }
    for (std::size_t i = 0; i < count; ++i)
      body.out.push_back(sum_of(count, {{i, 1}}));
    body.in = {std::move(read)};
    return add(std::move(columns), View{add(std::move(shape), std::move(body), " filter")}, "");
  }

  // The error's subscript that a forward index moves.
  std::size_t in_error(int index) const {
    const auto found = std::find_if(
        error_.subscripts.begin(), error_.subscripts.end(),
        [&](const Affine &subscript) { return !subscript.coeff[at(index)].is_zero(); });
    return static_cast<std::size_t>(found - error_.subscripts.begin());
  }

  // [n, block, its pixel…, block of the last dimension, its pixel and channel]
  TensorId multiply(TensorId filter) {
    Contraction body;
    body.comb = Comb::Mul;
    body.indices.emplace_back("n");
    name_indices(body, "q", spatial_);
    name_indices(body, "a", spatial_ - 1);
    body.indices.emplace_back("k");
    name_indices(body, "u", spatial_);
    body.indices.emplace_back("m");
    const std::size_t count = body.indices.size(), pixel = spatial_ + 1, tap = 2 * spatial_ + 1;
    const Affine feature = sum_of(count, {{count - 1, 1}});
    Access error{error_.tensor, std::vector<Affine>(error_.subscripts.size())};
    Access taps{filter, {}};
    error.subscripts[in_error(conv_.image)] = sum_of(count, {{0, 1}});
    error.subscripts[in_error(conv_.feature)] = feature;
    Shape shape = {images()};
    body.out = {sum_of(count, {{0, 1}})};
    for (std::size_t k = 0; k < spatial_; ++k) {
      const Blocks &blocks = plan_.blocks[k];
      error.subscripts[in_error(conv_.spatial[k].output)] =
          sum_of(count, {{1 + k, blocks.move}, {tap + k, blocks.dilation}}, blocks.low);
      body.out.push_back(sum_of(count, {{1 + k, 1}}));
      body.out.push_back(sum_of(count, {{pixel + k, 1}}));
      shape.push_back(blocks.count);
      shape.push_back(blocks.pixels * (k + 1 == spatial_ ? plan_.channels : 1));
      taps.subscripts.push_back(sum_of(count, {{pixel + k, 1}}));
    }
    for (std::size_t k = 0; k < spatial_; ++k)
      taps.subscripts.push_back(sum_of(count, {{tap + k, 1}}));
    taps.subscripts.push_back(feature);
    body.in = {std::move(error), std::move(taps)};
    return add(std::move(shape), std::move(body), "");
  }

  // The blocks, which are an image, or what the gradient is of it.
  void store_result(TensorId blocks) {
    if (covers(plan_)) {
      statements_.push_back({statement_.out, View{blocks}, statement_.origin});
      return;
    }
    Shape shape = {images()};
    Contraction body;
    body.agg = Agg::Assign;
    body.indices.emplace_back("n");
    name_indices(body, "d", spatial_);
    body.indices.emplace_back("c");
    const std::size_t count = body.indices.size();
    body.out.resize(data().size());
    body.out[conv_.image_in_data] = sum_of(count, {{0, 1}});
    body.out[conv_.channel_in_data] = sum_of(count, {{count - 1, 1}});
    std::vector<Affine> read = {sum_of(count, {{0, 1}})};
    for (std::size_t k = 0; k < spatial_; ++k) {
      shape.push_back(plan_.blocks[k].count * plan_.blocks[k].pixels);
      read.push_back(sum_of(count, {{1 + k, 1}}, plan_.blocks[k].shift));
      body.out[conv_.spatial[k].in_data] = sum_of(count, {{1 + k, 1}});
    }
    shape.push_back(plan_.channels);
    read.push_back(sum_of(count, {{count - 1, 1}}));
    body.in = {{add(std::move(shape), View{blocks}, ""), std::move(read)}};
    statements_.push_back({statement_.out, std::move(body), statement_.origin + " pixels"});
  }

  Program &program_;
  std::vector<Statement> &statements_;
  const Statement &statement_;
  const Access &error_;
  const Convolution &conv_;
  const std::size_t spatial_; // dimensions
  Plan plan_;
};

} // namespace

bool sum_over_blocks(Program &program, std::vector<Statement> &statements,
                     const Statement &statement) {
  const auto *gradient = std::get_if<Contraction>(&statement.body);
  if (gradient == nullptr || gradient->in.size() != 2)
    return false;
  const Access &error = gradient->in[0], &filter = gradient->in[1];
  const DType type = program[error.tensor].type;
  if (!suits_matrix_units(program, type) || program[filter.tensor].type != type)
    return false;
  Contraction forward = *gradient;
  forward.in = {{statement.out, gradient->out}, filter};
  forward.out = error.subscripts;
  const std::optional<Convolution> conv = as_convolution(forward);
  return conv && BlockedGradient(program, statements, statement, error, *conv).run();
}

} // namespace tilefuse::program
