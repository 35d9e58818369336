// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "base/index.h"
#include "nest/fold/channel_affine.h"
#include "nest/fold/fold.h"
#include "program/drop_dead.h"
#include "program/origin.h"

namespace tilefuse::nest {
namespace {

using program::Affine;
using program::Bytes;
using program::Contraction;
using program::Program;
using program::Shape;
using program::Statement;
using program::TensorId;

constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

// The index a subscript consists of, or kNowhere.
std::size_t plain_index(const Affine &subscript) {
  std::size_t found = kNowhere;
  for (std::size_t i = 0; i < subscript.coeff.size(); ++i) {
    if (subscript.coeff[i].is_zero())
      continue;
    if (found != kNowhere || subscript.coeff[i] != Rational(1))
      return kNowhere;
    found = i;
  }
  return subscript.constant.is_zero() ? found : kNowhere;
}

// The dimension of `access` that is the index alone, if no other dimension uses the index and it is
// `size` long.
std::size_t dim_of_index(const Program &program, const program::Access &access, std::size_t index,
                         std::int64_t size) {
  std::size_t found = kNowhere;
  for (std::size_t d = 0; d < access.subscripts.size(); ++d) {
    if (access.subscripts[d].coeff[index].is_zero())
      continue;
    if (found != kNowhere || plain_index(access.subscripts[d]) != index ||
        program[access.tensor].shape[d] != size)
      return kNowhere;
    found = d;
  }
  return found;
}

// For each dimension of a constant, how far one step along it moves in the channels.
using ChannelStrides = Shape;

// Nothing when some channel of the contraction's result is not a plain index of the constant.
std::optional<ChannelStrides> channel_strides(const Program &program, const Statement &statement,
                                              const program::Access &constant,
                                              const Channels &channels) {
  const auto &body = std::get<Contraction>(statement.body);
  const Shape &result = program[statement.out].shape;
  ChannelStrides strides(constant.subscripts.size(), 0);
  if (channels.count == 1)
    return strides;
  std::int64_t before = 1;
  std::size_t d = 0;
  while (d < result.size() && before < channels.before)
    before *= result[d++];
  if (before != channels.before)
    return std::nullopt;
  std::int64_t rest = channels.count;
  for (; rest > 1; ++d) {
    if (d >= result.size() || rest % result[d] != 0)
      return std::nullopt;
    rest /= result[d];
    if (result[d] == 1)
      continue;
    const std::size_t index = plain_index(body.out[d]);
    const std::size_t dim =
        index == kNowhere ? kNowhere : dim_of_index(program, constant, index, result[d]);
    if (dim == kNowhere)
      return std::nullopt;
    strides[dim] = rest;
  }
  return strides;
}

template <class T> void scale_row(T *row, std::int64_t count, double factor) {
  for (std::int64_t i = 0; i < count; ++i)
    row[i] = static_cast<T>(static_cast<double>(row[i]) * factor);
}

void scale_elements(Bytes &data, DType type, std::int64_t first, std::int64_t count,
                    double factor) {
  if (type == DType::F32)
    return scale_row(reinterpret_cast<float *>(data.data()) + first, count, factor);
  for (std::int64_t i = first; i < first + count; ++i)
    store_element(data.data(), type, i, load_element(data.data(), type, i) * factor);
}

// Multiplies every element by the scale of its channel.
std::shared_ptr<const Bytes> scaled(const program::Tensor &tensor, const ChannelStrides &strides,
                                    const std::vector<double> &scale) {
  auto data = std::make_shared<Bytes>(*tensor.data);
  std::size_t outer = tensor.shape.size();
  while (outer > 0 && strides[outer - 1] == 0)
    --outer;
  std::int64_t block = 1;
  for (std::size_t d = outer; d < tensor.shape.size(); ++d)
    block *= tensor.shape[d];
  std::vector<std::int64_t> point(outer, 0);
  std::int64_t channel = 0;
  for (std::int64_t first = 0; first < program::elems(tensor.shape); first += block) {
    scale_elements(*data, tensor.type, first, block, scale[at(channel)]);
    for (std::size_t d = outer; d-- > 0;) {
      channel += strides[d];
      if (++point[d] < tensor.shape[d])
        break;
      channel -= strides[d] * tensor.shape[d];
      point[d] = 0;
    }
  }
  return data;
}

// Whether scaling could leave the range of half precision.
bool overflows(const program::Tensor &tensor, const std::vector<double> &scale) {
  constexpr double kHighestHalf = 65504;
  if (tensor.type != DType::F16)
    return false;
  double factor = 0;
  for (double a : scale)
    factor = std::max(factor, std::fabs(a));
  double element = 0;
  for (std::int64_t i = 0; i < program::elems(tensor.shape); ++i)
    element = std::max(element, std::fabs(load_element(tensor.data->data(), tensor.type, i)));
  return factor * element > kHighestHalf;
}

class ScaleFolding {
public:
  explicit ScaleFolding(Program program)
      : program_(std::move(program)), readers_(program_.tensors.size()),
        dropped_(program_.statements.size(), false) {
    for (std::size_t s = 0; s < program_.statements.size(); ++s)
      for (TensorId id : program::reads(program_.statements[s]))
        if (readers_[at(id)].empty() || readers_[at(id)].back() != s)
          readers_[at(id)].push_back(s);
  }

