// SPDX-License-Identifier: Apache-2.0
#include "program/gradient/gradient.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/index.h"
#include "base/scanner.h"
#include "program/drop_dead.h"
#include "program/gradient/gradient_builder.h"
#include "program/gradient/gradient_contraction.h"
#include "program/gradient/gradient_map.h"
#include "program/rewrite/split_maps.h"

namespace tilefuse::program {
namespace {

void check_floating(const Program &program, TensorId id, std::string_view what) {
  if (to_int(id) < 0 || at(id) >= program.tensors.size())
    throw Error(ErrorCode::Shape,
                fmt::format("a gradient {} tensor %{}: there is no such tensor", what, to_int(id)));
  if (!is_float(program[id].type))
    throw Error(ErrorCode::Type,
                fmt::format("a gradient {} {}: it is {}, a floating type is needed", what,
                            quoted(program[id].name), to_string(program[id].type)));
}

std::vector<TensorId> outputs_of(const Program &program, const GradientRequest &request) {
  if (!request.outputs.empty())
    return request.outputs;
  std::vector<TensorId> floating;
  for (TensorId id : program.outputs)
    if (is_float(program[id].type))
      floating.push_back(id);
  if (floating.empty())
    throw Error(ErrorCode::Type, "no output of the program is floating, so it has no gradient");
  return floating;
}

// Floating tensors that depend, through floating tensors, on one of `by`.
std::vector<bool> find_wanted(const Program &program, const std::vector<TensorId> &by) {
  std::vector<bool> wanted(program.tensors.size(), false);
  for (TensorId id : by)
    wanted[at(id)] = true;
  for (const Statement &statement : program.statements)
    for (TensorId id : reads(statement))
      if (wanted[at(id)] && is_float(program[statement.out].type))
        wanted[at(statement.out)] = true;
  return wanted;
}

// `name`, or with a number where an input is called so: inputs are bound by name.
std::string unused_input_name(const Program &program, const std::string &name) {
  const auto is_taken = [&](const std::string &candidate) {
    return std::any_of(program.inputs.begin(), program.inputs.end(),
                       [&](TensorId id) { return program[id].name == candidate; });
  };
  std::string candidate = name;
  for (int number = 2; is_taken(candidate); ++number)
    candidate = fmt::format("{} {}", name, number);
  return candidate;
}

void add_seeds(GradientBuilder &builder, const std::vector<TensorId> &outputs) {
  Program &program = builder.program();
  for (TensorId id : outputs) {
    const TensorId seed = program.add({.name = unused_input_name(program, builder.name_of(id)),
                                       .type = program[id].type,
                                       .shape = program[id].shape,
                                       .role = Role::Input});
    program.inputs.push_back(seed);
    builder.contribute(id, seed);
  }
}

// Terms are made of maps when a program is prepared for a device, after its gradient.
void check_terms(const Program &program) {
  for (const Statement &statement : program.statements) {
    const auto *body = std::get_if<Contraction>(&statement.body);
    if (body != nullptr && body->comb == Comb::Term)
      throw Error(ErrorCode::Unsupported, "a contraction of a term has no gradient",
                  statement.origin, {"write the term as a map before it"});
  }
}

void differentiate_all(GradientBuilder &builder, const std::vector<Statement> &statements) {
  for (auto s = statements.rbegin(); s != statements.rend(); ++s) {
    if (!builder.is_wanted(s->out))
      continue;
    builder.set_origin(s->origin.empty() ? "" : "gradient of " + s->origin);
    if (const std::optional<TensorId> gradient = builder.total(s->out))
      std::visit([&](const auto &body) { differentiate(builder, s->out, body, *gradient); },
                 s->body);
  }
}

// The gradient by `id` as a tensor of that name, which nothing else returns.
TensorId answer(GradientBuilder &builder, TensorId id, const std::vector<TensorId> &given) {
  Program &program = builder.program();
  const Tensor tensor = program[id];
  const std::string name = builder.name_of(id);
  const std::optional<TensorId> total = builder.total(id);
  const TensorId gradient = total ? *total : builder.fill(tensor.type, tensor.shape, 0);
  const bool is_own = program[gradient].role == Role::Temporary &&
                      std::find(given.begin(), given.end(), gradient) == given.end();
  if (is_own) {
    program[gradient].name = name;
    return gradient;
  }
  const TensorId copy = program.add({.name = name, .type = tensor.type, .shape = tensor.shape});
  program.statements.push_back({copy, Map{operand(0, tensor.type), {gradient}}, "gradient"});
  return copy;
}

} // namespace

Program gradient(const Program &given_program, const GradientRequest &request) {
  check_terms(given_program);
  const Program program = split_maps(given_program);
  const std::vector<TensorId> outputs = outputs_of(program, request);
  for (TensorId id : outputs)
    check_floating(program, id, "of");
  for (TensorId id : request.by)
    check_floating(program, id, "by");
  GradientBuilder builder(program, find_wanted(program, request.by));
  add_seeds(builder, outputs);
  differentiate_all(builder, program.statements);
  builder.set_origin("gradient");
  std::vector<TensorId> given = request.keep_outputs ? program.outputs : std::vector<TensorId>{};
  std::vector<TensorId> answers;
  for (TensorId id : request.by) {
    answers.push_back(answer(builder, id, given));
    given.push_back(answers.back());
  }
  if (request.keep_outputs)
    answers.insert(answers.end(), program.outputs.begin(), program.outputs.end());
  builder.program().outputs = std::move(answers);
  return drop_dead(std::move(builder.program()));
}

} // namespace tilefuse::program
