// SPDX-License-Identifier: Apache-2.0
#include "program/storage/layout.h"

#include <algorithm>
#include <array>

#include "base/index.h"

namespace tilefuse::program {
namespace {

bool uses_index_of(const std::vector<Affine> &subscripts, const Affine &affine) {
  return std::any_of(subscripts.begin(), subscripts.end(), [&](const Affine &subscript) {
    for (std::size_t i = 0; i < affine.coeff.size(); ++i)
      if (!affine.coeff[i].is_zero() && !subscript.coeff[i].is_zero())
        return true;
    return false;
  });
}

// How many dimensions of a convolution's result, from 1 on, stand in an operand without the batch;
// 0: no convolution. Where all of them do, as in the gradient by a filter, none is a pixel's.
std::size_t channels_of(const Contraction &contraction) {
  const auto &out = contraction.out;
  if (contraction.agg != Agg::Sum || contraction.comb != Comb::Mul || out.size() < 3)
    return 0;
  std::size_t channels = 0;
  for (const Access &access : contraction.in) {
    if (uses_index_of(access.subscripts, out[0]))
      continue;
    std::size_t own = 0;
    while (own + 1 < out.size() && uses_index_of(access.subscripts, out[own + 1]))
      ++own;
    if (own != 0 && own + 1 != out.size())
      channels = channels == 0 ? own : std::min(channels, own);
  }
  return channels;
}

// Whether an index that a result and what it reads both have stands in the same dimension of each:
// channels of the one are then channels of the other, and not pixels as behind a permutation.
bool keeps_dimensions(const Contraction &contraction, const Access &access) {
  for (std::size_t d = 0; d < access.subscripts.size(); ++d)
    for (std::size_t other = 0; other < contraction.out.size(); ++other)
      if (d != other && uses_index_of({access.subscripts[d]}, contraction.out[other]))
        return false;
  return true;
}

// A product of matrices for each of a batch, as between queries and keys: no operand is a filter,
// and what is summed over is not exchanged for channels.
bool is_batched_product(const Contraction &contraction) {
  return contraction.comb == Comb::Mul && !contraction.out.empty() &&
         std::all_of(contraction.in.begin(), contraction.in.end(), [&](const Access &access) {
           return uses_index_of(access.subscripts, contraction.out[0]);
         });
}

// The tensors whose dimensions are those of a statement's result.
std::vector<TensorId> alike(const Statement &statement) {
  const auto *contraction = std::get_if<Contraction>(&statement.body);
  if (contraction == nullptr)
    return reads(statement);
  if (is_batched_product(*contraction))
    return {};
  std::vector<TensorId> ids;
  for (const Access &access : contraction->in)
    if (keeps_dimensions(*contraction, access))
      ids.push_back(access.tensor);
  if (contraction->init)
    ids.push_back(*contraction->init);
  return ids;
}

// Spreads channel counts from the results of convolutions to the temporaries around them, nearest
// first.
class Spreading {
public:
  explicit Spreading(const Program &program)
      : program_(program), channels_(program.tensors.size(), 0),
        neighbours_(program.tensors.size()) {}

  std::vector<std::size_t> run() {
    for (const Statement &statement : program_.statements)
      connect(statement);
    for (std::size_t i = 0; i < queue_.size(); ++i)
      for (TensorId next : neighbours_[at(queue_[i])])
        if (channels_[at(next)] == 0)
          set(next, carried(queue_[i], next));
    for (std::size_t i = 0; i < channels_.size(); ++i)
      if (channels_[i] != 0 && !has_many_channels(program_.tensors[i].shape, channels_[i]))
        channels_[i] = 0;
    return std::move(channels_);
  }

private:
  const Shape &shape(TensorId id) const { return program_[id].shape; }

  bool is_candidate(TensorId id) const {
    return program_[id].role == Role::Temporary && shape(id).size() >= 3;
  }

