// SPDX-License-Identifier: Apache-2.0
#include "program/rewrite/read_broadcast.h"

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/index.h"
#include "program/drop_dead.h"
#include "program/rewrite/rewriter.h"

namespace tilefuse::program {
namespace {

// Sizes of the dimensions of several elements, in order.
Shape long_dims(const Shape &shape) {
  Shape dims;
  for (const std::int64_t size : shape)
    if (size != 1)
      dims.push_back(size);
  return dims;
}

class Reading {
public:
  explicit Reading(const Program &program)
      : result_(program), writer_(program.tensors.size(), nullptr) {
    for (const Statement &statement : program.statements)
      writer_[at(statement.out)] = &statement;
  }

  Program run(const Program &program) {
    for (const Statement &statement : program.statements) {
      Statement changed = statement;
      if (auto *map = std::get_if<Map>(&changed.body))
        for (TensorId &id : map->operands)
          id = before(id, statement.origin);
      statements_.push_back(std::move(changed));
    }
    return with_statements(std::move(result_), std::move(statements_), true);
  }

private:
  const Shape &shape(TensorId id) const { return result_[id].shape; }
  // Of what a program has from the start.
  template <typename Body> const Body *written_by(TensorId id) const {
    const Statement *statement = at(id) < writer_.size() ? writer_[at(id)] : nullptr;
    return statement == nullptr ? nullptr : std::get_if<Body>(&statement->body);
  }

  // What a map that only repeats it repeats.
  std::optional<TensorId> repeated(TensorId id) const {
    const auto *map = written_by<Map>(id);
    const bool repeats = map != nullptr && map->operands.size() == 1 &&
                         map->expr == operand(0, result_[id].type) &&
                         result_[map->operands[0]].type == result_[id].type;
    return repeats ? std::optional(map->operands[0]) : std::nullopt;
  }

  // The tensor that a map reads in the place of this one.
  TensorId before(TensorId id, const std::string &origin) {
    if (const std::optional<TensorId> inner = repeated(id))
      return before(*inner, origin);
    const auto *view = written_by<View>(id);
    const std::optional<TensorId> inner = view == nullptr ? std::nullopt : repeated(view->in);
    if (!inner || long_dims(shape(view->in)) != long_dims(shape(id)))
      return id;
    const auto known = views_.find(id);
    return known != views_.end() ? known->second
                                 : views_[id] = viewed(id, view->in, *inner, origin);
  }

  // `inner` with as many dimensions as the view of what repeats it has.
  TensorId viewed(TensorId view, TensorId outer, TensorId inner, const std::string &origin) {
    Shape own(shape(outer).size() - shape(inner).size(), 1);
    own.insert(own.end(), shape(inner).begin(), shape(inner).end());
    Shape sizes;
    std::size_t dim = 0;
    for (const std::int64_t size : shape(view)) {
      while (size != 1 && shape(outer)[dim] == 1)
        ++dim;
      sizes.push_back(size == 1 ? 1 : own[dim++]);
    }
    const TensorId added = add_like(result_, inner, sizes);
    statements_.push_back({added, View{inner}, origin});
    return added;
  }

  Program result_;
  std::vector<const Statement *> writer_; // by tensor
  std::vector<Statement> statements_;
  std::map<TensorId, TensorId> views_;
};

} // namespace

Program read_broadcast(const Program &program) { return Reading(program).run(program); }

} // namespace tilefuse::program
