// SPDX-License-Identifier: Apache-2.0
#include "report/layers.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/index.h"
#include "base/nearest.h"
#include "program/origin.h"

namespace tilefuse::report {
namespace {

using program::TensorId;

constexpr std::size_t kMostListed = 200;

[[noreturn]] void fail_with_list(std::span<const std::string> origins, const std::string &message) {
  std::vector<std::string> notes;
  for (std::size_t k = 0; k < std::min(kMostListed, origins.size()); ++k)
    notes.push_back(fmt::format("--kernel {}  {}", k, origins[k]));
  if (origins.size() > kMostListed)
    notes.push_back(fmt::format("and {} more", origins.size() - kMostListed));
  throw Error(ErrorCode::Unsupported, message, {}, std::move(notes));
}

std::optional<std::size_t> to_number(const std::string &text) {
  std::size_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = problem == std::errc() && end == text.data() + text.size();
  return whole ? std::optional(number) : std::nullopt;
}

// Kernels with a node of exactly this name, or whose nodes' names hold it.
std::vector<std::size_t> kernels_with(std::span<const std::string> origins, const std::string &name,
                                      bool exactly) {
  std::vector<std::size_t> found;
  for (std::size_t k = 0; k < origins.size(); ++k) {
    const std::vector<std::string_view> nodes = program::origin_parts(origins[k]);
    if (std::any_of(nodes.begin(), nodes.end(), [&](std::string_view node) {
          return exactly ? node == name : node.find(name) != node.npos;
        }))
      found.push_back(k);
  }
  return found;
}

// Names of nodes, and the same without the operator in front.
std::vector<std::string> node_names(std::span<const std::string> origins) {
  std::vector<std::string> names;
  for (const std::string &origin : origins)
    for (const std::string_view node : program::origin_parts(origin)) {
      names.emplace_back(node);
      if (const std::size_t blank = node.find(' '); blank != node.npos)
        names.emplace_back(node.substr(blank + 1));
    }
  return names;
}

// One tensor of the whole program in the excerpt.
class Excerpt {
public:
  explicit Excerpt(const program::Program &program) : from_(program) { to_.name = program.name; }

  program::Program run(const std::vector<std::size_t> &statements) {
    std::vector<bool> taken(from_.statements.size(), false);
    for (const std::size_t s : statements)
      taken[s] = true;
    for (std::size_t s = 0; s < taken.size(); ++s)
      if (taken[s])
        add(from_.statements[s]);
    std::vector<bool> outside(from_.tensors.size(), false);
    for (const TensorId id : from_.outputs)
      outside[at(id)] = true;
    for (std::size_t s = 0; s < taken.size(); ++s)
      for (const TensorId id : program::reads(from_.statements[s]))
        if (!taken[s])
          outside[at(id)] = true;
    for (const TensorId id : defined_)
      if (outside[at(id)])
        to_.outputs.push_back(ids_.at(id));
    return std::move(to_);
  }

private:
  TensorId read(TensorId id) {
    const auto found = ids_.find(id);
    if (found != ids_.end())
      return found->second;
    program::Tensor tensor = from_[id];
    const bool constant = tensor.role == program::Role::Constant;
    tensor.role = constant ? program::Role::Constant : program::Role::Input;
    const TensorId local = to_.add(std::move(tensor));
    if (!constant)
      to_.inputs.push_back(local);
    return ids_[id] = local;
  }

  void add(program::Statement statement) {
    if (auto *map = std::get_if<program::Map>(&statement.body)) {
      for (TensorId &operand : map->operands)
        operand = read(operand);
    } else if (auto *view = std::get_if<program::View>(&statement.body)) {
      view->in = read(view->in);
    } else {
      auto &body = std::get<program::Contraction>(statement.body);
      for (program::Access &access : body.in)
        access.tensor = read(access.tensor);
      if (body.init)
        body.init = read(*body.init);
    }
    defined_.push_back(statement.out);
    const TensorId local = to_.add(from_[statement.out]);
    ids_[statement.out] = local;
    statement.out = local;
    to_.statements.push_back(std::move(statement));
  }

  const program::Program &from_;
  program::Program to_;
  std::map<TensorId, TensorId> ids_;
  std::vector<TensorId> defined_;
};

} // namespace

std::string join_origins(const program::Program &program,
                         const std::vector<std::size_t> &statements) {
  std::string joined;
  for (const std::size_t s : statements)
    joined = program::join_origins(joined, program.statements[s].origin);
  return joined;
}

std::vector<std::size_t> statements_of(const program::Program &program, const std::string &origin) {
  const std::vector<std::string_view> nodes = program::origin_parts(origin);
  std::vector<std::size_t> statements;
  for (std::size_t s = 0; s < program.statements.size(); ++s) {
    const auto own = program::origin_parts(program.statements[s].origin);
    if (std::all_of(own.begin(), own.end(), [&](std::string_view part) {
          return std::find(nodes.begin(), nodes.end(), part) != nodes.end();
        }))
      statements.push_back(s);
  }
  return statements;
}

program::Program excerpt(const program::Program &program,
                         const std::vector<std::size_t> &statements) {
  return Excerpt(program).run(statements);
}

std::size_t find_kernel(std::span<const std::string> origins, const std::string &said) {
  const std::size_t count = origins.size();
  if (said.empty())
    fail_with_list(origins, fmt::format("--kernel is missing; there are {} kernels", count));
  if (const std::optional<std::size_t> number = to_number(said)) {
    if (*number >= count)
      fail_with_list(origins, fmt::format("there is no kernel {}, need 0 to {}", said, count - 1));
    return *number;
  }
  std::vector<std::size_t> found; // all of whose nodes are named; else one of them; else in part
  for (std::size_t k = 0; k < count; ++k)
    if (origins[k] == said)
      found.push_back(k);
  for (const bool exactly : {true, false})
    if (found.empty())
      found = kernels_with(origins, said, exactly);
  if (found.empty())
    fail_with_list(origins, fmt::format("no kernel holds a node '{}'{}", said,
                                        did_you_mean(said, node_names(origins))));
  if (found.size() > 1)
    fail_with_list(origins, fmt::format("'{}' names kernels {}, need one of them", said,
                                        fmt::join(found, ", ")));
  return found.front();
}

std::vector<std::string> origins_of(const Explanation &explanation) {
  std::vector<std::string> origins;
  for (const ExplainedKernel &kernel : explanation)
    origins.push_back(kernel.origin);
  return origins;
}

std::string text_of(const Explanation &explanation, const std::string &said, bool everything) {
  if (!everything)
    return explanation[find_kernel(origins_of(explanation), said)].text();
  std::string text;
  for (const ExplainedKernel &kernel : explanation)
    text += (text.empty() ? "" : "\n") + kernel.text();
  return text;
}

Table kernel_list(std::span<const std::string> origins) {
  Table table{.columns = {{"#", "number", true}, {"nodes", "origin", false, Column::Fit::Cut}},
              .rows = {},
              .sums = {}};
  for (std::size_t k = 0; k < origins.size(); ++k)
    table.rows.push_back({cell(static_cast<std::int64_t>(k)), cell(origins[k])});
  return table;
}

} // namespace tilefuse::report