  void connect(const Statement &statement) {
    if (!is_candidate(statement.out))
      return;
    const bool is_view = std::holds_alternative<View>(statement.body);
    for (TensorId id : alike(statement)) {
      const bool is_alike = is_view || shape(id).size() == shape(statement.out).size();
      if (!is_candidate(id) || !is_alike)
        continue;
      neighbours_[at(id)].push_back(statement.out);
      neighbours_[at(statement.out)].push_back(id);
    }
    if (const auto *contraction = std::get_if<Contraction>(&statement.body))
      set(statement.out, channels_of(*contraction));
  }

  void set(TensorId id, std::size_t channels) {
    channels_[at(id)] = channels;
    if (channels != 0)
      queue_.push_back(id);
  }

  // The channels of `to` when `from` has some: as many for the same rank, more or fewer where they
  // are split or merged.
  std::size_t carried(TensorId from, TensorId to) const {
    const Shape &a = shape(from);
    const Shape &b = shape(to);
    const std::size_t rest = a.size() - 1 - channels_[at(from)];
    if (a.size() == b.size())
      return channels_[at(from)];
    const bool is_same_rest = rest + 1 < b.size() && a[0] == b[0] &&
                              std::equal(a.end() - static_cast<std::ptrdiff_t>(rest), a.end(),
                                         b.end() - static_cast<std::ptrdiff_t>(rest));
    return is_same_rest ? b.size() - 1 - rest : 0;
  }

  static bool has_many_channels(const Shape &shape, std::size_t channels) {
    const auto first = shape.begin() + 1;
    return std::any_of(first, first + static_cast<std::ptrdiff_t>(channels),
                       [](std::int64_t dim) { return dim > 1; });
  }

  const Program &program_;
  std::vector<std::size_t> channels_;
  std::vector<std::vector<TensorId>> neighbours_;
  std::vector<TensorId> queue_;
};

constexpr std::array<std::string_view, 3> kLayouts = {"nhwc", "nchw", "blocked"};

} // namespace

std::string_view to_string(Layout layout) { return kLayouts[at(layout)]; }

std::optional<Layout> parse_layout(std::string_view name) {
  const auto found = std::find(kLayouts.begin(), kLayouts.end(), name);
  if (found == kLayouts.end())
    return std::nullopt;
  return static_cast<Layout>(found - kLayouts.begin());
}

Shape channels_last(const Shape &shape, std::size_t channels) {
  Shape strides(shape.size(), 1);
  std::int64_t stride = 1;
  const auto place = [&](std::size_t d) {
    strides[d] = stride;
    stride *= shape[d];
  };
  for (std::size_t d = channels; d > 0; --d)
    place(d);
  for (std::size_t d = shape.size(); d-- > channels + 1;)
    place(d);
  place(0);
  return strides;
}

bool same_layout(const Shape &shape, const Shape &a, const Shape &b) {
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (shape[d] > 1 && a[d] != b[d])
      return false;
  return true;
}

std::optional<Shape> view_strides(const Shape &from, const Shape &strides, const Shape &to) {
  Shape result(to.size(), 1);
  std::size_t next = to.size(); // dimensions of `to` not placed yet
  std::int64_t block_stride = 1;
  std::int64_t block_elems =
      1; // of the contiguous block being gathered, from the innermost dimension out
  const auto place_block = [&] {
    std::int64_t placed = 1;
    while (next > 0 && placed < block_elems) {
      result[--next] = placed * block_stride;
      placed *= to[next];
    }
    return placed == block_elems;
  };
  for (std::size_t d = from.size(); d-- > 0;) {
    if (from[d] == 1)
      continue;
    if (strides[d] != block_elems * block_stride) {
      if (!place_block())
        return std::nullopt;
      block_stride = strides[d];
      block_elems = 1;
    }
    block_elems *= from[d];
  }
  if (!place_block())
    return std::nullopt;
  std::int64_t span = 1;
  for (std::size_t d = next; d < to.size(); ++d)
    span = std::max(span, result[d] * to[d]);
  std::fill_n(result.begin(), next, span);
  return result;
}

std::vector<std::size_t> channel_dims(const Program &program) { return Spreading(program).run(); }

} // namespace tilefuse::program
