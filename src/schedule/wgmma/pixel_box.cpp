// SPDX-License-Identifier: Apache-2.0
#include "schedule/wgmma/pixel_box.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "base/divide.h"
#include "base/index.h"
#include "base/range.h"
#include "nest/index.h"

namespace tilefuse::schedule {
namespace {

class Boxer {
public:
  explicit Boxer(const Gemm &gemm)
      : gemm_(gemm), box_(pixel_box(gemm)),
        data_(part_runs(gemm.nest, gemm.nest.inputs[at(gemm.roles.data)], gemm.roles.depth(),
                        gemm.roles.pixels, gemm.roles.walked)) {}

  TileMap run() {
    map_.offset = data_.offset;
    add_depth();
    const std::size_t in_row = in_rows(gemm_.roles, gemm_.schedule) ? 1 : 0;
    for (auto k = box_.indices.size() - in_row; k-- > 0 && map_.wrong.empty();) {
      const nest::Dim *dim = dim_of(data_, box_.indices[k]);
      if (dim == nullptr || is_placed(*dim))
        map_.wrong = no_walk(gemm_.nest, box_.indices[k], "data");
      else
        add(*dim, box_.sizes[k], dim->at.coeff[box_.indices[k]]);
    }
    for (const nest::Dim &dim : data_.dims)
      if (!is_placed(dim)) {
        add(dim, 1);
        end_blocks(dim);
      }
    if (std::all_of(map_.steps.begin(), map_.steps.end(), [](auto step) { return step == 1; }))
      map_.steps.clear();
    map_.wrong = unfit(map_, gemm_.tile.elem_bytes, "data");
    return std::move(map_);
  }

private:
  bool is_placed(const nest::Dim &dim) const {
    return std::find(placed_.begin(), placed_.end(), &dim) != placed_.end();
  }
  void add(const nest::Dim &dim, std::int64_t count, std::int64_t step = 1) {
    if (!map_.dims.empty())
      map_.steps.push_back(step);
    map_.add(dim.size, dim.stride, dim.at, count);
    placed_.push_back(&dim);
    if (halo_stages(gemm_.schedule) > 0)
      widen(map_.place.back(), map_.box.back());
  }

  const Gemm &gemm_;
  const PixelBox box_;
  const nest::Operand data_;
  std::vector<const nest::Dim *> placed_;
  std::int64_t rows_ = 1; // of a window, of the dimensions so far
  TileMap map_;

  // Lets the box hold what all taps read along a dimension, which starts at that of the lowest.
  void widen(nest::Linear &place, std::int64_t &count) {
    map_.row.coeff.resize(gemm_.nest.indices.size(), 0);
    const bool is_row = map_.box.size() == 1; // the depth's
    const auto moved = [&](IndexId i) { return std::exchange(place.coeff[at(i)], 0); };
    for (const IndexId i : gemm_.roles.walked)
      if (is_row && place.coeff[at(i)] != 0)
        map_.wrong = no_walk(gemm_.nest, i, "halo");
    if (is_row)
      return;
    for (const IndexId i : gemm_.roles.pixels) {
      map_.row.coeff[at(i)] += place.coeff[at(i)] * rows_;
      if (place.coeff[at(i)] > 1 && map_.wrong.empty())
        map_.wrong = outside({"halo.stride", place.coeff[at(i)], 1, 1}).value_or("");
    }
    for (const IndexId i : gemm_.roles.walked) {
      const std::int64_t step = moved(i);
      const std::int64_t span = step * (extent(gemm_.nest, i) - 1);
      map_.row.coeff[at(i)] += step * rows_;
      map_.row.constant -= std::min<std::int64_t>(0, span) * rows_;
      place.constant += std::min<std::int64_t>(0, span);
      count += std::abs(span);
    }
    rows_ *= count;
  }

