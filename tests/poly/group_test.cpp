// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/index.h"
#include "nest/evaluate/evaluate.h"
#include "nest/flatten/flat_statement.h"
#include "poly/group.h"
#include "poly/post_ops.h"
#include "tile/tile.h"

namespace tilefuse {
namespace {

using program::TensorId;

class Groups : public ::testing::Test {
protected:
  Groups() {
    library_.add("function mix(X[N, C, H, W], K[M, C]) -> (O) {\n"
                 "  O[n, m, y, x : N, M, H, W] = +(X[n, c, y, x] * K[m, c]);\n"
                 "}\n"
                 "function spread(X[N, C, H, W], K[C, M, R, S]; D) -> (O) {\n"
                 "  O[n, m, D*y + r - 1, D*x + s - 1 : N, M, D*H, D*W] =\n"
                 "      +(X[n, c, y, x] * K[c, m, r, s]);\n"
                 "}\n"
                 "function bias(X[N, C, H, W], B[C]) -> (Y) { Y = X + reshape(B, C, 1, 1); }\n"
                 "function relu(X) -> (Y) { Y = max(X, 0); }\n"
                 "function add(A, B) -> (Y) { Y = A + B; }\n"
                 "function join(A[N, C, H, W], B[N, D, H, W]) -> (O) {\n"
                 "  P[n, c, y, x : N, C + D, H, W] = =(A[n, c, y, x]);\n"
                 "  O[n, C + c, y, x : N, C + D, H, W] = =(B[n, c, y, x]) default P;\n"
                 "}\n",
                 "test");
    program_.name = "groups";
    x_ = program_.add(
        {.name = "x", .type = DType::F32, .shape = {1, 4, 3, 3}, .role = program::Role::Input});
    k_ = program_.add({.name = "k",
                       .type = DType::F32,
                       .shape = {4, 4},
                       .role = program::Role::Constant,
                       .data = std::make_shared<const program::Bytes>(64)});
    program_.inputs = {x_};
  }

  TensorId call(const char *function, std::vector<TensorId> args,
                tile::Attributes attributes = {}) {
    return library_.instantiate(function, args, attributes, program_, function).at(0);
  }
  std::vector<poly::PlacedGroup> groups(std::vector<TensorId> outputs) {
    program_.outputs = std::move(outputs);
    return poly::make_groups(program::assign_storage(program_));
  }

  tile::Library library_;
  program::Program program_;
  TensorId x_{};
  TensorId k_{};
};

TEST_F(Groups, MapsFuseIntoTheirOnlyProducer) {
  const std::vector<poly::PlacedGroup> all =
      groups({call("relu", {call("relu", {call("mix", {x_, k_})})})});
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].origin, "mix + relu");
  const std::string text = poly::to_text(all[0].group);
  EXPECT_EQ(poly::to_text(poly::parse_group(text)), text);
}

TEST_F(Groups, AResultReadTwiceStaysInMemory) {
  const TensorId mixed = call("mix", {x_, k_});
  EXPECT_EQ(groups({call("add", {call("relu", {mixed}), call("mix", {mixed, k_})})}).size(), 3u);
}

TEST_F(Groups, AResultThatLiesInAConcatenationIsNotFusedAway) {
  const TensorId piece = call("mix", {x_, k_});
  const TensorId other = call("mix", {x_, k_});
  const TensorId whole = call("join", {piece, other});
  const std::vector<poly::PlacedGroup> all = groups({call("relu", {whole}), call("relu", {piece})});
  EXPECT_EQ(all.size(), 4u);
}

TEST_F(Groups, AResidualSumFusesIntoTheLaterOfItsProducers) {
  const std::vector<poly::PlacedGroup> all =
      groups({call("relu", {call("add", {call("mix", {x_, k_}), x_})})});
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].group.anchor.extras.size(), 1u);
}

// The first output by running every group, buffers poisoned unless they promise zeros.
std::vector<double> run_groups(const program::StoredProgram &stored) {
  std::vector<program::Bytes> buffers;
  for (const program::Buffer &buffer : stored.buffers) {
    buffers.emplace_back(static_cast<std::size_t>(buffer.elems * 4));
    for (std::int64_t i = 0; i < buffer.elems; ++i)
      store_element(buffers.back().data(), DType::F32, i, buffer.needs_zero ? 0 : 1e6);
  }
  const auto buffer_of = [&](TensorId id) -> program::Bytes & {
    const program::Window &window = stored.windows[at(id)];
    return buffers[at(window.buffer)];
  };
  for (std::size_t t = 0; t < stored.program.tensors.size(); ++t) {
    const TensorId id{static_cast<int>(t)};
    const program::Role role = stored.program[id].role;
    for (std::int64_t i = 0;
         role != program::Role::Temporary && i < program::elems(stored.program[id].shape); ++i)
      store_element(buffer_of(id).data(), DType::F32, i, static_cast<double>(i * 7 % 11 - 5));
  }
  for (const poly::PlacedGroup &placed : poly::make_groups(stored)) {
    std::vector<std::span<std::byte>> slots;
    for (const program::BufferId buffer : placed.buffers)
      slots.emplace_back(buffers[at(buffer)]);
    nest::evaluate(placed.group.anchor, slots);
  }
  const TensorId out = stored.program.outputs.at(0);
  std::vector<double> values;
  for (std::int64_t i = 0; i < program::elems(stored.program[out].shape); ++i)
    values.push_back(load_element(buffer_of(out).data(), DType::F32, i));
  return values;
}

