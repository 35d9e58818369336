// SPDX-License-Identifier: Apache-2.0
#include "program/rewrite/defer_merges.h"

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/index.h"
#include "program/drop_dead.h"

namespace tilefuse::program {
namespace {

// For each dimension of `whole` how many of `parts`, in order, multiply to it; nothing where some
// dimension of `whole` is no such product, or none is one of several.
std::optional<std::vector<std::size_t>> merged_counts(const Shape &parts, const Shape &whole) {
  std::vector<std::size_t> counts;
  std::size_t next = 0;
  for (const std::int64_t size : whole) {
    std::int64_t product = 1;
    std::size_t count = 0;
    while (next < parts.size() && (count == 0 || product < size)) {
      product *= parts[next++];
      ++count;
    }
    if (count == 0 || product != size)
      return {};
    counts.push_back(count);
  }
  if (next != parts.size() || parts.size() == whole.size())
    return {};
  return counts;
}

class Deferring {
public:
  explicit Deferring(const Program &program) : result_(program), readers_(count_readers(program)) {}

  Program run() {
    std::vector<Statement> before = std::move(result_.statements);
    for (Statement &statement : before) {
      if (const auto *map = std::get_if<Map>(&statement.body); map != nullptr)
        if (const std::optional<TensorId> merged = merged_operand(*map, statement.out)) {
          defer(statement, *merged);
          continue;
        }
      note(statement);
      statements_.push_back(std::move(statement));
    }
    result_.statements = std::move(statements_);
    result_ = drop_dead(result_);
    verify(result_);
    return std::move(result_);
  }

private:
  static std::vector<int> count_readers(const Program &program) {
    std::vector<int> readers(program.tensors.size(), 0);
    for (const Statement &statement : program.statements) {
      const std::vector<TensorId> all = reads(statement);
      for (const TensorId id : std::set<TensorId>(all.begin(), all.end()))
        ++readers[at(id)];
    }
    for (const TensorId id : program.outputs)
      ++readers[at(id)];
    return readers;
  }

  // Products, and the views of them that merge dimensions.
  void note(const Statement &statement) {
    if (const auto *body = std::get_if<Contraction>(&statement.body);
        body != nullptr && body->comb == Comb::Mul && readers_[at(statement.out)] == 1)
      products_.insert(statement.out);
    const auto *view = std::get_if<View>(&statement.body);
    if (view != nullptr && products_.count(view->in) != 0 &&
        merged_counts(result_[view->in].shape, result_[statement.out].shape))
      merged_[statement.out] = view->in;
  }

  // What the map reads alone, in the shape of its result.
  std::optional<TensorId> merged_operand(const Map &map, TensorId out) const {
    for (const TensorId operand : map.operands)
      if (merged_.count(operand) != 0 && readers_[at(operand)] == 1 &&
          result_[operand].shape == result_[out].shape)
        return operand;
    return {};
  }

  // The map in the product's dimensions, and the view behind it.
  void defer(const Statement &statement, TensorId operand) {
    const TensorId source = merged_.at(operand);
    const Shape parts = result_[source].shape;
    const Tensor out = result_[statement.out];
    Map map = std::get<Map>(statement.body);
    for (TensorId &id : map.operands)
      id = id == operand ? source : parted(id, parts, out.shape, statement.origin);
    const TensorId whole = result_.add({.name = out.name, .type = out.type, .shape = parts});
    statements_.push_back({whole, std::move(map), statement.origin});
    statements_.push_back({statement.out, View{whole}, statement.origin});
    merged_[statement.out] = whole;
  }

  // An operand that broadcasts to `whole`, as one that broadcasts to `parts`.
  TensorId parted(TensorId id, const Shape &parts, const Shape &whole, const std::string &origin) {
    const std::vector<std::size_t> counts = *merged_counts(parts, whole);
    const Shape from = result_[id].shape;
    Shape shape;
    std::size_t end = parts.size();
    for (std::size_t d = whole.size(); d-- > whole.size() - from.size(); end -= counts[d])
      for (std::size_t p = end; p-- > end - counts[d];)
        shape.insert(shape.begin(), from[d + from.size() - whole.size()] == 1 ? 1 : parts[p]);
    if (shape == from)
      return id;
    const TensorId view =
        result_.add({.name = result_[id].name, .type = result_[id].type, .shape = shape});
    statements_.push_back({view, View{id}, origin});
    return view;
  }

  Program result_;
  const std::vector<int> readers_; // of the tensors that there were
  std::vector<Statement> statements_;
  std::set<TensorId> products_;         // with one reader
  std::map<TensorId, TensorId> merged_; // a view → what it merges
};

} // namespace

Program defer_merges(const Program &program) { return Deferring(program).run(); }

} // namespace tilefuse::program
