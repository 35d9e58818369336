// SPDX-License-Identifier: Apache-2.0
// Views, permutations and slices that kernels read and write through: which disappear, and that values stay.
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "program/reference.h"
#include "program/rewrite/absorb_movement.h"
#include "program/rewrite/movement.h"

namespace tilefuse::program {
namespace {

Program absorbed(const std::string &text) {
  const Program before = testing::program_of(text);
  Program after = absorb_movement(before);
  EXPECT_EQ(testing::run(after), testing::run(before)) << to_text(after);
  return after;
}

// Statements that copy what others compute.
std::size_t copies(const Program &program) {
  std::size_t count = 0;
  for (const Statement &statement : program.statements) {
    const auto movement = movement_of(program, statement);
    count += movement && !movement->is_view();
  }
  return count;
}

std::size_t maps_of_rank(const Program &program, std::size_t rank) {
  std::size_t count = 0;
  for (const Statement &statement : program.statements)
    count +=
        std::holds_alternative<Map>(statement.body) && program[statement.out].shape.size() == rank;
  return count;
}

std::string changed(std::string text, const std::string &from, const std::string &to) {
  const std::size_t at = text.find(from);
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

// Two maps behind groups, with a number per channel and a residual.
constexpr const char *kGroups = R"(program "p" {
  input %0 "x" : f32[2, 3, 2, 5]
  input %1 "z" : f32[2, 12, 5]
  const %2 "w" : f32[3, 4, 2, 3]
  const %3 "b" : f32[12, 1]
  %4 "t" : f32[2, 3, 4, 5] = sum[n, g, m, x, c, s](%0[n, g, c, x + s - 1] * %2[g, m, c, s]) -> [n, g, m, x]
  %5 "o" : f32[2, 12, 5] = view(%4)
  %6 "y" : f32[2, 12, 5] = map[%5, %3](max($0 + $1, 0))
  %7 "v" : f32[2, 12, 5] = map[%1, %6, %6]($0 + $1 * $2)
  output %7
})";

TEST(AbsorbMovement, MapsAreComputedInTheProductsShape) {
  for (const std::string &text :
       {std::string(kGroups),
        changed(kGroups, "map[%5, %3](max($0 + $1, 0))", "map[%5](max($0, 0))"),
        changed(changed(kGroups, "f32[12, 1]", "f32[1]"), "f32[2, 12, 5]\n  const",
                "f32[1, 5]\n  const"),
        changed(kGroups, "output %7", "output %5\n  output %7"),
        changed(kGroups, "map[%1, %6, %6]", "map[%1, %6, %5]")}) {
    const Program after = absorbed(text);
    EXPECT_EQ(maps_of_rank(after, 4), text.find("$1 * $2") == std::string::npos ? 1u : 2u)
        << to_text(after);
    EXPECT_EQ(maps_of_rank(after, 3), 0u) << to_text(after);
  }
}

// Heads of attention: rows of images lie beside each other, then heads; scales, slices, transposes, merged rows.
constexpr const char *kAttention = R"(program "p" {
  input %0 "x" : f32[2, 5, 6]
  const %1 "w" : f32[6, 96]
  const %2 "b" : f32[96]
  const %3 "eighth" : f32[]
  const %4 "v" : f32[32, 6]
  const %5 "c" : f32[6]
  %6 "t" : f32[5, 2, 6] = assign[i, j, k](%0[j, i, k]) -> [i, j, k]
  %7 "r" : f32[10, 6] = view(%6)
  %8 "p" : f32[10, 96] = sum[m, n, k](%7[m, k] * %1[k, n]) -> [m, n]
  %9 "q" : f32[5, 2, 96] = view(%8)
  %10 "a" : f32[5, 2, 96] = map[%9, %2]($0 + $1)
  %11 "q0" : f32[5, 2, 32] = assign[a, b, c](%10[a, b, c]) -> [a, b, c]
  %12 "k0" : f32[5, 2, 32] = assign[a, b, c](%10[a, b, c + 32]) -> [a, b, c]
  %13 "v0" : f32[5, 2, 32] = assign[a, b, c](%10[a, b, c + 64]) -> [a, b, c]
  %14 "q1" : f32[5, 4, 16] = view(%11)
  %15 "q2" : f32[4, 5, 16] = assign[i, j, k](%14[j, i, k]) -> [i, j, k]
  %16 "q3" : f32[4, 5, 16] = map[%15, %3]($0 * $1)
  %17 "k1" : f32[5, 4, 16] = view(%12)
  %18 "k2" : f32[4, 16, 5] = assign[i, j, k](%17[k, i, j]) -> [i, j, k]
  %19 "v1" : f32[5, 4, 16] = view(%13)
  %20 "v2" : f32[4, 5, 16] = assign[i, j, k](%19[j, i, k]) -> [i, j, k]
  %21 "s" : f32[4, 5, 5] = sum[p, m, n, k](%16[p, m, k] * %18[p, k, n]) -> [p, m, n]
  %22 "f" : f32[20, 5, 1] = view(%21)
  %23 "m" : f32[20, 1, 1] = max[o, k, i, a](%22[o, a, i]) -> [o, k, i]
  %24 "e" : f32[20, 5, 1] = map[%22, %23]($0 - $1)
  %25 "s" : f32[20, 1, 1] = sum[o, k, i, a](%24[o, a, i]) -> [o, k, i]
  %26 "y" : f32[20, 5, 1] = map[%24, %25]($0 * 2 + $1)
  %27 "g" : f32[4, 5, 5] = view(%26)
  %28 "o" : f32[4, 5, 16] = sum[p, m, n, k](%27[p, m, k] * %20[p, k, n]) -> [p, m, n]
  %29 "o1" : f32[5, 4, 16] = assign[i, j, k](%28[j, i, k]) -> [i, j, k]
  %30 "o2" : f32[10, 32] = view(%29)
  %31 "h" : f32[10, 6] = sum[m, n, k](%30[m, k] * %4[k, n]) -> [m, n]
  %32 "h1" : f32[10, 6] = map[%31, %5]($0 + $1)
  %33 "h2" : f32[5, 2, 6] = view(%32)
  %34 "h3" : f32[2, 5, 6] = assign[i, j, k](%33[j, i, k]) -> [i, j, k]
  %35 "z" : f32[2, 5, 6] = map[%34, %0]($0 + $1)
  output %35
})";

