// SPDX-License-Identifier: Apache-2.0
#include "program/rewrite/rows_of_taps.h"

#include <algorithm>

#include "base/index.h"

namespace tilefuse::program {
namespace {

constexpr std::int64_t kRound = 4;    // taps and pixels of a row are multiples of this
constexpr std::int64_t kMostRows = 4; // from one result to the next, that lie side by side
constexpr std::int64_t kCopyBytes = 16;

std::int64_t round_up(std::int64_t value) { return (value + kRound - 1) / kRound * kRound; }

} // namespace

Affine sum_of(std::size_t indices, const std::vector<std::pair<std::size_t, std::int64_t>> &terms,
              std::int64_t constant) {
  Affine affine{std::vector<Rational>(indices), constant};
  for (const auto &[i, coeff] : terms)
    affine.coeff[i] = coeff;
  return affine;
}

// From the first of the rows that lie side by side to the first of the next ones.
std::int64_t RowsOfTaps::spacing(std::size_t k) const {
  const Window &window = conv_.spatial[k].window;
  const bool lie = k + 2 == conv_.spatial.size() && window.dilation == 1;
  return lie && window.step <= kMostRows ? window.step : 1;
}

std::int64_t RowsOfTaps::beside(std::size_t k) const {
  std::int64_t rows = spacing(k);
  if (k + 2 != conv_.spatial.size() || conv_.spatial[k].window.dilation != 1)
    return rows;
  const std::int64_t moved =
      channels() * size_bytes(program_[conv_.data].type) * conv_.spatial.back().window.step;
  while (rows * moved % kCopyBytes != 0)
    rows += spacing(k);
  return rows;
}

// From one tap to the next, in the units of the stored rows.
std::int64_t RowsOfTaps::apart(std::size_t k) const {
  return conv_.spatial[k].window.dilation * (beside(k) / spacing(k));
}

std::int64_t RowsOfTaps::channels() const {
  const std::int64_t count = program_[conv_.data].shape[conv_.channel_in_data];
  return count <= kFewChannels ? kFewChannels : kMostTapChannels;
}

std::int64_t RowsOfTaps::beside() const {
  return conv_.spatial.size() < 2 ? 1 : beside(conv_.spatial.size() - 2);
}

// Taps of a spatial dimension; those of the last are rounded up, rows that lie side by side are
// one.
std::int64_t RowsOfTaps::taps(std::size_t k) const {
  const std::int64_t count = program_[conv_.filter].shape[conv_.spatial[k].in_filter];
  return is_last(k) ? round_up(count) : (count + beside(k) - 1) / beside(k);
}

bool RowsOfTaps::is_tap(int index) const {
  return std::any_of(conv_.spatial.begin(), conv_.spatial.end(),
                     [&](const Spatial &spatial) { return spatial.tap == index; });
}

Shape RowsOfTaps::filter_parts() const {
  Shape parts = filter_shape();
  parts.back() /= pixel();
  parts.push_back(beside());
  parts.push_back(channels());
  return parts;
}

std::vector<Affine> RowsOfTaps::filter_subscripts() const {
  const Shape parts = filter_parts();
  const std::size_t rank = parts.size();
  std::vector<Affine> subscripts(rank - 1);
  subscripts[conv_.feature_in_filter] = sum_of(rank, {{0, 1}});
  subscripts[conv_.channel_in_filter] = sum_of(rank, {{rank - 1, 1}});
  for (std::size_t k = 0; k < conv_.spatial.size(); ++k)
    subscripts[conv_.spatial[k].in_filter] =
        k + 2 == conv_.spatial.size() ? sum_of(rank, {{k + 1, parts[rank - 2]}, {rank - 2, 1}})
                                      : sum_of(rank, {{k + 1, 1}});
  return subscripts;
}

TensorId RowsOfTaps::store_filter(const std::string &origin) const {
  Contraction body{.agg = Agg::Assign, .in = {{conv_.filter, filter_subscripts()}}};
  const Shape shape = filter_parts();
  for (std::size_t d = 0; d < shape.size(); ++d) {
    body.indices.push_back("d" + std::to_string(d));
    body.out.push_back(sum_of(shape.size(), {{d, 1}}));
  }
  const Tensor filter = program_[conv_.filter];
  const TensorId parts = program_.add({.name = filter.name, .type = filter.type, .shape = shape});
  statements_.push_back({parts, std::move(body), origin + " filter"});
  const TensorId runs =
      program_.add({.name = filter.name, .type = filter.type, .shape = filter_shape()});
  statements_.push_back({runs, View{parts}, origin});
  return runs;
}

Shape RowsOfTaps::filter_shape() const {
  Shape shape = {program_[conv_.filter].shape[conv_.feature_in_filter]};
  for (std::size_t k = 0; k < conv_.spatial.size(); ++k)
    shape.push_back(taps(k));
  shape.back() *= pixel();
  return shape;
}

bool RowsOfTaps::reads_inside() const {
  for (std::size_t k = 0; k < conv_.spatial.size(); ++k) {
    const Spatial &spatial = conv_.spatial[k];
    const Window &window = spatial.window;
    const std::int64_t taps = program_[conv_.filter].shape[spatial.in_filter];
    const std::int64_t last =
        window.step * (results_[k] - 1) + window.dilation * (taps - 1) - window.before;
    if (window.before > 0 || last >= program_[conv_.data].shape[spatial.in_data])
      return false;
  }
  return true;
}

TensorId RowsOfTaps::store_pixels(const PixelSource &source, const std::string &origin) const {
  const Tensor from = program_[conv_.data];
  const std::size_t rank = from.shape.size();
  const std::size_t count = rank + 1; // the last index: a row among those side by side
  Contraction body;
  body.agg = Agg::Assign;
  Access read{source.from, {}};
  for (std::size_t d = 0; d < rank; ++d) {
    body.indices.push_back("d" + std::to_string(d));
    read.subscripts.push_back(sum_of(count, {{d, 1}}));
  }
  body.indices.push_back("row");
  Shape shape = {from.shape[conv_.image_in_data]};
  body.out = {sum_of(count, {{conv_.image_in_data, 1}})};
  for (std::size_t k = 0; k < conv_.spatial.size(); ++k) {
    const Spatial &spatial = conv_.spatial[k];
    const std::int64_t reach =
        spatial.window.step / spacing(k) * (results_[k] - 1) + apart(k) * (taps(k) - 1) + 1;
    shape.push_back(is_last(k) ? round_up(reach) : reach);
    const bool merges = k + 2 == conv_.spatial.size();
    body.out.push_back(sum_of(count, {{spatial.in_data, 1}}, merges ? 0 : spatial.window.before));
    if (merges)
      read.subscripts[spatial.in_data] =
          sum_of(count, {{spatial.in_data, spacing(k)}, {rank, 1}}, -spatial.window.before);
  }
  for (std::size_t d = 0; d < source.before.size(); ++d)
    read.subscripts[d].constant = read.subscripts[d].constant - Rational(source.before[d]);
  body.in = {std::move(read)};
  shape.push_back(beside());
  body.out.push_back(sum_of(count, {{rank, 1}}));
  shape.push_back(channels());
  body.out.push_back(sum_of(count, {{conv_.channel_in_data, 1}}));
  return add_runs(std::move(shape), std::move(body), source, origin + " pixels");
}

// The stored pixels, with the channels of a row's pixels as one dimension.
TensorId RowsOfTaps::add_runs(Shape shape, Contraction body, const PixelSource &source,
                              const std::string &origin) const {
  const Tensor from = program_[conv_.data];
  const DType stored = source.made ? program_[source.from].type : from.type;
  TensorId pixels = program_.add({.name = from.name, .type = stored, .shape = shape});
  statements_.push_back({pixels, std::move(body), origin});
  if (source.made) {
    const TensorId raw = pixels;
    pixels = program_.add({.name = from.name, .type = from.type, .shape = shape});
    statements_.push_back({pixels, Map{*source.made, {raw}}, source.origin});
  }
  for (int merged = 0; merged < 2; ++merged) {
    const std::int64_t inner = shape.back();
    shape.pop_back();
    shape.back() *= inner;
  }
  const TensorId runs =
      program_.add({.name = from.name, .type = from.type, .shape = std::move(shape)});
  statements_.push_back({runs, View{pixels}, origin});
  return runs;
}

Contraction RowsOfTaps::over_runs(const Contraction &body, TensorId pixels,
                                  TensorId filter_id) const {
  Contraction wide;
  wide.comb = Comb::Mul;
  std::vector<std::size_t> place(body.indices.size());
  const auto keep = [&](int index) {
    place[at(index)] = wide.indices.size();
    wide.indices.push_back(body.indices[at(index)]);
  };
  for (std::size_t i = 0; i < body.indices.size(); ++i)
    if (static_cast<int>(i) != conv_.channel && !is_tap(static_cast<int>(i)))
      keep(static_cast<int>(i));
  for (std::size_t k = 0; !is_last(k); ++k)
    keep(conv_.spatial[k].tap);
  wide.indices.push_back("run");
  const std::size_t count = wide.indices.size();
  for (const Affine &subscript : body.out)
    for (std::size_t i = 0; i < subscript.coeff.size(); ++i)
      if (!subscript.coeff[i].is_zero())
        wide.out.push_back(sum_of(count, {{place[i], 1}}));
  Access data{pixels, {}}, filter{filter_id, {}};
  data.subscripts.push_back(sum_of(count, {{place[at(conv_.image)], 1}}));
  filter.subscripts.push_back(sum_of(count, {{place[at(conv_.feature)], 1}}));
  for (std::size_t k = 0; !is_last(k); ++k) {
    const Spatial &rows = conv_.spatial[k];
    data.subscripts.push_back(
        sum_of(count, {{place[at(rows.output)], rows.window.step / spacing(k)},
                       {place[at(rows.tap)], apart(k)}}));
    filter.subscripts.push_back(sum_of(count, {{place[at(rows.tap)], 1}}));
  }
  const Spatial &columns = conv_.spatial.back();
  data.subscripts.push_back(
      sum_of(count, {{place[at(columns.output)], pixel() * columns.window.step}, {count - 1, 1}}));
  filter.subscripts.push_back(sum_of(count, {{count - 1, 1}}));
  wide.in = {std::move(data), std::move(filter)};
  return wide;
}

} // namespace tilefuse::program
