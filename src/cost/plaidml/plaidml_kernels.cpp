// SPDX-License-Identifier: Apache-2.0
#include "cost/plaidml/plaidml_kernels.h"

#include <algorithm>
#include <set>

#include "base/index.h"
#include "cost/plaidml/plaidml_flatten.h"
#include "cost/plaidml/plaidml_program.h"

namespace tilefuse::cost::plaidml {
namespace {

using Ops = std::set<std::size_t>; // positions in the list, in order

class Fusion {
public:
  explicit Fusion(const program::Program &program)
      : program_(program), list_(primitive_ops(program)),
        stored_(row_major_storage(program, list_)), definition_(list_.values.size(), -1),
        uses_(list_.values.size()) {
    for (std::size_t o = 0; o < list_.ops.size(); ++o) {
      definition_[at(list_.ops[o].output)] = static_cast<int>(o);
      for (const Argument &arg : list_.ops[o].arguments)
        if (arg.value >= 0)
          uses_[at(arg.value)].insert(o);
    }
    for (std::size_t v = 0; v < list_.values.size(); ++v)
      renamed_.push_back(static_cast<int>(v));
  }

  std::vector<Kernel> run() {
    for (std::size_t o = 0; o < list_.ops.size(); ++o) {
      if (list_.ops[o].kind == Op::Kind::Contraction)
        add_contraction(o);
      else if (taken_.count(o) == 0)
        add_elementwise(o);
    }
    return std::move(kernels_);
  }

private:
  const Value &value(int id) const { return list_.values[at(id)]; }
  std::int64_t elems(int id) const { return program::elems(value(id).shape); }

  void add_contraction(std::size_t root);
  void add_elementwise(std::size_t root);
  void add_statement(Kernel &kernel, std::size_t op) const;
  void take(Kernel &kernel, Flattened &flattened, std::size_t root);
  Ops reach(std::size_t root) const;
  void add_consumers(std::size_t root, int of, Ops &group, std::vector<int> &frontier,
                     std::set<int> &seen) const;
  bool can_take(std::size_t root, std::size_t op) const;
  bool add_producers(std::size_t root, const Ops &group, Ops &candidates, std::size_t op) const;
  bool elide(const Op &op);
  std::set<int> outputs_of(std::size_t root, const Ops &group) const;