  // A row of the box: elements of the depth, or of several neighbouring pixels' blocks.
  void add_depth() {
    const nest::Dim &depth = *dim_of(data_, gemm_.roles.depth());
    add(depth, in_panels(gemm_.roles, gemm_.schedule) ? extent(gemm_.nest, gemm_.roles.depth())
                                                      : gemm_.tile.depth);
    map_.dims[0] = extent(gemm_.nest, gemm_.roles.depth()); // a run is part of its dimension
    for (const IndexId i : gemm_.roles.grid) {
      const std::int64_t apart = depth.at.coeff[at(i)];
      map_.dims[0] += apart * (extent(gemm_.nest, i) - 1);
      if (extent(gemm_.nest, i) > 1 && map_.wrong.empty())
        map_.wrong = misaligned(std::abs(apart), gemm_.tile.elem_bytes, "data");
    }
    if (!in_rows(gemm_.roles, gemm_.schedule))
      return;
    const nest::Dim *row = dim_of(data_, box_.indices.back());
    if (row == nullptr || neighbour_of(gemm_.nest, gemm_.roles) != box_.indices.back()) {
      map_.wrong = no_walk(gemm_.nest, gemm_.roles.depths.front(), "data");
      return;
    }
    const std::int64_t block = map_.dims[0];
    const std::int64_t apart = row->stride / block * block;
    map_.dims[0] = (row->size - 1) * apart + block;
    map_.box[0] = ring_row_bytes(gemm_) / gemm_.tile.elem_bytes;
    for (std::size_t i = 0; i < map_.place[0].coeff.size(); ++i)
      map_.place[0].coeff[i] += row->at.coeff[i] * apart;
    map_.place[0].constant += row->at.constant * apart;
    placed_.push_back(row);
  }

  // A step may reach past the last block of the depth: what lies there is none of the reduction's.
  void end_blocks(const nest::Dim &dim) {
    const IndexId blocks = gemm_.roles.depths.front();
    if (!in_panels(gemm_.roles, gemm_.schedule) || dim.at.coeff[blocks] == 0)
      return;
    const std::int64_t end = dim.at.constant + extent(gemm_.nest, blocks);
    const bool is_alone =
        dim.at.coeff[blocks] == 1 &&
        std::count_if(dim.at.coeff.begin(), dim.at.coeff.end(), [](auto c) { return c != 0; }) == 1;
    const std::int64_t together =
        gemm_.tile.depth / extent(gemm_.nest, gemm_.roles.depth()); // in a step
    if (is_alone)
      map_.dims.back() = std::min(map_.dims.back(), end);
    else if (map_.wrong.empty())
      map_.wrong = overrun(extent(gemm_.nest, blocks), std::max<std::int64_t>(together, 1));
  }
};

} // namespace

bool has_box(const Gemm &gemm) {
  return in_rows(gemm.roles, gemm.schedule) ||
         std::any_of(gemm.roles.pixels.begin(), gemm.roles.pixels.end(),
                     [&](IndexId i) { return gemm.schedule.splits[at(i)].tile > 1; });
}

PixelBox pixel_box(const Gemm &gemm) {
  PixelBox box{.indices = gemm.roles.pixels};
  if (in_rows(gemm.roles, gemm.schedule))
    if (const auto first =
            std::find(box.indices.begin(), box.indices.end(), neighbour_of(gemm.nest, gemm.roles));
        first != box.indices.end())
      std::rotate(first, first + 1, box.indices.end());
  for (const IndexId i : box.indices)
    box.sizes.push_back(gemm.schedule.splits[at(i)].tile);
  return box;
}

std::optional<nest::Linear> first_of_row(const Gemm &gemm) {
  const RowBlocks row = gemm.row;
  if (row.used == 1 || row.step == 1)
    return {};
  const nest::Dim &dim =
      *dim_of(gemm.nest.inputs[at(gemm.roles.data)], neighbour_of(gemm.nest, gemm.roles).value());
  if (dim.stride / extent(gemm.nest, gemm.roles.depth()) != 1)
    return {};
  nest::Linear first = dim.at;
  for (const IndexId pixel : gemm.roles.pixels)
    first.coeff[at(pixel)] = 0;
  std::int64_t least = first.constant;
  for (std::size_t i = 0; i < first.coeff.size(); ++i)
    least += std::min<std::int64_t>(0, first.coeff[i] * (gemm.nest.indices[i].extent - 1));
  first.constant += round_up(std::abs(least), row.step); // never below 0
  return first;
}

TileMap box_map(const Gemm &gemm) { return Boxer(gemm).run(); }

std::int64_t ring_row_bytes(const Gemm &gemm) {
  return in_panels(gemm.roles, gemm.schedule)
             ? gemm.row.held * extent(gemm.nest, gemm.roles.depth()) * gemm.tile.elem_bytes
             : gemm.tile.row_bytes();
}

} // namespace tilefuse::schedule
