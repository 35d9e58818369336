// SPDX-License-Identifier: Apache-2.0
#include "program/rewrite/merge_sums.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "base/index.h"
#include "program/drop_dead.h"
#include "program/rewrite/rewriter.h"

namespace tilefuse::program {
namespace {

// Every number that some operand has is added, once and whole.
bool reads_once(const Contraction &body) {
  return std::any_of(body.in.begin(), body.in.end(), [&](const Access &access) {
    return names_every_index(access.subscripts, body.indices.size());
  });
}

// Of all points: positions drop some.
bool is_whole_sum(const Contraction &body) {
  return body.agg == Agg::Sum && !body.init && body.constraints.empty() && body.picks.empty();
}

// By index of the inner sum the outer one's index that it is, one that is added for each that the
// inner sum reduces; nothing where the outer one reads anything but whole rows of it.
std::optional<std::vector<std::size_t>> match(const Contraction &inner, const Access &access,
                                              std::size_t indices) {
  std::vector<std::optional<std::size_t>> of(inner.indices.size());
  for (std::size_t d = 0; d < inner.out.size(); ++d) {
    const int from = plain_index(inner.out[d]);
    const int to = plain_index(access.subscripts[d]);
    if (from < 0 || to < 0 || of[at(from)])
      return std::nullopt;
    of[at(from)] = static_cast<std::size_t>(to);
  }
  std::vector<std::size_t> result;
  for (const std::optional<std::size_t> &each : of)
    result.push_back(each ? *each : indices++);
  return result;
}

Affine moved(const Affine &form, const std::vector<std::size_t> &to, std::size_t indices) {
  Affine result{std::vector<Rational>(indices), form.constant};
  for (std::size_t i = 0; i < form.coeff.size(); ++i)
    if (form.coeff[i] != Rational(0))
      result.coeff[to[i]] = form.coeff[i];
  return result;
}

std::optional<Contraction> merged(const Contraction &inner, const Contraction &outer) {
  const auto to = match(inner, outer.in[0], outer.indices.size());
  if (!to)
    return std::nullopt;
  Contraction body = outer;
  body.comb = inner.comb;
  body.term = inner.term;
  body.in = inner.in;
  for (std::size_t i = 0; i < inner.indices.size(); ++i)
    if ((*to)[i] >= outer.indices.size()) {
      std::string name = inner.indices[i];
      while (std::find(body.indices.begin(), body.indices.end(), name) != body.indices.end())
        name += "_";
      body.indices.push_back(name);
    }
  for (Affine &form : body.out)
    form.coeff.resize(body.indices.size());
  for (Access &access : body.in)
    for (Affine &form : access.subscripts)
      form = moved(form, *to, body.indices.size());
  return body;
}

} // namespace

Program merge_sums(const Program &program) {
  std::map<TensorId, int> readers;
  std::map<TensorId, std::size_t> sums;
  for (std::size_t s = 0; s < program.statements.size(); ++s) {
    for (const TensorId id : reads(program.statements[s]))
      ++readers[id];
    const auto *body = std::get_if<Contraction>(&program.statements[s].body);
    if (body != nullptr && is_whole_sum(*body) && reads_once(*body))
      sums[program.statements[s].out] = s;
  }
  for (const TensorId id : program.outputs)
    ++readers[id];
  std::vector<Statement> statements = program.statements;
  for (Statement &statement : statements) {
    auto *outer = std::get_if<Contraction>(&statement.body);
    if (outer == nullptr || !is_whole_sum(*outer) || outer->comb != Comb::None)
      continue;
    const TensorId id = outer->in[0].tensor;
    if (sums.count(id) == 0 || readers[id] != 1 || program[id].type != program[statement.out].type)
      continue;
    const auto &inner = std::get<Contraction>(statements[sums[id]].body);
    if (std::optional<Contraction> body = merged(inner, *outer))
      statement.body = std::move(*body);
  }
  return with_statements(program, std::move(statements), true);
}

} // namespace tilefuse::program