// Followers of a strided result fuse into each of its pieces, those included that only hold zeros.
TEST_F(Groups, MapsFuseIntoEveryPieceOfAStridedResult) {
  for (const auto &[stride, taps, pieces] : {std::tuple{2, 3, 4u}, {2, 4, 1u}, {3, 2, 9u}}) {
    program_.statements.clear();
    program_.outputs.clear();
    const TensorId filter =
        program_.add({.name = "f",
                      .type = DType::F32,
                      .shape = {4, 5, taps, taps},
                      .role = program::Role::Constant,
                      .data = std::make_shared<const program::Bytes>(80 * taps * taps)});
    const TensorId b = program_.add({.name = "b",
                                     .type = DType::F32,
                                     .shape = {5},
                                     .role = program::Role::Constant,
                                     .data = std::make_shared<const program::Bytes>(20)});
    const TensorId spread = call("spread", {x_, filter}, {{"D", std::int64_t{stride}}});
    const TensorId result = call("relu", {call("bias", {spread, b})});
    const std::vector<poly::PlacedGroup> fused = groups({result});
    EXPECT_EQ(fused.size(), pieces) << stride << " " << taps;
    for (const poly::PlacedGroup &placed : fused) {
      EXPECT_EQ(placed.origin, "spread + bias + relu");
      EXPECT_EQ(placed.group.anchor.extras.size(), 1u);
    }
    const std::vector<double> together = run_groups(program::assign_storage(program_));
    program_.outputs = {result, spread}; // another reader keeps the sum in memory, unfused
    EXPECT_EQ(together, run_groups(program::assign_storage(program_)));
    EXPECT_EQ(std::count(together.begin(), together.end(), 1e6), 0);
  }
}

TEST_F(Groups, DamagedTextIsAnError) {
  EXPECT_THROW(poly::parse_group("group\nnest"), Error);
  EXPECT_THROW(poly::parse_group(""), Error);
}

constexpr std::string_view kSummed = R"(group
anchor nest conv {
  index p 8, m 4 | c 2
  slot 0 f32 16, 1 f32 8, 2 f32 32
  acc f32 = sum mul
  in 0 + 0 [p:8*2, c:2*1]
  in 1 + 0 [m:4*2, c:2*1]
  out 2 + 0 [p:8*4, m:4*1]
  post acc
}
sum slots 2 3
nest gemm_part {
  index t 2, m 4 | p 4
  slot 0 f32 32, 1 f32 8
  acc f32 = sum
  in 0 + 0 [t:2*16, p:4*4, m:4*1]
  out 1 + 0 [t:2*4, m:4*1]
  post acc
}
)";

TEST(GroupSums, ReadWhatTheAnchorStores) {
  const poly::Group group = poly::parse_group(kSummed);
  EXPECT_FALSE(is_alone(group));
  EXPECT_EQ(poly::to_text(group), kSummed);
  EXPECT_EQ(poly::written_slots(group),
            (std::vector<nest::SlotId>{nest::SlotId{2}, nest::SlotId{3}}));
  std::vector<std::vector<float>> slots = {std::vector<float>(16, 1), std::vector<float>(8, 2),
                                           std::vector<float>(32), std::vector<float>(8)};
  std::vector<std::span<std::byte>> bytes;
  for (std::vector<float> &slot : slots)
    bytes.push_back(std::as_writable_bytes(std::span(slot)));
  poly::evaluate(group, bytes);
  EXPECT_EQ(slots[3], std::vector<float>(8, 16));
}

// Another input than the result; its own result; one that a member reads.
TEST(GroupSums, ReadNothingElseOfTheGroup) {
  for (const std::string_view slots : {"0 3", "3 3", "2 1"}) {
    std::string text(kSummed);
    text.replace(text.find("2 3\n"), 3, slots);
    EXPECT_THROW(poly::parse_group(text), Error) << slots;
  }
}

} // namespace
} // namespace tilefuse