TEST(AbsorbMovement, AttentionCopiesNothing) {
  const Program after = absorbed(kAttention);
  // The first product and the last sum too few to step to each row: 6 and 5.
  EXPECT_EQ(copies(after), 2u) << to_text(after);
  for (const Statement &statement : after.statements)
    if (const auto *body = std::get_if<Contraction>(&statement.body); body != nullptr) {
      EXPECT_TRUE(body->constraints.empty()) << to_text(after);
    }
}

// A mean is divided where it is summed, not as a product of it.
TEST(AbsorbMovement, ScalesOfSumsStay) {
  const Program after = absorbed(R"(program "p" {
  input %0 "x" : f32[2, 3, 5]
  const %1 "w" : f32[4, 3]
  %2 "t" : f32[2, 3, 1] = sum[n, c, i, x](%0[n, c, x]) -> [n, c, i]
  %3 "u" : f32[2, 3] = view(%2)
  %4 "m" : f32[2, 3] = map[%3]($0 / 5)
  %5 "y" : f32[2, 4] = sum[n, m, c](%4[n, c] * %1[m, c]) -> [n, m]
  output %5
})");
  EXPECT_TRUE(std::holds_alternative<Contraction>(after.statements.back().body)) << to_text(after);
}

TEST(AbsorbMovement, ReadsThroughWhatItReaches) {
  // Padding stays on the dimensions that are as they were; a step and a row of a tensor are subscripts.
  for (const char *text : {R"(program "p" {
  input %0 "x" : f32[2, 6, 7, 3]
  const %1 "w" : f32[4, 3, 3, 3]
  %2 "t" : f32[2, 3, 6, 7] = assign[n, c, y, x](%0[n, y, x, c]) -> [n, c, y, x]
  %3 "o" : f32[2, 4, 6, 7] = sum[n, m, y, x, c, r, s](%2[n, c, y + r - 1, x + s - 1] * %1[m, c, r, s]) -> [n, m, y, x]
  output %3
})",
                           R"(program "p" {
  input %0 "x" : f32[3, 20, 40]
  const %1 "w" : f32[20, 4]
  %2 "t" : f32[10, 20] = assign[i, j](%0[1, 2*i, 39 - 2*j]) -> [i, j]
  %3 "o" : f32[10, 4] = sum[m, n, k](%2[m, k] * %1[k, n]) -> [m, n]
  output %3
})"})
    EXPECT_EQ(copies(absorbed(text)), 0u);
}

// Sums of channels, which lie last where a statistic of them is wanted, read rows of 14 pixels too.
TEST(AbsorbMovement, StatisticsOfSmallImages) {
  EXPECT_EQ(copies(absorbed(R"(program "p" {
  input %0 "x" : f32[2, 32, 14, 14]
  %1 "t" : f32[2, 14, 14, 32] = assign[n, y, x, c](%0[n, c, y, x]) -> [n, y, x, c]
  %2 "r" : f32[392, 32] = view(%1)
  %3 "s" : f32[392] = sum[o, a](%2[o, a]) -> [o]
  output %3
})")),
            0u);
}

