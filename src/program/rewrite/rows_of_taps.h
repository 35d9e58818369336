// SPDX-License-Identifier: Apache-2.0
// Pixels of few channels in rows of taps: four or eight channels side by side with the padding
// around them, and the rows that a step passes over beside each other, so that the taps of a row
// are one run of elements, an index of its own. See first_layer.h for an example.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "program/program.h"
#include "program/rewrite/convolution.h"
#include "program/rewrite/pixel_source.h"

namespace tilefuse::program {

constexpr std::int64_t kFewChannels = 4;     // of a first layer
constexpr std::int64_t kMostTapChannels = 8; // of a pixel in a row

// Sums of terms, of a contraction with so many indices.
Affine sum_of(std::size_t indices, const std::vector<std::pair<std::size_t, std::int64_t>> &terms,
              std::int64_t constant = 0);

class RowsOfTaps {
public:
  // `results`: their extents along each spatial dimension. Statements are appended. The last
  // spatial dimension has no dilation.
  RowsOfTaps(Program &program, std::vector<Statement> &statements, const Convolution &conv,
             Shape results)
      : program_(program), statements_(statements), conv_(conv), results_(std::move(results)) {}

  // Channels of a stored pixel, with those that pad.
  std::int64_t channels() const;
  // Rows of which the pixels lie side by side: as many as there are from one result to the next, or
  // a few times as many where only so columns that results step over are whole copies.
  std::int64_t beside() const;
  // Elements of a column's pixels.
  std::int64_t pixel() const { return channels() * beside(); }
  // [m, row…, (column * rows beside + row) * channels + channel]
  Shape filter_shape() const;
  // The same with the last dimension in parts: [m, row…, column, row beside, channel].
  Shape filter_parts() const;
  // The filter's subscripts at an element of the parts; beyond its own where that is no tap.
  std::vector<Affine> filter_subscripts() const;

  // Whether no result reads beyond the data.
  bool reads_inside() const;
  // Stores data of the convolution, or of what it was converted from:
  // [n, row…, (column * rows beside + row) * channels + channel], with the padding. What is made of
  // elements is made of the padding's zeros, too.
  TensorId store_pixels(const PixelSource &source, const std::string &origin) const;

  // Stores the convolution's filter so, with zeros where there is no channel or tap.
  TensorId store_filter(const std::string &origin) const;

  // The convolution of `body` over runs: its result's indices in their order, the taps of all but
  // the last spatial dimension, and the run.
  Contraction over_runs(const Contraction &body, TensorId pixels, TensorId filter) const;

private:
  std::int64_t spacing(std::size_t k) const;
  std::int64_t beside(std::size_t k) const;
  std::int64_t apart(std::size_t k) const;
  std::int64_t taps(std::size_t k) const;
  bool is_tap(int index) const;
  bool is_last(std::size_t k) const { return k + 1 == conv_.spatial.size(); }
  TensorId add_runs(Shape shape, Contraction body, const PixelSource &source,
                    const std::string &origin) const;

  Program &program_;
  std::vector<Statement> &statements_;
  const Convolution &conv_;
  const Shape results_;
};

} // namespace tilefuse::program
