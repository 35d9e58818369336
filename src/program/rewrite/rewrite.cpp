// SPDX-License-Identifier: Apache-2.0
#include "program/rewrite/rewrite.h"

#include <array>

#include <fmt/format.h>

#include "base/error.h"
#include "base/index.h"
#include "base/scanner.h"
#include "program/rewrite/rewrite_im2col.h"
#include "program/rewrite/rewrite_winograd.h"

namespace tilefuse::program {
namespace {

struct Rewriting {
  std::string_view name;
  std::string (*run)(Program &program, const Product &product);
};

constexpr std::array kRewritings = {
    Rewriting{"im2col", rewrite_im2col},
    Rewriting{"winograd_f2",
              [](Program &program, const Product &product) {
                return rewrite_winograd(program, product, 2);
              }},
    Rewriting{"winograd_f4",
              [](Program &program, const Product &product) {
                return rewrite_winograd(program, product, 4);
              }},
};

} // namespace

std::vector<std::string> rewrite_names() {
  std::vector<std::string> names;
  for (const Rewriting &rewriting : kRewritings)
    names.emplace_back(rewriting.name);
  return names;
}

bool is_rewrite(std::string_view name) {
  return std::any_of(kRewritings.begin(), kRewritings.end(),
                     [&](const Rewriting &rewriting) { return rewriting.name == name; });
}

Program rewrite(const Program &program, std::string_view name, std::vector<std::string> *refused) {
  const auto found =
      std::find_if(kRewritings.begin(), kRewritings.end(),
                   [&](const Rewriting &rewriting) { return rewriting.name == name; });
  TILEFUSE_CHECK(found != kRewritings.end(), "there is no such rewriting");
  Program result = program;
  result.statements.clear();
  for (const Statement &statement : program.statements) {
    const auto *body = std::get_if<Contraction>(&statement.body);
    const std::optional<Product> product = product_of(program, statement);
    std::string reason = "it has conditions, or an index without a range of its own";
    if (product)
      reason = found->run(result, *product);
    if (product && reason.empty())
      continue;
    result.statements.push_back(statement);
    if (refused != nullptr && body != nullptr && body->comb == Comb::Mul)
      refused->push_back(
          fmt::format("{} does not fit {}: {}", name, quoted(statement.origin), reason));
  }
  verify(result);
  return result;
}

std::string_view rewritten_by(std::string_view origin) {
  for (const Rewriting &rewriting : kRewritings)
    if (origin.find(fmt::format("({} ", rewriting.name)) != std::string_view::npos)
      return rewriting.name;
  return {};
}

} // namespace tilefuse::program