TEST(AbsorbMovement, SomeCopiesStay) {
  for (const char *text : {// padding of a part of a tensor
                           R"(program "p" {
  input %0 "x" : f32[2, 9]
  const %1 "w" : f32[3]
  %2 "t" : f32[2, 6] = assign[i, j](%0[i, j + 2]) -> [i, j]
  %3 "o" : f32[2, 6] = sum[n, x, s](%2[n, x + s - 1] * %1[s]) -> [n, x]
  output %3
})",
                           // channels that are shuffled
                           R"(program "p" {
  input %0 "x" : f32[1, 48, 5]
  const %1 "w" : f32[8, 48]
  %2 "a" : f32[1, 3, 16, 5] = view(%0)
  %3 "b" : f32[1, 16, 3, 5] = assign[n, c, g, x](%2[n, g, c, x]) -> [n, c, g, x]
  %4 "c" : f32[1, 48, 5] = view(%3)
  %5 "o" : f32[1, 8, 5] = sum[n, m, x, c](%4[n, c, x] * %1[m, c]) -> [n, m, x]
  output %5
})",
                           // what something else reads too, where it is moved
                           R"(program "p" {
  input %0 "x" : f32[4, 32]
  const %1 "w" : f32[32, 6]
  %2 "o" : f32[4, 6] = sum[m, n, k](%0[m, k] * %1[k, n]) -> [m, n]
  %3 "t" : f32[6, 4] = assign[i, j](%2[j, i]) -> [i, j]
  output %2
  output %3
})"})
    EXPECT_EQ(copies(absorbed(text)), 1u) << text;
}

TEST(AbsorbMovement, ResultsAreWrittenWhereTheyAreMovedTo) {
  const Program after = absorbed(R"(program "p" {
  input %0 "x" : f32[12, 32]
  input %1 "r" : f32[2, 6, 2, 3]
  const %2 "w" : f32[32, 6]
  const %3 "b" : f32[6]
  const %4 "g" : f32[6, 1, 1]
  %5 "o" : f32[12, 6] = sum[m, n, k](%0[m, k] * %2[k, n]) -> [m, n]
  %6 "v" : f32[2, 2, 3, 6] = view(%5)
  %7 "a" : f32[2, 2, 3, 6] = map[%6, %3]($0 + $1)
  %8 "t" : f32[2, 6, 2, 3] = assign[n, c, y, x](%7[n, y, x, c]) -> [n, c, y, x]
  %9 "z" : f32[2, 6, 2, 3] = map[%8, %4, %1]($0 * $1 + $2)
  output %9
})");
  EXPECT_EQ(copies(after), 0u) << to_text(after);
}

TEST(AbsorbMovement, OneNumberScalesTheProduct) {
  const Program after = absorbed(R"(program "p" {
  input %0 "x" : f32[2, 2, 5]
  input %1 "y" : f32[5, 6]
  const %2 "s" : f32[1, 1]
  %3 "a" : f32[2, 2, 5] = map[%0, %2]($0 * $1)
  %4 "v" : f32[4, 5] = view(%3)
  %5 "b" : f32[5, 6] = map[%1](2 * $0)
  %6 "o" : f32[4, 6] = sum[m, n, k](%4[m, k] * %5[k, n]) -> [m, n]
  output %6
})");
  std::size_t maps = 0;
  for (const Statement &statement : after.statements)
    if (const auto *map = std::get_if<Map>(&statement.body); map != nullptr) {
      EXPECT_EQ(elems(after[statement.out].shape), 24) << to_text(after);
      ++maps;
    }
  EXPECT_EQ(maps, 2u);
}

// Random chains of movement, maps, sums and products.
class Chain {
public:
  explicit Chain(unsigned seed) : random_(seed) {}

  Program make() {
    Tensor input{.name = "x", .type = DType::F32, .shape = {2, 6, 4, 3}, .role = Role::Input};
    last_ = program_.add(input);
    program_.inputs = {last_};
    for (int step = 0; step < 9; ++step)
      (this->*kSteps[below(6)])();
    program_.outputs = {last_};
    testing::fill_constants(program_);
    verify(program_);
    return program_;
  }

private:
  using Step = void (Chain::*)();

  std::size_t below(std::size_t size) { return random_() % size; }
  const Shape &shape() const { return program_[last_].shape; }

