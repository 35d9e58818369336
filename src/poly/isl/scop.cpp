// SPDX-License-Identifier: Apache-2.0
#include "poly/isl/scop.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "base/index.h"
#include "nest/flatten/flat_statement.h"
#include "nest/flatten/flatten.h"
#include "nest/index.h"

namespace tilefuse::poly {
namespace {

using nest::Dim;
using nest::Linear;
using nest::Nest;
using nest::Operand;

// Words of isl's notation, in any case of their letters.
bool is_word_of_isl(const std::string &name) {
  constexpr std::array<std::string_view, 18> kWords = {
      "and",   "ceil", "ceild", "exists", "false", "floor", "floord", "implies", "infinity",
      "infty", "max",  "min",   "mod",    "nan",   "not",   "or",     "rat",     "true"};
  std::string lower = name;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::find(kWords.begin(), kWords.end(), lower) != kWords.end();
}

// The nest with indices that isl takes for names.
Nest with_plain_names(const Nest &nest) {
  Nest plain = nest;
  for (std::size_t i = 0; i < plain.indices.size(); ++i)
    if (is_word_of_isl(plain.indices[i].name))
      plain.indices[i].name += fmt::format("_{}", i);
  return plain;
}

std::string text_of(const Linear &form, const Nest &nest) {
  std::string text;
  for (std::size_t i = 0; i < form.coeff.size(); ++i) {
    const std::int64_t coeff = form.coeff[i];
    if (coeff == 0)
      continue;
    text += text.empty() ? (coeff < 0 ? "-" : "") : (coeff < 0 ? " - " : " + ");
    const std::int64_t size = std::abs(coeff);
    text += size == 1 ? nest.indices[i].name : fmt::format("{}{}", size, nest.indices[i].name);
  }
  if (text.empty())
    return fmt::format("{}", form.constant);
  if (form.constant != 0)
    text += fmt::format(" {} {}", form.constant < 0 ? '-' : '+', std::abs(form.constant));
  return text;
}

// A name for the subscript of dimension `d` that only the data tell, and its range.
std::string found_name(std::size_t d) { return fmt::format("found{}", d); }
std::string found_range(const Dim &dim, std::size_t d) {
  return fmt::format("0 <= {} < {}", found_name(d), dim.size);
}

// The element's place in memory, where no subscript depends on the data.
void add_place(const Operand &operand, const ScopNest &of, ScopAccess &access) {
  std::string place = text_of(nest::flat(operand, of.nest->indices.size()), *of.nest);
  std::vector<std::string> names;
  std::vector<std::string> ranges;
  for (std::size_t d = 0; d < operand.dims.size(); ++d)
    if (operand.dims[d].by) {
      names.push_back(found_name(d));
      ranges.push_back(found_range(operand.dims[d], d));
      place += fmt::format(" + {}{}", operand.dims[d].stride, found_name(d));
    }
  if (!names.empty()) {
    access.bounds.push_back(fmt::format("exists ({} : place = {} and {})", fmt::join(names, ", "),
                                        place, fmt::join(ranges, " and ")));
    place = "place";
  }
  access.subscripts.push_back(place);
}

ScopAccess access_of(const Operand &operand, const ScopNest &of) {
  const auto slot = static_cast<std::size_t>(operand.slot);
  ScopAccess access{of.memory[slot], {}, {}};
  if (of.by_place[slot]) {
    add_place(operand, of, access);
    return access;
  }
  for (std::size_t d = 0; d < operand.dims.size(); ++d) {
    const Dim &dim = operand.dims[d];
    access.subscripts.push_back(dim.by ? found_name(d) : text_of(dim.at, *of.nest));
    if (dim.by)
      access.bounds.push_back(found_range(dim, d));
  }
  return access;
}

// Ranges of the first `count` indices, guarded subscripts and constraints.
std::vector<std::string> bounds_of(const Nest &nest, std::size_t count, bool of_points) {
  std::vector<std::string> bounds;
  for (std::size_t i = 0; i < count; ++i)
    bounds.push_back(fmt::format("0 <= {} < {}", nest.indices[i].name, nest.indices[i].extent));
  if (!of_points)
    return bounds;
  for (const Operand &input : nest.inputs)
    for (const Dim &dim : input.dims)
      if (dim.guarded && !dim.by)
        bounds.push_back(fmt::format("0 <= {} < {}", text_of(dim.at, nest), dim.size));
  for (const nest::Constraint &constraint : nest.constraints)
    bounds.push_back(fmt::format("0 <= {} < {}", text_of(constraint.expr, nest), constraint.bound));
  return bounds;
}

// Statements of one nest, in order.
class Splitter {
public:
  Splitter(const ScopNest &of, std::size_t number, Scop &scop)
      : of_(of), nest_(*of.nest), number_(number), scop_(scop) {}