  Program run() {
    for (std::size_t s = 0; s < program_.statements.size(); ++s)
      if (is_product_sum(program_.statements[s]))
        fold_into(s);
    std::vector<Statement> kept;
    for (std::size_t s = 0; s < program_.statements.size(); ++s)
      if (!dropped_[s])
        kept.push_back(std::move(program_.statements[s]));
    program_.statements = std::move(kept);
    return program::drop_dead(std::move(program_));
  }

private:
  static bool is_product_sum(const Statement &statement) {
    const auto *body = std::get_if<Contraction>(&statement.body);
    return body && body->agg == program::Agg::Sum && body->comb == program::Comb::Mul &&
           !body->init;
  }

  // The statement that alone reads the tensor, or kNowhere; an output has other readers.
  std::size_t only_reader(TensorId id) const {
    const bool returned =
        std::find(program_.outputs.begin(), program_.outputs.end(), id) != program_.outputs.end();
    return returned || readers_[at(id)].size() != 1 ? kNowhere : readers_[at(id)].front();
  }

  // Affine maps one after the other, and the last statement before them.
  struct Chain {
    std::size_t source = 0;
    std::vector<std::size_t> maps;
    ChannelAffine total;
  };

  // Follows the only readers from the contraction through views to affine maps whose scale fits
  // `constant`.
  Chain find_chain(std::size_t contraction, const program::Access &constant) const {
    Chain chain{contraction, {}, {}};
    TensorId tensor = program_.statements[contraction].out;
    for (std::size_t s = only_reader(tensor); s != kNowhere; s = only_reader(tensor)) {
      const Statement &reader = program_.statements[s];
      if (std::holds_alternative<program::View>(reader.body) && chain.maps.empty()) {
        chain.source = s;
        tensor = reader.out;
        continue;
      }
      std::optional<ChannelAffine> next = channel_affine(program_, reader, tensor);
      if (next && !chain.maps.empty())
        next = compose(*next, chain.total);
      if (!next ||
          !channel_strides(program_, program_.statements[contraction], constant, next->channels))
        break;
      chain.total = std::move(*next);
      chain.maps.push_back(s);
      tensor = reader.out;
    }
    return chain;
  }

  void fold_into(std::size_t contraction) {
    const auto body = std::get<Contraction>(program_.statements[contraction].body);
    for (std::size_t k = body.in.size(); k-- > 0;) {
      const program::Tensor &tensor = program_[body.in[k].tensor];
      if (tensor.role != program::Role::Constant || !tensor.data || !is_float(tensor.type))
        continue;
      const Chain chain = find_chain(contraction, body.in[k]);
      const auto &scale = chain.total.scale;
      const bool scales = std::any_of(scale.begin(), scale.end(), [](double a) { return a != 1; });
      if (chain.maps.empty() || (chain.maps.size() == 1 && !scales) || overflows(tensor, scale))
        continue;
      apply(contraction, k, chain);
      return;
    }
  }

  void apply(std::size_t contraction, std::size_t k, const Chain &chain) {
    Statement &statement = program_.statements[contraction];
    auto &body = std::get<Contraction>(statement.body);
    const std::optional<ChannelStrides> strides =
        channel_strides(program_, statement, body.in[k], chain.total.channels);
    program::Tensor constant = program_[body.in[k].tensor];
    constant.data = scaled(constant, *strides, chain.total.scale);
    body.in[k].tensor = program_.add(std::move(constant));

    const std::size_t last = chain.maps.back();
    const auto &shift = chain.total.shift;
    const bool shifts = std::any_of(shift.begin(), shift.end(), [](double b) { return b != 0; });
    for (std::size_t map : chain.maps) {
      if (map == last && shifts)
        continue;
      dropped_[map] = true;
      statement.origin = program::join_origins(statement.origin, program_.statements[map].origin);
    }
    const TensorId source = program_.statements[chain.source].out;
    if (shifts)
      add_shift(program_.statements[last], source, chain.total);
    else
      program_.statements[chain.source].out = program_.statements[last].out;
  }

  // Turns the last map into `from` + shift.
  void add_shift(Statement &map, TensorId from, const ChannelAffine &affine) {
    const program::Tensor &result = program_[map.out];
    program::Tensor shift;
    shift.name = result.name + ".shift";
    shift.type = result.type;
    shift.role = program::Role::Constant;
    shift.shape = shift_shape(result.shape, affine.channels);
    Bytes data(affine.shift.size() * static_cast<std::size_t>(size_bytes(shift.type)));
    for (std::size_t i = 0; i < affine.shift.size(); ++i)
      store_element(data.data(), shift.type, static_cast<std::int64_t>(i), affine.shift[i]);
    shift.data = std::make_shared<const Bytes>(std::move(data));
    const DType type = result.type;
    const TensorId id = program_.add(std::move(shift));
    map.body = program::Map{
        program::call(ScalarOp::Add, {program::operand(0, type), program::operand(1, type)}),
        {from, id}};
  }

  // 1 everywhere but at the channels' dimension.
  static Shape shift_shape(const Shape &result, const Channels &channels) {
    Shape shape(result.size(), 1);
    std::int64_t before = 1;
    for (std::size_t d = 0; d < result.size() && channels.count > 1; ++d) {
      if (before == channels.before && result[d] == channels.count) {
        shape[d] = channels.count;
        break;
      }
      before *= result[d];
    }
    return shape;
  }

  Program program_;
  std::vector<std::vector<std::size_t>> readers_; // by TensorId, statements
  std::vector<bool> dropped_;
};

} // namespace

Program fold_scales(Program program) { return ScaleFolding(std::move(program)).run(); }

} // namespace tilefuse::nest
