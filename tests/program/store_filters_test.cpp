// SPDX-License-Identifier: Apache-2.0
// Filters in the orders that products want: the same values, one copy for an order, and none where
// it costs more than it saves.
#include <algorithm>
#include <variant>

#include <gtest/gtest.h>

#include "program/gradient/gradient.h"
#include "program/reference.h"
#include "program/rewrite/store_filters.h"

namespace tilefuse::program {
namespace {

// Two convolutions behind a map, the second of a filter of one tap.
constexpr const char *kNetwork = R"(program "p" tf32 {
  input %0 "x" : f32[2, 3, 5, 4]
  input %1 "w" : f32[6, 3, 3, 3]
  input %2 "v" : f32[5, 6, 1, 1]
  %3 "a" : f32[2, 3, 5, 4] = map[%0](max($0, 0))
  %4 "b" : f32[2, 6, 5, 4] = sum[n, m, y, x, c, r, s](%3[n, c, y + r - 1, x + s - 1] * %1[m, c, r, s]) -> [n, m, y, x]
  %5 "c" : f32[2, 5, 5, 4] = sum[n, m, y, x, c](%4[n, c, y, x] * %2[m, c, 0, 0]) -> [n, m, y, x]
  output %5
})";

Program gradients(const std::string &text) {
  const Program forward = testing::program_of(text);
  Program program = gradient(forward, {.by = forward.inputs});
  program.tf32 = forward.tf32;
  return program;
}

bool reads(const Program &program, const char *subscripts) {
  return to_text(program).find(subscripts) != std::string::npos;
}

// Products with what they sum over last are fast, copies cost little.
double seconds(const Program &program) {
  const bool is_backward = reads(program, "-> [n, y + r - 1, x + s - 1, c]");
  const bool is_fast = reads(program, is_backward ? "[c, r, s, m])" : "[m, r, s, c])");
  return (is_fast ? 1 : 3) + 0.5 * static_cast<double>(program.statements.size());
}

std::size_t copies(const Program &program) {
  return static_cast<std::size_t>(
      std::count_if(program.statements.begin(), program.statements.end(), [](const auto &each) {
        const auto *body = std::get_if<Contraction>(&each.body);
        return body != nullptr && body->agg == Agg::Assign;
      }));
}

TEST(StoreFilters, GivesTheSameValues) {
  const Program before = gradients(kNetwork);
  const Program after = store_filters(before, seconds);
  EXPECT_EQ(copies(after), copies(before) + 2) << to_text(after); // "w", both ways
  EXPECT_EQ(testing::run(after), testing::run(before)) << to_text(after);
}

TEST(StoreFilters, ShareACopy) {
  const auto by_either = [](const Program &program) {
    return (reads(program, "[m, r, s, c])") ? 1 : 3) +
           0.5 * static_cast<double>(program.statements.size());
  };
  const Program before = gradients(kNetwork);
  const Program after = store_filters(before, by_either);
  EXPECT_EQ(copies(after), copies(before) + 1) << to_text(after);
  EXPECT_EQ(testing::run(after), testing::run(before)) << to_text(after);
}

// Of a narrower type they are stored anew from what a caller gives, and the narrowed one is gone where
// nobody reads it.
TEST(StoreFilters, OfANarrowerTypeAreStoredOnce) {
  const Program before = testing::program_of(R"(program "p" {
  input %0 "x" : f32[2, 3, 5, 4]
  input %1 "w" : f32[6, 3, 3, 3]
  %2 "w" : bf16[6, 3, 3, 3] = map[%1](bf16($0))
  %3 "a" : bf16[2, 3, 5, 4] = map[%0](bf16(max($0, 0)))
  %4 "b" : bf16[2, 6, 5, 4] = sum[n, m, y, x, c, r, s](%3[n, c, y + r - 1, x + s - 1] * %2[m, c, r, s]) -> [n, m, y, x]
  %5 "c" : bf16[2, 3, 5, 4] = sum[n, m, y, x, c, r, s](%4[n, m, y, x] * %2[m, c, r, s]) -> [n, c, y + r - 1, x + s - 1]
  output %5
})");
  const Program after = store_filters(before, seconds);
  EXPECT_EQ(copies(after), 2U) << to_text(after);
  EXPECT_EQ(after.statements.size(), before.statements.size() + 3) << to_text(after);
  EXPECT_TRUE(reads(after, "[m, r, s, c])") && reads(after, "[c, r, s, m])")) << to_text(after);
  EXPECT_EQ(testing::run(after), testing::run(before)) << to_text(after);
}

TEST(StoreFilters, OnlyWhatGainsAndMayBeRounded) {
  const Program before = gradients(kNetwork);
  EXPECT_EQ(to_text(store_filters(before, [](const Program &) { return 1.0; })), to_text(before));
  Program exact = before;
  exact.tf32 = false;
  EXPECT_EQ(to_text(store_filters(exact, seconds)), to_text(exact));
}

} // namespace
} // namespace tilefuse::program
