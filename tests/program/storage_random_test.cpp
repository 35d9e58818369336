// SPDX-License-Identifier: Apache-2.0
// Random programs of convolutions, maps, pools, concatenations, paddings, transpositions and views:
// storage never changes what they compute.
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/index.h"
#include "program/reference.h"
#include "program/rewrite/block_channels.h"
#include "program/storage/padded_storage.h"
#include "program/storage/storage.h"

namespace tilefuse::program {
namespace {

class Generator {
public:
  // `row`: the least elements of a row of the input.
  explicit Generator(unsigned seed, std::int64_t row = 2) : random_(seed) {
    program_.name = "random";
    const TensorId input = program_.add(
        {.name = "x", .shape = {pick(2) + 1, pick(3) + 1, 2, pick(2) + row}, .role = Role::Input});
    program_.inputs.push_back(input);
    pool_.push_back(input);
    if (pick(2) == 0)
      pool_.push_back(
          program_.add({.name = "k", .shape = program_[input].shape, .role = Role::Constant}));
  }

  Program make(int steps) {
    for (int i = 0; i < steps; ++i)
      step();
    const std::int64_t outputs = 1 + pick(3);
    program_.outputs.push_back(pool_.back());
    for (std::int64_t i = 1; i < outputs; ++i)
      program_.outputs.push_back(any());
    testing::fill_constants(program_);
    verify(program_);
    return std::move(program_);
  }

private:
  std::int64_t pick(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<unsigned>(n));
  }
  // Recent tensors are likelier.
  TensorId any() {
    const auto size = static_cast<std::int64_t>(pool_.size());
    const std::int64_t back = std::min(pick(size), pick(size));
    return pool_[at(size - 1 - back)];
  }
  Shape shape(TensorId id) const { return program_[id].shape; }

  TensorId emit(Shape shape, std::variant<Contraction, Map, View> body) {
    const TensorId out = program_.add({.name = "t", .shape = std::move(shape)});
    program_.statements.push_back({out, std::move(body), ""});
    pool_.push_back(out);
    return out;
  }

  void step() {
    const TensorId in = any();
    if (elems(shape(in)) > 400)
      return;
    switch (pick(8)) {
    case 0:
      return convolve(in);
    case 1:
    case 2:
      emit(shape(in),
           Map{call(ScalarOp::Max, {operand(0, DType::F32), constant(-1, DType::F32)}), {in}});
      return;
    case 3:
    case 4:
      return concatenate(in);
    case 5:
      return pad(in);
    case 6:
      emit(factors(elems(shape(in))), View{in});
      return;
    default:
      return transpose(in);
    }
  }

  static Affine index(std::size_t i, std::size_t count, std::int64_t constant = 0) {
    Affine affine;
    affine.coeff.resize(count);
    affine.coeff[i] = 1;
    affine.constant = constant;
    return affine;
  }

  // A 1x1 convolution over dimension 1, or a running sum of neighbours for lower ranks.
  void convolve(TensorId in) {
    const Shape from = shape(in);
    const std::size_t rank = from.size();
    if (rank < 3)
      return;
    const std::int64_t channels = pick(3) + 1;
    const TensorId weights =
        program_.add({.name = "w", .shape = {channels, from[1]}, .role = Role::Constant});
    Contraction body{.agg = Agg::Sum, .comb = Comb::Mul};
    for (std::size_t i = 0; i <= rank; ++i)
      body.indices.push_back(fmt::format("i{}", i));
    Access data{in, {}};
    for (std::size_t d = 0; d < rank; ++d) {
      body.out.push_back(index(d, rank + 1));
      data.subscripts.push_back(index(d == 1 ? rank : d, rank + 1));
    }
    body.in = {data, {weights, {index(1, rank + 1), index(rank, rank + 1)}}};
    Shape to = from;
    to[1] = channels;
    emit(std::move(to), std::move(body));
  }

  Contraction shifted(TensorId in, const Shape &at) {
    Contraction body{.agg = Agg::Assign};
    const std::size_t rank = at.size();
    Access access{in, {}};
    for (std::size_t d = 0; d < rank; ++d) {
      body.indices.push_back(fmt::format("i{}", d));
      body.out.push_back(index(d, rank, at[d]));
      access.subscripts.push_back(index(d, rank));
    }
    body.in.push_back(std::move(access));
    return body;
  }