  const program::Program &program_;
  OpList list_;
  program::StoredProgram stored_;
  std::vector<int> definition_; // by value: the op that computes it, or -1
  std::vector<Ops> uses_;       // by value
  std::vector<int> renamed_;    // by value: what it is another name of, after elided renames
  Ops taken_;
  std::vector<Kernel> kernels_;
};

void Fusion::add_statement(Kernel &kernel, std::size_t op) const {
  const auto position = static_cast<std::size_t>(list_.ops[op].statement - &program_.statements[0]);
  if (std::find(kernel.statements.begin(), kernel.statements.end(), position) ==
      kernel.statements.end())
    kernel.statements.push_back(position);
}

void Fusion::add_contraction(std::size_t root) {
  const Op &op = list_.ops[root];
  std::vector<Flattened> parts = flatten_contraction(stored_, *op.statement);
  for (Flattened &part : parts) {
    Kernel kernel;
    add_statement(kernel, root);
    kernel.contraction = contraction_text(list_, *op.statement);
    kernel.clears_first = needs_zero(part.flat);
    if (kernel.clears_first || parts.size() > 1)
      kernel.outputs = {value(op.output).name};
    else
      take(kernel, part, root);
    kernel.flat = std::move(part.flat);
    kernels_.push_back(std::move(kernel));
  }
}

void Fusion::add_elementwise(std::size_t root) {
  const int out = list_.ops[root].output;
  if (elems(out) == 0)
    return;
  Kernel kernel;
  Flattened flattened = flatten_elementwise(value(out));
  take(kernel, flattened, root);
  kernel.flat = std::move(flattened.flat);
  if (!kernel.post_ops.empty())
    kernels_.push_back(std::move(kernel));
}

bool Fusion::can_take(std::size_t root, std::size_t op) const {
  const Op &candidate = list_.ops[op];
  const int out = list_.ops[root].output;
  if (candidate.kind == Op::Kind::Contraction || elems(candidate.output) != elems(out))
    return false;
  const program::Shape &result = value(out).shape;
  return std::all_of(candidate.arguments.begin(), candidate.arguments.end(),
                     [&](const Argument &arg) {
                       if (arg.value < 0 || elems(arg.value) == elems(out))
                         return true;
                       const program::Shape &shape = value(arg.value).shape;
                       if (shape.size() > result.size())
                         return false;
                       for (std::size_t d = 0; d < shape.size(); ++d)
                         if (shape[d] != 1 && shape[d] != result[result.size() - shape.size() + d])
                           return false;
                       return true;
                     });
}

// Adds the producers of `op` that are not there yet; false when one of them cannot be taken.
bool Fusion::add_producers(std::size_t root, const Ops &group, Ops &candidates,
                           std::size_t op) const {
  for (const Argument &arg : list_.ops[op].arguments) {
    if (arg.value < 0 || definition_[at(arg.value)] < 0)
      continue;
    const auto producer = static_cast<std::size_t>(definition_[at(arg.value)]);
    if (producer < root || group.count(producer) != 0 || candidates.count(producer) != 0 ||
        taken_.count(producer) != 0)
      continue;
    if (!can_take(root, producer))
      return false;
    candidates.insert(producer);
    if (!add_producers(root, group, candidates, producer))
      return false;
  }
  return true;
}

void Fusion::add_consumers(std::size_t root, int of, Ops &group, std::vector<int> &frontier,
                           std::set<int> &seen) const {
  for (const std::size_t consumer : uses_[at(of)]) {
    if (group.count(consumer) != 0 || taken_.count(consumer) != 0 || !can_take(root, consumer))
      continue;
    Ops candidates = {consumer};
    if (!add_producers(root, group, candidates, consumer))
      continue;
    group.insert(candidates.begin(), candidates.end());
    for (const std::size_t candidate : candidates) {
      for (const Argument &arg : list_.ops[candidate].arguments)
        if (arg.value >= 0 && seen.insert(arg.value).second)
          frontier.push_back(arg.value);
      seen.insert(list_.ops[candidate].output);
      frontier.push_back(list_.ops[candidate].output);
    }
  }
}

// The operations of the kernel that `root` begins, itself included.
Ops Fusion::reach(std::size_t root) const {
  Ops group = {root};
  std::set<int> seen;
  std::vector<int> frontier;
  for (const Argument &arg : list_.ops[root].arguments)
    if (arg.value >= 0 && seen.insert(arg.value).second)
      frontier.push_back(arg.value);
  seen.insert(list_.ops[root].output);
  frontier.push_back(list_.ops[root].output);
  while (!frontier.empty()) {
    const int next = frontier.back();
    frontier.pop_back();
    add_consumers(root, next, group, frontier, seen);
  }
  return group;
}

// A rename is dropped, unless both its names are known outside.
bool Fusion::elide(const Op &op) {
  if (op.kind != Op::Kind::Rename)
    return false;
  const int source = renamed_[at(op.arguments[0].value)];
  const bool known = value(source).is_output || definition_[at(source)] < 0;
  if (value(op.output).is_output && known)
    return false;
  renamed_[at(op.output)] = source;
  return true;
}

// Tensors that the program returns or another kernel reads.
std::set<int> Fusion::outputs_of(std::size_t root, const Ops &group) const {
  std::set<int> outputs;
  for (const std::size_t o : group) {
    const int out = list_.ops[o].output;
    const int stored = renamed_[at(out)];
    const auto &arguments = list_.ops[root].arguments;
    const bool is_input = std::any_of(arguments.begin(), arguments.end(),
                                      [&](const Argument &arg) { return arg.value == stored; });
    const bool read = std::any_of(uses_[at(out)].begin(), uses_[at(out)].end(),
                                  [&](std::size_t use) { return group.count(use) == 0; });
    if (!is_input && (value(out).is_output || read))
      outputs.insert(stored);
  }
  return outputs;
}

void Fusion::take(Kernel &kernel, Flattened &flattened, std::size_t root) {
  const Ops group = reach(root);
  std::vector<int> extra;
  for (const std::size_t o : group) {
    Op op = list_.ops[o];
    if (elide(op))
      continue;
    add_statement(kernel, o);
    if (op.kind == Op::Kind::Contraction)
      continue;
    for (Argument &arg : op.arguments) {
      if (arg.value < 0)
        continue;
      arg.value = renamed_[at(arg.value)];
      const int from = definition_[at(arg.value)];
      const bool outside = from < 0 || group.count(static_cast<std::size_t>(from)) == 0;
      if (outside && std::find(extra.begin(), extra.end(), arg.value) == extra.end())
        extra.push_back(arg.value);
    }
    kernel.post_ops.push_back(to_text(list_, op));
  }
  const program::Shape &result = value(list_.ops[root].output).shape;
  for (const int id : extra)
    flattened.flat.post_inputs.push_back(post_input(flattened, value(id), result));
  for (const int id : outputs_of(root, group))
    kernel.outputs.push_back(value(id).name);
  flattened.flat.post_ops = static_cast<std::int64_t>(kernel.post_ops.size());
  flattened.flat.kernel_outputs = static_cast<std::int64_t>(kernel.outputs.size());
  taken_.insert(group.begin(), group.end());
}

} // namespace

std::vector<Kernel> kernels(const program::Program &program) { return Fusion(program).run(); }

} // namespace tilefuse::cost::plaidml
