// SPDX-License-Identifier: Apache-2.0
// Two products with rows between them in one kernel (poly/row_group.h): a program's softmax between
// two products is found, one schedule after the other gives on the simulator what the evaluator
// does, and what does not fit is refused.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <string>

#include "base/index.h"
#include "model/core_cases.h"
#include "model/oracle/check.h"
#include "model/passes.h"
#include "poly/row_group.h"
#include "program/storage/storage.h"
#include "schedule/members.h"
#include "search/forms/row_product_forms.h"
#include "search/network/fusion.h"
#include "tile/tile.h"

namespace tilefuse::model {
namespace {

using program::TensorId;

// Attention whose scores, T, `scores` makes of the product S and further inputs.
std::string attention(const std::string &inputs, const std::string &scores) {
  return fmt::format(R"(
function attention(Q[B, H, M, D], K[B, H, N, D], V[B, H, N, C], {}) -> (O) {{
  S[b, h, m, n : B, H, M, N] = +(Q[b, h, m, d] * K[b, h, n, d]);
  {}
  X[b, h, m : B, H, M] = >(T[b, h, m, n]);
  E = exp(T - reshape(X, B, H, M, 1));
  L[b, h, m : B, H, M] = +(E[b, h, m, n]);
  P = E / reshape(L, B, H, M, 1);
  O[b, m, h, c : B, M, H, C] = +(P[b, h, m, n] * V[b, h, n, c]);
}}
)",
                     inputs, scores);
}

const std::string kBiased = attention("BIAS[H, M, N]", "T = S * 0.25 + reshape(BIAS, 1, H, M, N);");
// Windows that are shifted: a scale of each head, and a mask of each window of an image.
const std::string kMasked = attention("BIAS[H, M, N], SCALE[H], MASK[W, M, N]", R"(
  R = S * reshape(SCALE, 1, H, 1, 1) + reshape(BIAS, 1, H, M, N);
  T = reshape(reshape(R, B / W, W, H, M, N) + reshape(MASK, 1, W, 1, M, N), B, H, M, N);)");

struct Problem {
  std::int64_t batch = 2, heads = 3, rows = 37, keys = 37, depth = 64, values = 64;
  DType type = DType::F16;
};

// The groups that a function of such inputs becomes.
std::vector<poly::PlacedGroup> groups_of(const std::string &text,
                                         const std::vector<program::Shape> &shapes, DType type,
                                         const Target &target) {
  tile::Library library;
  library.add(text, "test");
  program::Program made;
  made.name = "attention";
  for (const program::Shape &shape : shapes)
    made.inputs.push_back(made.add({.name = fmt::format("t{}", made.inputs.size()),
                                    .type = type,
                                    .shape = shape,
                                    .role = program::Role::Input}));
  const std::vector<TensorId> args = made.inputs;
  made.outputs = library.instantiate("attention", args, {}, made, "attention");
  return search::make_groups(program::assign_storage(prepare(made, target, {})), {}, target);
}

std::vector<poly::PlacedGroup> groups_of(const Problem &p, const Target &target) {
  return groups_of(kBiased,
                   {{p.batch, p.heads, p.rows, p.depth},
                    {p.batch, p.heads, p.keys, p.depth},
                    {p.batch, p.heads, p.keys, p.values},
                    {p.heads, p.rows, p.keys}},
                   p.type, target);
}

void expect_right(const poly::Group &group, const schedule::Schedule &schedule) {
  const KernelCase kernel_case{
      .group = group, .schedule = schedule, .target = sm80(), .values = Values::Reals, .seed = 3};
  const auto divergence = check_simulated(Reference(kernel_case));
  EXPECT_FALSE(divergence) << divergence->stage << ": " << divergence->what << "\n"
                           << to_text(kernel_case);
}

poly::Group group_of(const Problem &p) {
  std::vector<poly::PlacedGroup> groups = groups_of(p, h200());
  EXPECT_EQ(groups.size(), 1) << p.rows << " x " << p.keys << "\n"
                              << fmt::format("{}", fmt::join(groups.back().notes, "\n"));
  return groups.back().group;
}

TEST(Rows, SoftmaxBetweenProductsIsOneKernel) {
  for (const Problem &p :
       {Problem{.batch = 1, .heads = 2},
        {.batch = 1, .heads = 2, .rows = 49, .keys = 49, .depth = 32, .values = 32},
        {.batch = 1, .heads = 1, .rows = 5, .keys = 100},
        {.batch = 1, .heads = 1, .rows = 70, .keys = 16},
        {.batch = 1, .heads = 1, .rows = 33, .keys = 90, .type = DType::BF16}}) {
    const poly::Group group = group_of(p);
    ASSERT_TRUE(has_rows(group)) << to_text(group);
    EXPECT_EQ(poly::parse_group(to_text(group)), group);
    EXPECT_EQ(poly::row_keys(group), p.keys);
    const std::vector<schedule::Schedule> all = search::row_product_schedules(group, sm80());
    EXPECT_GE(all.size(), 4);
    for (const schedule::Schedule &schedule : all) {
      EXPECT_EQ(schedule::parse_schedule(group, to_text(group, schedule)), schedule);
      expect_right(group, schedule);
    }
  }
}

// A mask's map has rows and keys as one number.
TEST(Rows, MaskedWindows) {
  for (const poly::PlacedGroup &placed : groups_of(
           kMasked, {{6, 3, 64, 32}, {6, 3, 64, 32}, {6, 3, 64, 32}, {3, 64, 64}, {3}, {3, 64, 64}},
           DType::F16, h200())) {
    const std::vector<schedule::Schedule> all = search::row_product_schedules(placed.group, sm80());
    ASSERT_GE(all.size(), 4);
    for (const schedule::Schedule &schedule : {all.front(), all.back()})
      expect_right(placed.group, schedule);
  }
}

TEST(Rows, LongRowsAndOtherTargetsAreRefused) {
  EXPECT_GT(groups_of({.keys = 1000}, h200()).size(), 1);
  Target cpu = h200();
  cpu.features = {};
  EXPECT_GT(groups_of({}, cpu).size(), 1);
  const poly::Group group = group_of({});
  schedule::Schedule schedule = search::row_product_schedules(group, sm80()).front();
  Target few = sm80();
  few.vector_registers = 64;
  EXPECT_NE(illegal(group, schedule, few).value_or("").find("row.registers"), std::string::npos);
  schedule.core.warp_columns = 2;
  EXPECT_TRUE(illegal(group, schedule, sm80()));
}

// Each rule of a group with rows.
TEST(Rows, WhatIsNoRowsIsNamed) {
  const poly::Group group = group_of({});
  const auto broken = [&](const auto &change) {
    poly::Group changed = group;
    change(changed);
    return poly::broken_rule(changed).value_or("");
  };
  EXPECT_EQ(broken([](poly::Group &) {}), "");
  EXPECT_NE(broken([](poly::Group &g) { g.producers.back().stored = true; }), "");
  EXPECT_NE(broken([](poly::Group &g) { g.producers.back().feed = poly::Feed::Map; }), "");
  EXPECT_NE(broken([](poly::Group &g) { g.producers[1].input = 0; }), "");
  EXPECT_NE(broken([](poly::Group &g) { g.anchor.agg = program::Agg::Max; }), "");
  EXPECT_NE(broken([](poly::Group &g) { std::swap(g.producers[1], g.producers[2]); }), "");
}

} // namespace
} // namespace tilefuse::model
