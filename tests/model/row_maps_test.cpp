// SPDX-License-Identifier: Apache-2.0
// Maps of rows with the statistics that they read, as one kernel of work-items (poly/join_statistics.h):
// normalisations and softmax are found, one schedule after the other gives on the simulator what the
// evaluator does, and what is read elsewhere stays apart.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "base/index.h"
#include "model/core_cases.h"
#include "model/oracle/check.h"
#include "model/passes.h"
#include "nest/maps_inputs.h"
#include "poly/join_statistics.h"
#include "program/storage/storage.h"
#include "schedule/members.h"
#include "search/groups.h"
#include "search/network/fusion.h"
#include "tile/tile.h"

namespace tilefuse::model {
namespace {

constexpr const char *kFunctions = R"(
function layer(X[N, C], G[C], B[C]) -> (O) {
  S[n : N] = +(X[n, c]);
  D = X - reshape(S * 0.03125, N, 1);
  V[n : N] = +(D[n, c] * D[n, c]);
  O = D / sqrt(reshape(V, N, 1) * 0.03125 + 0.001) * G + B;
}
function root(X[N, C], G[C], B[C]) -> (O) {
  V[n : N] = +(X[n, c] * X[n, c]);
  O = X / sqrt(reshape(V, N, 1) + 0.001) * G + B;
}
function softmax(X[N, C], G[C], B[C]) -> (O) {
  M[n : N] = >(X[n, c]);
  E = exp(X - reshape(M, N, 1));
  L[n : N] = +(E[n, c]);
  O = E / reshape(L, N, 1) + G * B;
}
function behind(X[N, C], G[C], B[C]) -> (O) {
  S[n : N] = +(X[n, c]);
  Q[n : N] = +(X[n, c] * X[n, c]);
  V = Q - S * S * 0.03125;
  O = (X - reshape(S * 0.03125, N, 1)) / sqrt(reshape(V, N, 1) + 0.001) * G + B;
}
function shared(X[N, C], G[C], B[C]) -> (O, P) {
  S[n : N] = +(X[n, c]);
  O = (X - reshape(S, N, 1)) * G + B;
  P[c : C] = +(S[n] * X[n, c]);
}
)";

std::vector<poly::PlacedGroup> groups_of(const std::string &function, std::int64_t rows,
                                         std::int64_t keys, const Target &target = h200()) {
  tile::Library library;
  library.add(kFunctions, "test");
  program::Program made;
  made.name = function;
  for (const program::Shape &shape :
       {program::Shape{rows, keys}, program::Shape{keys}, program::Shape{keys}})
    made.inputs.push_back(made.add({.name = fmt::format("t{}", made.inputs.size()),
                                    .type = DType::F32,
                                    .shape = shape,
                                    .role = program::Role::Input}));
  const std::vector<program::TensorId> args = made.inputs;
  made.outputs = library.instantiate(function, args, {}, made, function);
  return search::make_groups(program::assign_storage(prepare(made, target, {})), {}, target);
}

void expect_exact(const poly::Group &group, const schedule::Schedule &schedule) {
  const KernelCase kernel_case{
      .group = group, .schedule = schedule, .target = sm80(), .values = Values::Reals, .seed = 3};
  ASSERT_EQ(illegal(group, schedule, sm80()), std::nullopt);
  const auto divergence = check_simulated(Reference(kernel_case));
  EXPECT_FALSE(divergence) << divergence->stage << ": " << divergence->what << "\n"
                           << to_text(kernel_case);
}

TEST(RowMaps, NormalisationsAreOneKernel) {
  for (const char *function : {"layer", "root", "softmax"})
    for (const auto &[rows, keys] : {std::pair{64, 32}, {33, 96}, {7, 768}}) {
      const std::vector<poly::PlacedGroup> groups = groups_of(function, rows, keys);
      ASSERT_EQ(groups.size(), 1) << function << "\n"
                                  << fmt::format("{}", fmt::join(groups.back().notes, "\n"));
      const poly::Group &group = groups.front().group;
      EXPECT_TRUE(nest::maps_inputs(group.anchor)) << to_text(group);
      EXPECT_EQ(poly::parse_group(to_text(group)), group);
      expect_exact(group, search::pick(group, sm80()));
    }
}

// Rows in several steps of a work-item, rows past the last, rows that lanes do not divide.
TEST(RowMaps, SchedulesByHand) {
  const poly::Group group = groups_of("root", 33, 96).front().group;
  for (const char *sizes : {"tile d0:4 d1:96\n lane d0:4 d1:8\n vec d1:4\n reg d1:3\n",
                            "tile d0:8 d1:96\n lane d0:4 d1:8\n vec d1:4\n",
                            "tile d0:4 d1:96\n lane d1:32\n reg d0:4\n",
                            "tile d0:4 d1:96\n lane d0:4 d1:8\n reg d1:12\n"}) {
    const std::string text =
        fmt::format("schedule rows workitem\n {} loop d0 d1\n produce 1\nproducer 1\n"
                    "schedule rows workitem\n tile n:4\n lane n:4 c:8\n loop n c\n",
                    sizes);
    SCOPED_TRACE(text);
    expect_exact(group, schedule::parse_schedule(group, text));
  }
}

TEST(RowMaps, WhatIsReadElsewhereStaysApart) {
  EXPECT_GT(groups_of("shared", 64, 32).size(), 2);
  EXPECT_GT(groups_of("behind", 64, 32).size(), 1);    // a sum's post-op reads another
  EXPECT_GT(groups_of("layer", 8, 100'000).size(), 1); // longer than a block's work-items hold
}

} // namespace
} // namespace tilefuse::model
