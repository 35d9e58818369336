// SPDX-License-Identifier: Apache-2.0
#include "program/rewrite/pad_channels.h"

#include <algorithm>
#include <optional>
#include <string>

#include "program/drop_dead.h"
#include "program/precision/casts.h"
#include "program/rewrite/rewriter.h"

namespace tilefuse::program {
namespace {

constexpr std::int64_t kMostBytes = 2;      // of an element
constexpr std::int64_t kCopyBytes = 4;      // the smallest asynchronous copy
constexpr std::int64_t kChunkBytes = 16;    // the largest
constexpr std::int64_t kLeastProducts = 32; // per element of the data

// A reduced index that is a subscript of its own in both inputs and nowhere else.
struct Channel {
  std::size_t index = 0;
  std::size_t in_data = 0; // dimensions
  std::size_t in_filter = 0;
};

// The only dimension that uses the index, if it is the index.
std::optional<std::size_t> place_of(const std::vector<Affine> &subscripts, std::size_t index) {
  const auto user = [&](const Affine &affine) { return uses(affine, index); };
  const auto found = std::find_if(subscripts.begin(), subscripts.end(), user);
  if (found == subscripts.end() || !is_index(*found, index) ||
      std::count_if(subscripts.begin(), subscripts.end(), user) != 1)
    return {};
  return static_cast<std::size_t>(found - subscripts.begin());
}

// The subscripts with the one at `place` last.
std::vector<Affine> with_last(std::vector<Affine> subscripts, std::size_t place) {
  const auto at = subscripts.begin() + static_cast<std::ptrdiff_t>(place);
  std::rotate(at, at + 1, subscripts.end());
  return subscripts;
}

Shape padded_shape(Shape shape, std::size_t place, std::int64_t channels) {
  const auto at = shape.begin() + static_cast<std::ptrdiff_t>(place);
  std::rotate(at, at + 1, shape.end());
  shape.back() = channels;
  return shape;
}

class Padding {
public:
  explicit Padding(const Program &program) : result_{program, 0} {}

  PaddedChannels run() {
    std::vector<Statement> before = std::move(result_.program.statements);
    for (Statement &statement : before) {
      note_cast(result_.program, statement, casts_);
      rewrite(statement);
      statements_.push_back(std::move(statement));
    }
    result_.program =
        with_statements(std::move(result_.program), std::move(statements_), result_.products > 0);
    return std::move(result_);
  }

private:
  const Tensor &tensor(TensorId id) const { return result_.program[id]; }

  void rewrite(Statement &statement) {
    auto *body = std::get_if<Contraction>(&statement.body);
    if (body == nullptr || body->agg != Agg::Sum || body->comb != Comb::Mul || body->init ||
        !body->constraints.empty())
      return;
    if (lies_in_blocks(*body))
      return;
    for (std::size_t i = 0; i < body->indices.size(); ++i)
      if (const std::optional<Channel> channel = channel_of(*body, i);
          channel && is_worth_it(*body, *channel, tensor(statement.out))) {
        pad(*body, *channel, statement.origin);
        ++result_.products;
        return;
      }
  }

  // Of several such indices the last of the data's is a block of aligned channels.
  bool lies_in_blocks(const Contraction &body) const {
    const Tensor &data = tensor(body.in[0].tensor);
    int channels = 0;
    bool is_aligned = false;
    for (std::size_t i = 0; i < body.indices.size(); ++i)
      if (const std::optional<Channel> channel = channel_of(body, i)) {
        ++channels;
        is_aligned = is_aligned || (channel->in_data + 1 == data.shape.size() &&
                                    data.shape.back() * size_bytes(data.type) % kCopyBytes == 0);
      }
    return channels > 1 && is_aligned;
  }

  static std::optional<Channel> channel_of(const Contraction &body, std::size_t index) {
    const auto in_data = place_of(body.in[0].subscripts, index);
    const auto in_filter = place_of(body.in[1].subscripts, index);
    const bool is_result = std::any_of(body.out.begin(), body.out.end(),
                                       [&](const Affine &a) { return uses(a, index); });
    if (!in_data || !in_filter || is_result)
      return {};
    return Channel{index, *in_data, *in_filter};
  }

  bool is_worth_it(const Contraction &body, const Channel &channel, const Tensor &out) const {
    const Tensor &data = tensor(body.in[0].tensor), &filter = tensor(body.in[1].tensor);
    const std::int64_t bytes = size_bytes(data.type), channels = data.shape[channel.in_data];
    if (filter.role != Role::Constant || !filter.data || filter.type != data.type ||
        data.role == Role::Constant || filter.shape[channel.in_filter] != channels)
      return false;
    return bytes <= kMostBytes && (is_float(data.type) || data.type == DType::I8) && channels > 1 &&
           channels * bytes % kCopyBytes != 0 &&
           elems(filter.shape) / channels * elems(out.shape) >= kLeastProducts * elems(data.shape);
  }

  void pad(Contraction &body, const Channel &channel, const std::string &origin) {
    const std::int64_t chunk = kChunkBytes / size_bytes(tensor(body.in[0].tensor).type);
    const std::int64_t channels =
        (tensor(body.in[0].tensor).shape[channel.in_data] + chunk - 1) / chunk * chunk;
    body.in[0] = {store_data(body.in[0].tensor, channel.in_data, channels, origin),
                  with_last(body.in[0].subscripts, channel.in_data)};
    body.in[1] = {store_filter(body.in[1].tensor, channel.in_filter, channels),
                  with_last(body.in[1].subscripts, channel.in_filter)};
  }

  TensorId store_data(TensorId id, std::size_t place, std::int64_t channels,
                      const std::string &origin) {
    const Tensor from = tensor(id);
    Contraction body;
    body.agg = Agg::Assign;
    Access read{before_cast(casts_, id), {}};
    for (std::size_t d = 0; d < from.shape.size(); ++d) {
      body.indices.push_back("d" + std::to_string(d));
      Affine index{std::vector<Rational>(from.shape.size()), 0};
      index.coeff[d] = 1;
      read.subscripts.push_back(std::move(index));
    }
    body.out = with_last(read.subscripts, place);
    body.in = {std::move(read)};
    const TensorId to = result_.program.add(
        {.name = from.name, .type = from.type, .shape = padded_shape(from.shape, place, channels)});
    statements_.push_back({to, std::move(body), origin + " channels"});
    return to;
  }

  TensorId store_filter(TensorId id, std::size_t place, std::int64_t channels) {
    Tensor filter = tensor(id);
    const Shape from = filter.shape, strides = row_major(from);
    filter.shape = padded_shape(from, place, channels);
    const std::int64_t inner = strides[place], count = from[place];
    Bytes bytes(static_cast<std::size_t>(elems(filter.shape) * size_bytes(filter.type)));
    for (std::int64_t i = 0; i < elems(from); ++i) {
      const std::int64_t rest = i / (inner * count) * inner + i % inner;
      store_element(bytes.data(), filter.type, rest * channels + i / inner % count,
                    load_element(filter.data->data(), filter.type, i));
    }
    filter.data = std::make_shared<const Bytes>(std::move(bytes));
    filter.data_hash.clear();
    return result_.program.add(std::move(filter));
  }

  PaddedChannels result_;
  std::vector<Statement> statements_;
  Casts casts_;
};

} // namespace

PaddedChannels pad_channels(const Program &program) { return Padding(program).run(); }

} // namespace tilefuse::program