  void set(Shape shape, std::variant<Contraction, Map, View> body) {
    last_ = program_.add({.name = "t", .type = DType::F32, .shape = std::move(shape)});
    program_.statements.push_back({last_, std::move(body), ""});
  }

  // An index a dimension.
  Contraction whole(Agg agg) const {
    Contraction body{.agg = agg};
    Access access{last_, {}};
    for (std::size_t d = 0; d < shape().size(); ++d)
      body.indices.push_back("i" + std::to_string(d));
    for (std::size_t d = 0; d < shape().size(); ++d)
      access.subscripts.push_back(plain(body, d));
    body.in = {access};
    return body;
  }
  static Affine plain(const Contraction &body, std::size_t index) {
    Affine form{std::vector<Rational>(body.indices.size()), {}};
    form.coeff[index] = 1;
    return form;
  }

  // Primes of the elements, in groups.
  void view() {
    Shape next = {1};
    std::int64_t rest = elems(shape());
    for (std::int64_t prime = 2; rest > 1;) {
      if (rest % prime != 0) {
        ++prime;
        continue;
      }
      rest /= prime;
      if (below(2) == 0)
        next.push_back(1);
      next.insert(next.begin() + static_cast<std::ptrdiff_t>(below(next.size())), prime);
      const std::size_t d = below(next.size() - 1);
      if (below(2) == 0) {
        next[d] *= next[d + 1];
        next.erase(next.begin() + static_cast<std::ptrdiff_t>(d) + 1);
      }
    }
    set(next, View{last_});
  }

  void permute() {
    std::vector<std::size_t> order(shape().size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random_);
    Contraction body = whole(Agg::Assign);
    Shape next;
    for (const std::size_t d : order) {
      next.push_back(shape()[d]);
      body.out.push_back(plain(body, d));
    }
    set(next, body);
  }

  void slice() {
    Contraction body = whole(Agg::Assign);
    Shape next = shape();
    const std::size_t d = below(next.size());
    if (next[d] < 3)
      return;
    next[d] -= 2;
    body.in[0].subscripts[d].constant = Rational(static_cast<std::int64_t>(below(3)));
    for (std::size_t i = 0; i < next.size(); ++i)
      body.out.push_back(plain(body, i));
    set(next, body);
  }

  void map() {
    Shape with = shape();
    for (std::int64_t &size : with)
      size = below(2) == 0 ? 1 : size;
    with.erase(with.begin(), with.begin() + static_cast<std::ptrdiff_t>(below(with.size())));
    const TensorId other =
        program_.add({.name = "c", .type = DType::F32, .shape = with, .role = Role::Constant});
    Map body;
    body.operands = {last_, other};
    body.expr = call(below(2) == 0 ? ScalarOp::Add : ScalarOp::Mul,
                     {operand(0, DType::F32), operand(1, DType::F32)});
    set(shape(), body);
  }

  void sum() {
    const std::size_t d = below(shape().size());
    if (elems(shape()) / shape()[d] < 4)
      return;
    Contraction body = whole(Agg::Sum);
    Shape next = shape();
    for (std::size_t i = 0; i < next.size(); ++i)
      if (i != d)
        body.out.push_back(plain(body, i));
    next.erase(next.begin() + static_cast<std::ptrdiff_t>(d));
    set(next, body);
  }

  // Over the last dimension, by a constant of as many columns.
  void multiply() {
    Contraction body = whole(Agg::Sum);
    body.comb = Comb::Mul;
    body.indices.push_back("n");
    for (Affine &form : body.in[0].subscripts)
      form.coeff.emplace_back();
    const std::size_t k = shape().size() - 1, n = k + 1;
    const TensorId by = program_.add({.name = "w",
                                      .type = DType::F32,
                                      .shape = {shape()[k], shape()[k]},
                                      .role = Role::Constant});
    body.in.push_back({by, {plain(body, k), plain(body, n)}});
    for (std::size_t i = 0; i < k; ++i)
      body.out.push_back(plain(body, i));
    body.out.push_back(plain(body, n));
    set(shape(), body);
  }

  static constexpr Step kSteps[] = {&Chain::view, &Chain::permute,  &Chain::slice,
                                    &Chain::map,  &Chain::multiply, &Chain::sum};

  std::mt19937 random_;
  Program program_;
  TensorId last_{};
};

TEST(AbsorbMovement, RandomChainsKeepTheirValues) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    const Program before = Chain(seed).make();
    const Program after = absorb_movement(before);
    ASSERT_EQ(testing::run(after), testing::run(before)) << seed << "\n"
                                                         << to_text(before) << to_text(after);
  }
}

} // namespace
} // namespace tilefuse::program
