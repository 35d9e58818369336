// SPDX-License-Identifier: Apache-2.0
#include <array>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/index.h"
#include "base/scanner.h"
#include "program/program.h"

namespace tilefuse::program {
namespace {

constexpr std::array<std::string_view, 5> kAggNames = {"sum", "product", "max", "min", "assign"};

std::string id_text(TensorId id) { return fmt::format("%{}", to_int(id)); }

std::string ids_text(const std::vector<TensorId> &ids) {
  std::string text;
  for (TensorId id : ids)
    text += (text.empty() ? "" : ", ") + id_text(id);
  return text;
}

std::string declaration_text(const Program &program, TensorId id) {
  const Tensor &tensor = program[id];
  return fmt::format("{} {} : {}[{}]", id_text(id), quoted(tensor.name), to_string(tensor.type),
                     fmt::join(tensor.shape, ", "));
}

std::string hash_text(const Tensor &tensor) {
  std::string hash = tensor.data_hash;
  if (tensor.data)
    hash = content_hash({reinterpret_cast<const char *>(tensor.data->data()), tensor.data->size()});
  return hash.empty() ? "" : " hash " + quoted(hash);
}

std::string subscripts_text(const std::vector<Affine> &subscripts, const Contraction &contraction) {
  std::string text;
  for (const Affine &subscript : subscripts)
    text += (text.empty() ? "" : ", ") + to_text(subscript, contraction.indices);
  return "[" + text + "]";
}

// What stands before operand k.
std::string comb_text(const Contraction &contraction, std::size_t k) {
  const Comb comb = contraction.comb;
  if (k == 0)
    return "";
  const std::size_t values = contraction.in.size() - contraction.picks.size();
  if (k >= values)
    return fmt::format("{}{} == ", k == values ? " at " : ", ",
                       contraction.indices[contraction.picks[k - values]]);
  if (compares(comb))
    return k == 1 ? " == " : " ? ";
  if (comb == Comb::Term)
    return ", ";
  return comb == Comb::Add ? " + " : " * ";
}

std::string body_text(const Contraction &contraction) {
  std::string operands;
  if (contraction.comb == Comb::Term)
    operands = to_text(contraction.term) + " of ";
  for (std::size_t k = 0; k < contraction.in.size(); ++k) {
    const Access &access = contraction.in[k];
    operands += comb_text(contraction, k);
    operands += id_text(access.tensor) + subscripts_text(access.subscripts, contraction);
  }
  std::string text = fmt::format("{}[{}]({}) -> {}", to_string(contraction.agg),
                                 fmt::join(contraction.indices, ", "), operands,
                                 subscripts_text(contraction.out, contraction));
  std::string_view separator = " where";
  for (const Constraint &constraint : contraction.constraints) {
    text += fmt::format("{} 0 <= {} < {}", separator, to_text(constraint.expr, contraction.indices),
                        constraint.bound);
    separator = ",";
  }
  if (contraction.init)
    text += " init " + id_text(*contraction.init);
  return text;
}

std::string body_text(const Map &map) {
  return fmt::format("map[{}]({})", ids_text(map.operands), to_text(map.expr));
}

std::string body_text(const View &view) { return fmt::format("view({})", id_text(view.in)); }

// Temporaries that are read or returned and that no statement defines.
std::vector<TensorId> undefined_temporaries(const Program &program) {
  std::vector<bool> defined(program.tensors.size(), false);
  std::vector<bool> used(program.tensors.size(), false);
  for (const Statement &statement : program.statements) {
    defined[at(statement.out)] = true;
    for (TensorId id : reads(statement))
      used[at(id)] = true;
  }
  for (TensorId id : program.outputs)
    used[at(id)] = true;
  std::vector<TensorId> result;
  for (std::size_t i = 0; i < program.tensors.size(); ++i)
    if (used[i] && !defined[i] && program.tensors[i].role == Role::Temporary)
      result.push_back(TensorId{static_cast<int>(i)});
  return result;
}

std::string declarations_text(const Program &program) {
  std::string text;
  for (TensorId id : program.inputs)
    text += fmt::format("  input {}\n", declaration_text(program, id));
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    if (program.tensors[i].role != Role::Constant)
      continue;
    const std::string declaration = declaration_text(program, TensorId{static_cast<int>(i)});
    text += fmt::format("  const {}{}\n", declaration, hash_text(program.tensors[i]));
  }
  for (TensorId id : undefined_temporaries(program))
    text += fmt::format("  temp {}\n", declaration_text(program, id));
  return text;
}

} // namespace

std::string_view to_string(Agg agg) { return kAggNames[at(agg)]; }

std::optional<Agg> parse_agg(std::string_view name) {
  for (std::size_t i = 0; i < kAggNames.size(); ++i)
    if (kAggNames[i] == name)
      return static_cast<Agg>(i);
  return std::nullopt;
}

std::string to_text(const Affine &affine, std::span<const std::string> indices) {
  std::string text;
  const auto append = [&](const Rational &value, std::string_view index) {
    if (value.is_zero())
      return;
    const bool negative = value < Rational(0);
    const Rational size = negative ? Rational(0) - value : value;
    text += text.empty() ? (negative ? "-" : "") : (negative ? " - " : " + ");
    if (index.empty())
      text += tilefuse::to_string(size);
    else if (size == Rational(1))
      text += index;
    else
      text += fmt::format("{}*{}", tilefuse::to_string(size), index);
  };
  for (std::size_t i = 0; i < affine.coeff.size(); ++i)
    append(affine.coeff[i], indices[i]);
  append(affine.constant, "");
  return text.empty() ? "0" : text;
}

std::string to_text(const Program &program) {
  std::string text =
      fmt::format("program {}{} {{\n", quoted(program.name), program.tf32 ? " tf32" : "");
  text += declarations_text(program);
  for (const Statement &statement : program.statements) {
    const std::string body =
        std::visit([](const auto &node) { return body_text(node); }, statement.body);
    text += fmt::format("  {} = {}", declaration_text(program, statement.out), body);
    if (!statement.origin.empty())
      text += " from " + quoted(statement.origin);
    text += '\n';
  }
  for (TensorId id : program.outputs)
    text += fmt::format("  output {}\n", id_text(id));
  return text + "}\n";
}

} // namespace tilefuse::program