  // Tensors of the same shape but for one axis, one behind the other; at times overlapping or with
  // a gap.
  void concatenate(TensorId first) {
    const Shape from = shape(first);
    if (from.empty())
      return;
    const auto axis = static_cast<std::size_t>(from.size() > 1 ? 1 : 0);
    std::vector<TensorId> parts = {first};
    for (TensorId id : pool_)
      if (parts.size() < 3 && is_alike(shape(id), from, axis) && pick(2) == 0)
        parts.push_back(id);
    Shape to = from;
    to[axis] = 0;
    for (TensorId id : parts)
      to[axis] += shape(id)[axis];
    const std::int64_t gap = pick(6) == 0 ? 1 : 0;
    to[axis] += gap;
    Shape at(from.size(), 0);
    std::optional<TensorId> last;
    for (TensorId id : parts) {
      Contraction body = shifted(id, at);
      body.init = last;
      last = emit(to, std::move(body));
      if (pick(8) != 0)
        pool_.pop_back();
      at[axis] += shape(id)[axis] - (pick(8) == 0 ? 1 : 0);
    }
    if (pool_.back() != *last)
      pool_.push_back(*last);
  }

  static bool is_alike(const Shape &a, const Shape &b, std::size_t axis) {
    if (a.size() != b.size())
      return false;
    for (std::size_t d = 0; d < a.size(); ++d)
      if (d != axis && a[d] != b[d])
        return false;
    return true;
  }

  void pad(TensorId in) {
    Shape to = shape(in);
    Shape at(to.size(), 0);
    for (std::size_t d = 0; d < to.size(); ++d) {
      at[d] = pick(2);
      to[d] += at[d] + pick(2);
    }
    emit(std::move(to), shifted(in, at));
  }

  void transpose(TensorId in) {
    const Shape from = shape(in);
    Contraction body = shifted(in, Shape(from.size(), 0));
    std::vector<std::size_t> order(from.size());
    for (std::size_t d = 0; d < order.size(); ++d)
      order[d] = d;
    std::shuffle(order.begin(), order.end(), random_);
    Shape to;
    for (std::size_t d = 0; d < order.size(); ++d) {
      body.out[d] = index(order[d], order.size());
      to.push_back(from[order[d]]);
    }
    emit(std::move(to), std::move(body));
  }

  Shape factors(std::int64_t count) {
    Shape result;
    while (count > 1 && result.size() < 5) {
      std::int64_t factor = 1 + pick(count);
      while (count % factor != 0)
        --factor;
      result.push_back(factor);
      count /= factor;
    }
    result.push_back(count);
    return result;
  }

  std::mt19937 random_;
  Program program_;
  std::vector<TensorId> pool_;
};

TEST(StorageRandom, EveryLayoutComputesTheSame) {
  std::size_t blocked_programs = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    const Program program = Generator(seed).make(3 + static_cast<int>(seed % 12));
    const Program blocked = block_channels(program, 2);
    const auto expected = testing::run(program);
    ASSERT_EQ(testing::run(blocked), expected) << "seed " << seed << "\n" << to_text(program);
    for (const Program *one : {&program, &blocked}) {
      const StoredProgram stored = assign_storage(*one, Layout::Nchw);
      ASSERT_EQ(testing::run(stored), expected) << "seed " << seed << "\n" << to_text(stored);
    }
    blocked_programs += to_text(blocked).find("_b") != std::string::npos ? 1 : 0;
  }
  EXPECT_GT(blocked_programs, 20U);
}

TEST(StorageRandom, PaddedRowsComputeTheSame) {
  std::size_t padded = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    const Program program = Generator(seed, 29).make(3 + static_cast<int>(seed % 12));
    const StoredProgram stored = assign_padded_storage(program);
    ASSERT_EQ(testing::run(stored), testing::run(program)) << "seed " << seed << "\n"
                                                           << to_text(stored);
    padded += to_text(stored) != to_text(assign_storage(program)) ? 1 : 0;
  }
  EXPECT_GT(padded, 100U);
}

TEST(StorageRandom, ComputesWhatTheProgramDoes) {
  std::size_t dropped = 0;
  std::size_t zeroed = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    const Program program = Generator(seed).make(3 + static_cast<int>(seed % 12));
    EXPECT_EQ(to_text(parse_program(to_text(program))), to_text(program));
    const StoredProgram stored = assign_storage(program);
    const auto expected = testing::run(program);
    const auto got = testing::run(stored);
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t k = 0; k < got.size(); ++k)
      ASSERT_EQ(got[k], expected[k]) << "seed " << seed << ", output " << k << "\n"
                                     << to_text(program) << to_text(stored);
    dropped += stored.program.statements.size() < program.statements.size() ? 1 : 0;
    for (const Buffer &buffer : stored.buffers)
      zeroed += buffer.needs_zero ? 1 : 0;
  }
  EXPECT_GT(dropped, 100U);
  EXPECT_GT(zeroed, 50U);
}

} // namespace
} // namespace tilefuse::program
