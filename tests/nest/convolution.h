// SPDX-License-Identifier: Apache-2.0
// A 2-D convolution as a program of one statement, for the tests of nests.
#pragma once

#include "nest/stored.h"

#include "base/index.h"

namespace tilefuse::test {

struct ConvolutionShape {
  std::int64_t batch = 1, in = 3, out = 4, height = 8, width = 8, kernel = 3;
  std::int64_t stride = 1, dilation = 1, pad = 1;
  std::int64_t span() const { return dilation * (kernel - 1) + 1; }
  std::int64_t out_height() const { return (height + 2 * pad - span()) / stride + 1; }
  std::int64_t out_width() const { return (width + 2 * pad - span()) / stride + 1; }
};

// O[n, m, y, x] = +(I[n, c, s*y + d*r - p, s*x + d*q - p] * K[m, c, r, q]) over given tensors I and
// K.
inline program::Statement convolution(program::TensorId out, program::TensorId input,
                                      program::TensorId filter, const ConvolutionShape &c) {
  program::Contraction body;
  body.agg = program::Agg::Sum;
  body.comb = program::Comb::Mul;
  body.indices = {"n", "m", "y", "x", "c", "r", "s"};
  const auto plain = [](std::size_t index) { return affine(7, {{index, 1}}); };
  body.out = {plain(0), plain(1), plain(2), plain(3)};
  body.in = {{input,
              {plain(0), plain(4), affine(7, {{2, c.stride}, {5, c.dilation}}, -c.pad),
               affine(7, {{3, c.stride}, {6, c.dilation}}, -c.pad)}},
             {filter, {plain(1), plain(4), plain(5), plain(6)}}};
  return {out, std::move(body), "Conv conv1"};
}

// Tensors 0 (input), 1 (filter, a constant without data) and 2 (result).
inline program::Program convolution_program(const ConvolutionShape &c) {
  program::Program program;
  const auto input =
      add_tensor(program, DType::F32, {c.batch, c.in, c.height, c.width}, program::Role::Input);
  const auto filter =
      add_tensor(program, DType::F32, {c.out, c.in, c.kernel, c.kernel}, program::Role::Constant);
  const auto out = add_tensor(program, DType::F32, {c.batch, c.out, c.out_height(), c.out_width()});
  program.inputs = {input};
  program.outputs = {out};
  program.statements.push_back(convolution(out, input, filter, c));
  return program;
}

// Dimension 1 innermost, the others in order.
inline void make_channels_last(program::StoredProgram &stored, program::TensorId id) {
  const program::Shape &shape = stored.program[id].shape;
  program::Shape &strides = stored.windows[at(id)].strides;
  std::int64_t stride = shape[1];
  for (std::size_t d = shape.size(); d-- > 2;) {
    strides[d] = stride;
    stride *= shape[d];
  }
  strides[0] = stride;
  strides[1] = 1;
}

} // namespace tilefuse::test
