// SPDX-License-Identifier: Apache-2.0
// Exact ranges against isl, which is the oracle.
#include <gtest/gtest.h>
#include <isl/ctx.h>
#include <isl/ilp.h>
#include <isl/set.h>
#include <isl/val.h>

#include <random>

#include <fmt/format.h>

#include "base/error.h"
#include "base/index.h"
#include "nest/integer/bounds.h"

namespace tilefuse {
namespace {

using nest::Bounds;
using nest::Condition;
using nest::Domain;
using nest::Linear;

std::string text(const Linear &form) {
  std::string result = fmt::format("{}", form.constant);
  for (std::size_t v = 0; v < form.coeff.size(); ++v)
    result += fmt::format(" + {} x{}", form.coeff[v], v);
  return result;
}

// The integer range of `form`, by isl; nothing when there is no point.
std::optional<Bounds> by_isl(const std::vector<Condition> &conditions, const Linear &form) {
  std::string variables;
  for (std::size_t v = 0; v < form.coeff.size(); ++v)
    variables += fmt::format("{}x{}", v == 0 ? "" : ", ", v);
  std::string set = fmt::format("{{ [y] : exists {} : y = {}", variables, text(form));
  for (const Condition &condition : conditions)
    set += fmt::format(" and 0 <= {} < {}", text(condition.form), condition.bound);
  isl_ctx *context = isl_ctx_alloc();
  isl_set *values = isl_set_read_from_str(context, (set + " }").c_str());
  std::optional<Bounds> result;
  if (isl_set_is_empty(values) == isl_bool_false) {
    const auto end = [&](isl_val *value) {
      std::optional<std::int64_t> number;
      if (isl_val_is_int(value))
        number = isl_val_get_num_si(value);
      isl_val_free(value);
      return number;
    };
    result = Bounds{end(isl_set_dim_min_val(isl_set_copy(values), 0)),
                    end(isl_set_dim_max_val(isl_set_copy(values), 0))};
  }
  isl_set_free(values);
  isl_ctx_free(context);
  return result;
}

class Generator {
public:
  explicit Generator(unsigned seed) : random_(seed) {}
  int pick(int lo, int hi) { return std::uniform_int_distribution<int>(lo, hi)(random_); }

  Linear form(std::size_t variables, int terms) {
    Linear result{pick(-6, 6), std::vector<std::int64_t>(variables, 0)};
    for (int t = 0; t < terms; ++t)
      result.coeff[at(pick(0, static_cast<int>(variables) - 1))] =
          pick(0, 9) < 7 ? pick(-3, 3) : pick(-17, 17);
    return result;
  }

private:
  std::mt19937 random_;
};

TEST(Bounds, RangesAreThoseOfIntegerPoints) {
  int empty = 0, open = 0;
  for (unsigned seed = 0; seed < 400 && !HasFailure(); ++seed) {
    Generator generate(seed);
    const auto variables = static_cast<std::size_t>(generate.pick(1, 5));
    std::vector<Condition> conditions;
    for (std::size_t v = 0; v < variables; ++v) {
      Linear single{generate.pick(-5, 5), std::vector<std::int64_t>(variables, 0)};
      single.coeff[v] = generate.pick(0, 4) == 0 ? generate.pick(2, 5) : 1;
      if (generate.pick(0, 9) != 0)
        conditions.push_back({single, generate.pick(1, 40), "box"});
    }
    for (int c = generate.pick(0, 4); c > 0; --c)
      conditions.push_back({generate.form(variables, 3), generate.pick(1, 30), "row"});
    Domain domain(variables);
    for (const Condition &condition : conditions)
      domain.add(condition);
    const Linear form = generate.form(variables, 2);
    const std::optional<Bounds> wanted = by_isl(conditions, form);
    std::string description = "seed " + std::to_string(seed) + " of " + text(form);
    for (const Condition &condition : conditions)
      description += fmt::format("\n0 <= {} < {}", text(condition.form), condition.bound);
    SCOPED_TRACE(description);
    EXPECT_EQ(domain.is_empty(), !wanted.has_value());
    if (!wanted) {
      ++empty;
      EXPECT_FALSE(domain.conflict().empty());
      continue;
    }
    const std::optional<Bounds> got = domain.range(form);
    ASSERT_TRUE(got);
    EXPECT_EQ(got->lo, wanted->lo);
    EXPECT_EQ(got->hi, wanted->hi);
    open += wanted->is_finite() ? 0 : 1;
  }
  EXPECT_GT(empty, 20);
  EXPECT_GT(open, 5);
}

Condition on(std::vector<std::int64_t> coeff, std::int64_t constant, std::int64_t bound,
             std::string name) {
  return {{constant, std::move(coeff)}, bound, std::move(name)};
}

// 6 <= 4x + 2y <= 7 and 2x + y = 3 are one condition; the second is what is left.
TEST(Bounds, ParallelConditionsAreOne) {
  Domain domain(2);
  domain.add(on({4, 2}, -6, 2, "a"));
  domain.add(on({-2, -1}, 4, 2, "b"));
  domain.add(on({1, 0}, 0, 5, "c"));
  const std::optional<Bounds> y = domain.range(1);
  ASSERT_TRUE(y);
  EXPECT_EQ(y->lo, -5);
  EXPECT_EQ(y->hi, 3);
  domain.add(on({2, 1}, -4, 9, "d"));
  EXPECT_TRUE(domain.is_empty());
  EXPECT_EQ(domain.conflict(), (std::vector<std::string>{"d", "a"}));
}

// Every even number differs from every odd one, however far both run.
TEST(Bounds, HoleWithoutIntegersIsEmpty) {
  Domain domain(2);
  constexpr std::int64_t kFar = std::int64_t{1} << 39;
  domain.add(on({1, 0}, 0, kFar, "x"));
  domain.add(on({0, 1}, 0, kFar, "y"));
  domain.add(on({2, -2}, -1, 1, "odd"));
  EXPECT_EQ(domain.conflict(), std::vector<std::string>{"odd"});
}

TEST(Bounds, NamesAConflictOfSeveralConditions) {
  Domain domain(3);
  domain.add(on({1, 0, 0}, 0, 5, "x"));
  domain.add(on({0, 1, 0}, 0, 5, "y"));
  domain.add(on({0, 0, 1}, 0, 5, "z"));
  domain.add(on({1, 1, 0}, -9, 5, "sum"));
  const std::vector<std::string> names = domain.conflict();
  EXPECT_EQ(names, (std::vector<std::string>{"x", "y", "sum"}));
}

TEST(Bounds, NumbersTooLargeToReasonAboutAreRefused) {
  Domain domain(3);
  constexpr std::int64_t kHuge = (std::int64_t{1} << 61) - 1;
  domain.add(on({kHuge, kHuge - 2, 3}, 0, 7, "a"));
  domain.add(on({kHuge - 4, 5, kHuge - 6}, 0, 7, "b"));
  domain.add(on({7, kHuge - 8, kHuge - 10}, 0, 7, "c"));
  try {
    domain.range(0);
  } catch (const Error &error) {
    EXPECT_EQ(error.code(), ErrorCode::Limit);
  }
}

} // namespace
} // namespace tilefuse
