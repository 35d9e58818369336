// SPDX-License-Identifier: Apache-2.0
#include "program/rewrite/share_concatenations.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/index.h"
#include "program/storage/boxes.h"

namespace tilefuse::program {
namespace {

// Pieces side by side along one dimension, each copied by a statement.
struct Concatenation {
  std::size_t axis = 0;
  std::vector<TensorId> pieces;
  std::vector<std::size_t> statements; // by piece
};

// What tells concatenations apart: dimension, type, pieces.
struct Key {
  std::size_t axis;
  DType type;
  std::vector<TensorId> pieces;
  auto operator<=>(const Key &) const = default;
};

class Sharing {
public:
  explicit Sharing(const Program &program) : program_(program) {
    for (std::size_t s = 0; s < program.statements.size(); ++s) {
      definition_[program.statements[s].out] = s;
      for (const TensorId id : reads(program.statements[s]))
        ++readers_[id];
      if (const TensorId *init = init_of(program.statements[s]))
        continued_.insert(*init);
    }
    for (const TensorId id : program.outputs)
      ++readers_[id];
  }

  Program run() {
    Program result = program_;
    std::set<std::size_t> dropped;
    for (std::size_t s = 0; s < program_.statements.size(); ++s)
      if (const std::optional<Concatenation> found = ending_in(s)) {
        shorten(*found, result, dropped);
        known_.emplace(key(*found, found->pieces.size()), program_.statements[s].out);
      }
    std::vector<Statement> kept;
    for (std::size_t s = 0; s < result.statements.size(); ++s)
      if (!dropped.contains(s))
        kept.push_back(std::move(result.statements[s]));
    result.statements = std::move(kept);
    return result;
  }

private:
  static const TensorId *init_of(const Statement &statement) {
    const auto *body = std::get_if<Contraction>(&statement.body);
    return body != nullptr && body->init ? &*body->init : nullptr;
  }

  Key key(const Concatenation &all, std::size_t pieces) const {
    const auto begin = all.pieces.begin();
    return {all.axis,
            program_[program_.statements[all.statements.back()].out].type,
            {begin, begin + static_cast<std::ptrdiff_t>(pieces)}};
  }

  // The concatenation whose last piece a statement copies; nothing where it does anything else.
  std::optional<Concatenation> ending_in(std::size_t last) const {
    if (continued_.contains(program_.statements[last].out))
      return std::nullopt;
    Concatenation all;
    std::vector<Shape> places;
    for (std::size_t s = last;;) {
      const std::optional<Slice> slice = as_slice(program_, program_.statements[s]);
      if (!slice)
        return std::nullopt;
      all.pieces.insert(all.pieces.begin(), slice->in);
      all.statements.insert(all.statements.begin(), s);
      places.insert(places.begin(), slice->at);
      const TensorId *init = init_of(program_.statements[s]);
      if (init == nullptr)
        break;
      if (readers_.at(*init) != 1 || !definition_.contains(*init))
        return std::nullopt;
      s = definition_.at(*init);
    }
    return lie_side_by_side(all, places) ? std::optional(all) : std::nullopt;
  }

  // Whether pieces fill their result in order; sets the dimension.
  bool lie_side_by_side(Concatenation &all, const std::vector<Shape> &places) const {
    const Shape &whole = program_[program_.statements[all.statements.back()].out].shape;
    const Shape &first = program_[all.pieces.front()].shape;
    const auto differs = std::ranges::mismatch(first, whole);
    all.axis = static_cast<std::size_t>(differs.in1 - first.begin());
    if (all.pieces.size() < 2 || all.axis == whole.size())
      return false;
    std::int64_t end = 0;
    for (std::size_t p = 0; p < all.pieces.size(); ++p) {
      Shape place(whole.size(), 0);
      place[all.axis] = end;
      Shape size = whole;
      size[all.axis] = program_[all.pieces[p]].shape[all.axis];
      if (places[p] != place || program_[all.pieces[p]].shape != size)
        return false;
      end += size[all.axis];
    }
    return end == whole[all.axis];
  }

  // Puts the longest earlier concatenation in the place of the first pieces.
  void shorten(const Concatenation &all, Program &result, std::set<std::size_t> &dropped) const {
    for (std::size_t pieces = all.pieces.size() - 1; pieces >= 2; --pieces) {
      const auto earlier = known_.find(key(all, pieces));
      const std::size_t last = all.statements[pieces - 1];
      if (earlier == known_.end() || definition_.at(earlier->second) > last)
        continue;
      for (std::size_t p = 0; p + 1 < pieces; ++p)
        dropped.insert(all.statements[p]);
      Statement &copy = result.statements[last];
      copy.body = identity(earlier->second, program_[copy.out].shape.size());
      return;
    }
  }

  const Program &program_;
  std::map<TensorId, std::size_t> definition_; // by result, the statement
  std::map<TensorId, int> readers_;
  std::set<TensorId> continued_; // to which a statement adds a piece
  std::map<Key, TensorId> known_;
};

} // namespace

Program share_concatenations(const Program &program) { return Sharing(program).run(); }

} // namespace tilefuse::program
