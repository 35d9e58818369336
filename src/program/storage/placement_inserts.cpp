// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/index.h"
#include "program/storage/layout.h"
#include "program/storage/permutation.h"
#include "program/storage/placement.h"
#include "program/storage/written.h"

namespace tilefuse::program {
// Lets the chain that ends in `statement` share one window, and the tensors it copies be written
// where they go to.
void Placer::place_inserts(std::size_t statement) {
  if (is_chained_[statement])
    return;
  if (claim_permuted(program_.statements[statement])) {
    is_dropped_[statement] = true;
    return;
  }
  const std::vector<Insert> chain = gather_chain(statement);
  for (const Insert &insert : chain) {
    if (!insert.slice)
      continue;
    const bool is_alone = std::all_of(chain.begin(), chain.end(), [&](const Insert &other) {
      return &other == &insert || are_disjoint(other.writes, insert.writes);
    });
    if (is_alone && claim_slice(insert))
      is_dropped_[insert.statement] = true;
  }
}

// The contractions from `last` back through inits that can share its window, which they are given.
std::vector<Placer::Insert> Placer::gather_chain(std::size_t last) {
  std::vector<Insert> chain;
  for (std::size_t s = last;;) {
    const Statement &statement = program_.statements[s];
    Insert insert{statement.out, s, std::nullopt, whole(shape(statement.out))};
    is_chained_[s] = true;
    const auto *body = std::get_if<Contraction>(&statement.body);
    const bool has_own_init = body && body->init && !can_share_init(*body->init);
    if (body && !has_own_init) {
      insert.slice = as_slice(program_, statement);
      const auto box = insert.slice ? box_of(*insert.slice, program_)
                                    : written_box(program_, shape(statement.out), *body);
      if (box)
        insert.writes = *box;
    }
    chain.push_back(std::move(insert));
    if (!body || !body->init || has_own_init)
      return chain;
    is_in_place_[s] = true;
    window(*body->init) = window(statement.out);
    s = static_cast<std::size_t>(uses_.definition[at(*body->init)]);
  }
}

// Nobody else reads it, so that what is written over it, early or late, is never missed.
bool Placer::can_share_init(TensorId init) const {
  return is_claimable(init) && uses_.reads[at(init)] == 1 && uses_.views[at(init)].empty();
}

bool Placer::is_claimable(TensorId id) const {
  const int definition = uses_.definition[at(id)];
  return program_[id].role == Role::Temporary && definition >= 0 && uses_.source[at(id)] == id &&
         !uses_.is_output[at(id)] && !window(id);
}

// Gives the tensor that `insert` copies, or the source it is a view of, its box of the slab. False:
// it cannot lie there.
bool Placer::claim_slice(const Insert &insert) {
  const TensorId piece = insert.slice->in;
  const TensorId source = uses_.source[at(piece)];
  if (!is_claimable(source) || uses_.is_output[at(piece)])
    return false;
  if (program_[piece].type != program_[insert.out].type)
    return false;
  Window home = *window(insert.out);
  for (std::size_t d = 0; d < home.strides.size(); ++d)
    home.offset += insert.slice->at[d] * home.strides[d];
  const std::optional<Shape> strides =
      source == piece ? home.strides : view_strides(shape(piece), home.strides, shape(source));
  if (!strides || !suits(source, *strides, *insert.slice, insert.out))
    return false;
  window(piece) = home;
  window(source) = Window{home.buffer, home.offset, *strides};
  return true;
}

// Gives the tensor that a permuting copy reads the memory of the copy, where it would lie so by
// itself. A chain may write over the copy's memory, and then it is another's.
bool Placer::claim_permuted(const Statement &statement) {
  const std::optional<Permutation> moved = as_permutation(program_, statement);
  if (!moved || !is_claimable(moved->in))
    return false;
  const Window home = *window(statement.out);
  const Shape strides = permuted_back(*moved, home.strides);
  if (owners_[at(home.buffer)] != statement.out || buffers_[at(home.buffer)].is_output ||
      !same_layout(shape(moved->in), strides, padded(moved->in, own_layout(moved->in))))
    return false;
  window(moved->in) = Window{home.buffer, home.offset, strides};
  return true;
}

// A tensor that others read as well lives in a slab only where its layout stays the one they want:
// the same innermost dimension, and whole but along one axis.
bool Placer::suits(TensorId id, const Shape &strides, const Slice &slice, TensorId slab) const {
  if (all_reads(id) == 1)
    return true;
  int cut = 0;
  for (std::size_t d = 0; d < slice.at.size(); ++d)
    cut += shape(slice.in)[d] != shape(slab)[d] ? 1 : 0;
  const Shape wanted = preferred(id);
  for (std::size_t d = 0; d < wanted.size(); ++d)
    if (shape(id)[d] > 1 && (wanted[d] == 1) != (strides[d] == 1))
      return false;
  return cut <= 1;
}

int Placer::all_reads(TensorId source) const {
  int count = uses_.reads[at(source)];
  for (TensorId view : uses_.views[at(source)])
    count += uses_.reads[at(view)] + (uses_.is_output[at(view)] ? 1 : 0);
  return count;
}

// Whether statements write every element of the window of `owner`: those of its chain, or of the
// tensors placed in it.
int Placer::writers(BufferId buffer) const {
  int count = 0;
  for (std::size_t s = 0; s < program_.statements.size(); ++s) {
    const Statement &statement = program_.statements[s];
    const bool is_view = std::holds_alternative<View>(statement.body);
    count += !is_view && !is_dropped_[s] && window(statement.out)->buffer == buffer ? 1 : 0;
  }
  return count;
}

bool Placer::is_written(TensorId owner) const {
  if (at(owner) >= uses_.definition.size() || elems(shape(owner)) == 0)
    return true;
  const bool is_alone = writers(window(owner)->buffer) == 1;
  std::vector<Box> boxes;
  for (TensorId id = owner;;) {
    const auto s = static_cast<std::size_t>(uses_.definition[at(id)]);
    const Statement &statement = program_.statements[s];
    if (const auto moved = as_permutation(program_, statement); moved && is_dropped_[s])
      return is_written(moved->in);
    const auto *body = std::get_if<Contraction>(&statement.body);
    if (!body || (body->init && !is_in_place_[s]))
      return true;
    if (is_alone && !is_dropped_[s] && spans_result(shape(id), *body))
      return true;
    if (const auto slice = as_slice(program_, statement)) {
      if (!is_dropped_[s] || is_written(uses_.source[at(slice->in)]))
        boxes.push_back(box_of(*slice, program_));
    } else if (const auto box = written_box(program_, shape(id), *body)) {
      boxes.push_back(*box);
    }
    if (!body->init)
      break;
    id = *body->init;
  }
  return is_covered(whole(shape(owner)), boxes);
}

} // namespace tilefuse::program
