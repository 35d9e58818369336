// SPDX-License-Identifier: Apache-2.0
#include "program/rewrite/join_groups.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "program/drop_dead.h"
#include "program/rewrite/rewriter.h"

namespace tilefuse::program {
namespace {

constexpr std::int64_t kMostBytes = 2;   // of an element
constexpr std::int64_t kChunkBytes = 16; // of which rows that are joined are a multiple

// Where an index is a subscript: by itself, or beside a multiple of the group.
struct Place {
  std::size_t dim = 0;
  bool by_number = false; // count * group + index
};

struct Groups {
  std::size_t group = 0, channel = 0, feature = 0; // indices
  std::int64_t count = 0, channels = 0, features = 0;
  Place in_data, in_filter, in_out; // of the channel, of both features
  std::size_t channel_in_filter = 0;
};

// The dimensions that use the index.
std::vector<std::size_t> users(const std::vector<Affine> &subscripts, std::size_t index) {
  std::vector<std::size_t> found;
  for (std::size_t d = 0; d < subscripts.size(); ++d)
    if (uses(subscripts[d], index))
      found.push_back(d);
  return found;
}

// `factor` * group + index, group with factor 0 for the index alone.
bool is_sum(const Affine &affine, std::size_t group, std::int64_t factor, std::size_t index) {
  for (std::size_t i = 0; i < affine.coeff.size(); ++i) {
    const Rational expected = i == index ? Rational(1) : Rational(i == group ? factor : 0);
    if (affine.coeff[i] != expected)
      return false;
  }
  return affine.constant.is_zero();
}

// Of `count` of the index to a group: neighbouring dimensions, or one of numbers.
std::optional<Place> place_of(const std::vector<Affine> &subscripts, std::size_t group,
                              std::size_t index, std::int64_t count) {
  const auto of_group = users(subscripts, group), of_index = users(subscripts, index);
  if (of_group.size() != 1 || of_index.size() != 1)
    return {};
  const std::size_t dim = of_index[0];
  if (of_group[0] == dim && is_sum(subscripts[dim], group, count, index))
    return Place{dim, true};
  if (of_group[0] + 1 == dim && is_sum(subscripts[dim], group, 0, index) &&
      is_sum(subscripts[dim - 1], group, 0, group))
    return Place{dim, false};
  return {};
}

class Joining {
public:
  Joining(const Program &program, std::int64_t row_bytes)
      : result_{program, 0}, row_bytes_(row_bytes) {}

  JoinedGroups run() {
    std::vector<Statement> before = std::move(result_.program.statements);
    for (Statement &statement : before) {
      const auto *body = std::get_if<Contraction>(&statement.body);
      const std::optional<Groups> groups =
          body != nullptr ? groups_of(*body, statement.out) : std::nullopt;
      const std::int64_t joined = groups ? joined_of(*body, *groups) : 1;
      if (joined > 1)
        join(std::move(statement), *groups, joined);
      else
        statements_.push_back(std::move(statement));
    }
    result_.program =
        with_statements(std::move(result_.program), std::move(statements_), result_.products > 0);
    return std::move(result_);
  }

private:
  const Tensor &tensor(TensorId id) const { return result_.program[id]; }

  std::optional<Groups> groups_of(const Contraction &body, TensorId out) const {
    if (body.agg != Agg::Sum || body.comb != Comb::Mul || body.init || body.constraints.size() > 1)
      return {};
    for (std::size_t group = 0; group < body.indices.size(); ++group)
      for (std::size_t channel = 0; channel < body.indices.size(); ++channel)
        for (std::size_t feature = 0; feature < body.indices.size(); ++feature)
          if (group != channel && group != feature && channel != feature)
            if (const auto groups = read(body, out, {group, channel, feature}))
              return groups;
    return {};
  }

  // The roles that three indices have, if they fit.
  std::optional<Groups> read(const Contraction &body, TensorId out, Groups groups) const {
    const auto &data = body.in[0].subscripts, &filter = body.in[1].subscripts;
    const auto in_filter = users(filter, groups.channel);
    if (in_filter.size() != 1 || !users(body.out, groups.channel).empty() ||
        !users(data, groups.feature).empty() ||
        !is_sum(filter[in_filter[0]], groups.group, 0, groups.channel))
      return {};
    groups.channel_in_filter = in_filter[0];
    groups.channels = tensor(body.in[1].tensor).shape[in_filter[0]];
    const auto in_data = place_of(data, groups.group, groups.channel, groups.channels);
    const auto feature = users(body.out, groups.feature);
    if (!in_data || feature.size() != 1)
      return {};
    const Shape &shape = tensor(body.in[0].tensor).shape;
    groups.in_data = *in_data;
    groups.count =
        in_data->by_number ? shape[in_data->dim] / groups.channels : shape[in_data->dim - 1];
    const Shape &result = tensor(out).shape;
    if (uses(body.out[feature[0]], groups.group) && result[feature[0]] % groups.count != 0)
      return {};
    groups.features = uses(body.out[feature[0]], groups.group) ? result[feature[0]] / groups.count
                                                               : result[feature[0]];
    const auto in_out = place_of(body.out, groups.group, groups.feature, groups.features);
    const auto features = place_of(filter, groups.group, groups.feature, groups.features);
    if (!in_out || !features || !holds_features(body, groups, in_out->by_number))
      return {};
    groups.in_out = *in_out;
    groups.in_filter = *features;
    return groups;
  }