  void run() {
    const std::size_t outputs = static_cast<std::size_t>(nest_.output_indices);
    if (nest_.inputs.empty() || nest_.agg == program::Agg::Assign) {
      ScopStatement &all = add(nest_.indices.size(), {});
      read(all, nest_.inputs);
      read(all, nest_.extras);
      all.write = access_of(nest_.out, of_);
      return;
    }
    const bool has_post = nest_.post.kind != program::Expr::Kind::Acc;
    const ScopAccess result = has_post ? accumulator() : access_of(nest_.out, of_);
    add(outputs, {"0"}).write = result;
    ScopStatement &sum = add(nest_.indices.size(), {"1"});
    sum.is_reduction = true;
    sum.reads.push_back(result);
    read(sum, nest_.inputs);
    sum.write = result;
    if (!has_post)
      return;
    ScopStatement &post = add(outputs, {"2"});
    post.reads.push_back(result);
    read(post, nest_.extras);
    post.write = access_of(nest_.out, of_);
  }

private:
  // An instance per point of the first `count` indices; `phase` orders the parts of a contraction.
  ScopStatement &add(std::size_t count, std::vector<std::string> phase) {
    ScopStatement statement;
    statement.name = fmt::format("S{}", scop_.statements.size());
    statement.nest = number_;
    for (std::size_t i = 0; i < count; ++i)
      statement.indices.push_back(nest_.indices[i].name);
    const std::size_t outputs = std::min(count, static_cast<std::size_t>(nest_.output_indices));
    statement.bounds = bounds_of(nest_, count, count == nest_.indices.size());
    statement.time.push_back(fmt::format("{}", number_));
    statement.time.insert(statement.time.end(), statement.indices.begin(),
                          statement.indices.begin() + static_cast<std::ptrdiff_t>(outputs));
    statement.time.insert(statement.time.end(), phase.begin(), phase.end());
    statement.time.insert(statement.time.end(),
                          statement.indices.begin() + static_cast<std::ptrdiff_t>(outputs),
                          statement.indices.end());
    scop_.statements.push_back(std::move(statement));
    return scop_.statements.back();
  }

  void read(ScopStatement &statement, const std::vector<Operand> &operands) const {
    for (const Operand &operand : operands) {
      ScopAccess access = access_of(operand, of_);
      if (std::find(statement.reads.begin(), statement.reads.end(), access) ==
          statement.reads.end())
        statement.reads.push_back(std::move(access));
    }
  }

  ScopAccess accumulator() const {
    ScopAccess access{fmt::format("acc{}", number_), {}, {}};
    for (const nest::IndexId i : output_indices(nest_))
      access.subscripts.push_back(nest_.indices[i].name);
    return access;
  }