  // Numbers of features need the one constraint 0 <= feature < features; dimensions none.
  static bool holds_features(const Contraction &body, const Groups &groups, bool by_number) {
    if (body.constraints.empty())
      return !by_number;
    const Constraint &constraint = body.constraints.front();
    return is_sum(constraint.expr, groups.feature, 1, groups.feature) &&
           constraint.bound == groups.features;
  }

  // How many groups become one; 1: they stay.
  std::int64_t joined_of(const Contraction &body, const Groups &groups) const {
    const Tensor &data = tensor(body.in[0].tensor), &filter = tensor(body.in[1].tensor);
    const std::int64_t bytes = size_bytes(data.type), row = groups.channels * bytes;
    if (filter.role != Role::Constant || !filter.data || filter.type != data.type ||
        data.role == Role::Constant || bytes > kMostBytes || groups.channels == 1)
      return 1;
    for (std::int64_t joined = row_bytes_ / row; joined > 1; --joined)
      if (groups.count % joined == 0 && joined * row % kChunkBytes == 0)
        return joined;
    return 1;
  }

  TensorId view_of(TensorId id, const Place &place, std::int64_t joined,
                   const std::string &origin) {
    if (place.by_number)
      return id;
    Tensor viewed = reshaped(tensor(id), place, joined);
    viewed.role = Role::Temporary;
    const TensorId to = result_.program.add(std::move(viewed));
    statements_.push_back({to, View{id}, origin});
    return to;
  }

  static Tensor reshaped(Tensor tensor, const Place &place, std::int64_t joined) {
    if (!place.by_number) {
      tensor.shape[place.dim - 1] /= joined;
      tensor.shape[place.dim] *= joined;
    }
    return tensor;
  }

  // The filter with zeros where channel and feature are of different groups.
  TensorId widen(TensorId id, const Groups &groups, std::int64_t joined) {
    Tensor filter = reshaped(tensor(id), groups.in_filter, joined);
    const Shape from = tensor(id).shape, strides = row_major(from);
    filter.shape[groups.channel_in_filter] = groups.channels * joined;
    const Shape to = row_major(filter.shape);
    const Bytes &data = *tensor(id).data;
    Bytes bytes(static_cast<std::size_t>(elems(filter.shape) * size_bytes(filter.type)));
    for (std::int64_t i = 0; i < elems(from); ++i) {
      Shape point;
      for (std::size_t d = 0; d < from.size(); ++d)
        point.push_back(i / strides[d] % from[d]);
      const std::size_t dim = groups.in_filter.dim;
      std::int64_t &feature = point[dim];
      const std::int64_t group =
          groups.in_filter.by_number ? feature / groups.features : point[dim - 1];
      if (!groups.in_filter.by_number) {
        point[dim - 1] = group / joined;
        feature += group % joined * groups.features;
      }
      point[groups.channel_in_filter] += group % joined * groups.channels;
      std::int64_t place = 0;
      for (std::size_t d = 0; d < to.size(); ++d)
        place += point[d] * to[d];
      store_element(bytes.data(), filter.type, place, load_element(data.data(), filter.type, i));
    }
    filter.data = std::make_shared<const Bytes>(std::move(bytes));
    filter.data_hash.clear();
    return result_.program.add(std::move(filter));
  }

  // Subscripts of numbers of `count` to a group.
  static void renumber(std::vector<Affine> &subscripts, const Place &place, std::size_t group,
                       std::int64_t count) {
    if (place.by_number)
      subscripts[place.dim].coeff[group] = Rational(count);
  }

  void join(Statement statement, const Groups &groups, std::int64_t joined) {
    auto &body = std::get<Contraction>(statement.body);
    const TensorId out = statement.out;
    body.in[0].tensor = view_of(body.in[0].tensor, groups.in_data, joined, statement.origin);
    body.in[1].tensor = widen(body.in[1].tensor, groups, joined);
    renumber(body.in[0].subscripts, groups.in_data, groups.group, groups.channels * joined);
    renumber(body.in[1].subscripts, groups.in_filter, groups.group, groups.features * joined);
    renumber(body.out, groups.in_out, groups.group, groups.features * joined);
    for (Constraint &constraint : body.constraints)
      constraint.bound *= joined;
    const std::string origin = statement.origin;
    if (!groups.in_out.by_number) {
      Tensor whole = reshaped(tensor(out), groups.in_out, joined);
      whole.role = Role::Temporary;
      statement.out = result_.program.add(std::move(whole));
    }
    const TensorId whole = statement.out;
    statements_.push_back(std::move(statement));
    if (whole != out)
      statements_.push_back({out, View{whole}, origin});
    ++result_.products;
  }

  JoinedGroups result_;
  const std::int64_t row_bytes_;
  std::vector<Statement> statements_;
};

} // namespace

JoinedGroups join_groups(const Program &program, std::int64_t row_bytes) {
  return Joining(program, row_bytes).run();
}

} // namespace tilefuse::program