  const ScopNest &of_;
  const Nest &nest_;
  std::size_t number_;
  Scop &scop_;
};

bool is_chosen(const Chosen &chosen, const std::string &name) {
  return chosen.empty() || std::find(chosen.begin(), chosen.end(), name) != chosen.end();
}

std::string tuple(const std::string &name, const std::vector<std::string> &of) {
  return fmt::format("{}[{}]", name, fmt::join(of, ", "));
}

// "{ piece; piece }"
std::string braced(const std::vector<std::string> &pieces) {
  return fmt::format("{{ {} }}", fmt::join(pieces, "; "));
}

std::string condition(const ScopStatement &statement) {
  return statement.bounds.empty() ? "" : fmt::format(" : {}", fmt::join(statement.bounds, " and "));
}

std::string arrow(const ScopStatement &statement, const ScopAccess &access) {
  std::vector<std::string> bounds = statement.bounds;
  bounds.insert(bounds.end(), access.bounds.begin(), access.bounds.end());
  return fmt::format("{} -> {}{}", instance_text(statement),
                     tuple(access.memory, access.subscripts),
                     bounds.empty() ? "" : fmt::format(" : {}", fmt::join(bounds, " and ")));
}

// A name that isl reads: letters, digits and `_`.
std::string plain_name(const std::string &name, std::size_t id) {
  const bool is_plain =
      !name.empty() && std::isalpha(static_cast<unsigned char>(name.front())) != 0 &&
      std::all_of(name.begin(), name.end(),
                  [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
  return is_plain ? name : fmt::format("T{}", id);
}

// How the buffers of a program are called, and which are known by place.
class MemoryNames {
public:
  MemoryNames(const program::StoredProgram &stored, std::span<const std::string> in_place)
      : names_(stored.buffers.size()), by_place_(stored.buffers.size(), false) {
    std::vector<const program::Window *> first(stored.buffers.size(), nullptr);
    for (std::size_t t = 0; t < stored.windows.size(); ++t) {
      const program::Window &window = stored.windows[t];
      if (window.buffer == program::kNoBuffer)
        continue;
      const auto b = static_cast<std::size_t>(to_int(window.buffer));
      if (first[b] == nullptr) {
        first[b] = &window;
        names_[b] = plain_name(stored.program.tensors[t].name, t);
        if (std::count(names_.begin(), names_.end(), names_[b]) > 1)
          names_[b] = fmt::format("T{}", t);
      } else if (first[b]->offset != window.offset || first[b]->strides != window.strides) {
        by_place_[b] = true;
      }
    }
    for (const std::string &name : in_place)
      move_in_place(stored, name);
  }

  ScopNest describe(const nest::FlatStatement &flat) const {
    ScopNest described{&flat.nest, {}, {}};
    for (const program::BufferId id : flat.buffers) {
      const auto b = static_cast<std::size_t>(to_int(id));
      described.memory.push_back(names_[b]);
      described.by_place.push_back(by_place_[b]);
    }
    return described;
  }

  // Where the program's outputs lie.
  std::vector<std::string> outputs(const program::StoredProgram &stored) const {
    std::vector<std::string> memory;
    for (const program::TensorId id : stored.program.outputs)
      if (stored.windows[at(id)].buffer != program::kNoBuffer)
        memory.push_back(names_[buffer_of(stored, id)]);
    return memory;
  }

private:
  void move_in_place(const program::StoredProgram &stored, const std::string &name) {
    for (const program::Statement &statement : stored.program.statements) {
      const program::Tensor &out = stored.program[statement.out];
      if (out.name != name)
        continue;
      for (const program::TensorId id : program::reads(statement))
        if (stored.program[id].shape == out.shape) {
          names_[buffer_of(stored, statement.out)] = names_[buffer_of(stored, id)];
          return;
        }
    }
    throw Error(ErrorCode::Unsupported,
                fmt::format("no statement computes '{}' from a tensor of its shape", name));
  }

  static std::size_t buffer_of(const program::StoredProgram &stored, program::TensorId id) {
    return static_cast<std::size_t>(to_int(stored.windows[at(id)].buffer));
  }

  std::vector<std::string> names_;
  std::vector<bool> by_place_;
};

} // namespace

Scop make_scop(std::span<const ScopNest> nests) {
  Scop scop;
  for (std::size_t n = 0; n < nests.size(); ++n) {
    const Nest plain = with_plain_names(*nests[n].nest);
    const ScopNest of{&plain, nests[n].memory, nests[n].by_place};
    Splitter(of, n, scop).run();
  }
  return scop;
}

Scop make_scop(const program::StoredProgram &stored, std::span<const std::string> in_place) {
  const MemoryNames names(stored, in_place);
  std::vector<nest::FlatStatement> flats;
  for (const program::Statement &statement : stored.program.statements)
    for (nest::FlatStatement &flat : nest::flatten(stored, statement))
      flats.push_back(std::move(flat));
  std::vector<ScopNest> nests;
  for (const nest::FlatStatement &flat : flats)
    nests.push_back(names.describe(flat));
  Scop scop = make_scop(nests);
  scop.asked_for = names.outputs(stored);
  return scop;
}

std::string instance_text(const ScopStatement &statement) {
  return tuple(statement.name, statement.indices);
}

std::string time_text(const ScopStatement &statement) {
  return fmt::format("({})", fmt::join(statement.time, ", "));
}

std::string domain_text(const Scop &scop, const Chosen &chosen) {
  std::vector<std::string> pieces;
  for (const ScopStatement &statement : scop.statements)
    if (is_chosen(chosen, statement.name))
      pieces.push_back(instance_text(statement) + condition(statement));
  return braced(pieces);
}

std::string reads_text(const Scop &scop, const Chosen &chosen) {
  std::vector<std::string> pieces;
  for (const ScopStatement &statement : scop.statements)
    if (is_chosen(chosen, statement.name))
      for (const ScopAccess &access : statement.reads)
        pieces.push_back(arrow(statement, access));
  return braced(pieces);
}

std::string writes_text(const Scop &scop, const Chosen &chosen) {
  std::vector<std::string> pieces;
  for (const ScopStatement &statement : scop.statements)
    if (is_chosen(chosen, statement.name))
      pieces.push_back(arrow(statement, statement.write));
  return braced(pieces);
}

std::string schedule_text(const Scop &scop, const Chosen &chosen) {
  std::size_t longest = 0;
  for (const ScopStatement &statement : scop.statements)
    longest = std::max(longest, statement.time.size());
  std::vector<std::string> pieces;
  for (const ScopStatement &statement : scop.statements) {
    if (!is_chosen(chosen, statement.name))
      continue;
    std::vector<std::string> time = statement.time;
    time.resize(longest, "0");
    pieces.push_back(fmt::format("{} -> [{}]", instance_text(statement), fmt::join(time, ", ")));
  }
  return braced(pieces);
}

} // namespace tilefuse::poly
