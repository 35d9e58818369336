// SPDX-License-Identifier: Apache-2.0
#include "program/first_layer.h"

#include <map>
#include <optional>
#include <utility>

#include "program/convolution.h"
#include "program/drop_dead.h"

namespace tilefuse::program {
namespace {

constexpr std::int64_t kChannels = 4;
constexpr std::int64_t kRound = 4;     // taps and pixels of a row are multiples of this
constexpr std::int64_t kMostBytes = 2; // of an element
constexpr std::int64_t kMostRows = 4;  // that lie side by side

std::size_t at(int i) { return static_cast<std::size_t>(i); }

std::int64_t round_up(std::int64_t value) { return (value + kRound - 1) / kRound * kRound; }

// Sums of terms, of a contraction with so many indices.
Affine sum_of(std::size_t indices, const std::vector<std::pair<std::size_t, std::int64_t>> &terms,
              std::int64_t constant = 0) {
  Affine affine{std::vector<Rational>(indices), constant};
  for (const auto &[i, coeff] : terms)
    affine.coeff[i] = coeff;
  return affine;
}

class Widening {
public:
  explicit Widening(const Program &program) : result_{program, 0} {}

  WidenedFirstLayers run() {
    std::vector<Statement> before = std::move(result_.program.statements);
    for (Statement &statement : before) {
      note_map(statement);
      rewrite(statement);
      statements_.push_back(std::move(statement));
    }
    result_.program.statements = std::move(statements_);
    if (result_.layers > 0)
      result_.program = drop_dead(result_.program);
    verify(result_.program);
    return std::move(result_);
  }

private:
  const Tensor &tensor(TensorId id) const { return result_.program[id]; }

  // Plain conversions of a tensor are done by the statement that stores the pixels.
  void note_map(const Statement &statement) {
    const auto *map = std::get_if<Map>(&statement.body);
    if (map != nullptr && map->expr.kind == Expr::Kind::Cast &&
        map->expr.args[0].kind == Expr::Kind::Operand &&
        tensor(map->operands[0]).shape == tensor(statement.out).shape)
      casts_[statement.out] = map->operands[0];
  }

  void rewrite(Statement &statement) {
    auto *body = std::get_if<Contraction>(&statement.body);
    if (body == nullptr)
      return;
    const std::optional<Convolution> conv = as_convolution(*body);
    if (!conv || !is_worth_it(*conv))
      return;
    ++result_.layers;
    *body = widened(*conv, *body, statement);
  }

  bool is_worth_it(const Convolution &conv) const {
    const Tensor &filter = tensor(conv.filter);
    const DType type = tensor(conv.data).type;
    return tensor(conv.data).shape[conv.channel_in_data] <= kChannels && type == filter.type &&
           (is_float(type) || type == DType::I8) && size_bytes(type) <= kMostBytes &&
           conv.spatial.back().window.dilation == 1 && filter.role == Role::Constant && filter.data;
  }

  // Of the result's indices in their order, the taps of all but the last spatial dimension, and
  // the run.
  Contraction widened(const Convolution &conv, const Contraction &body,
                      const Statement &statement) {
    Contraction wide;
    wide.comb = Comb::Mul;
    std::vector<std::size_t> place(body.indices.size());
    const auto keep = [&](int index) {
      place[at(index)] = wide.indices.size();
      wide.indices.push_back(body.indices[at(index)]);
    };
    for (std::size_t i = 0; i < body.indices.size(); ++i)
      if (static_cast<int>(i) != conv.channel && !is_tap(conv, static_cast<int>(i)))
        keep(static_cast<int>(i));
    for (std::size_t k = 0; k + 1 < conv.spatial.size(); ++k)
      keep(conv.spatial[k].tap);
    wide.indices.push_back("run");
    const std::size_t count = wide.indices.size();
    for (const Affine &subscript : body.out)
      for (std::size_t i = 0; i < subscript.coeff.size(); ++i)
        if (!subscript.coeff[i].is_zero())
          wide.out.push_back(sum_of(count, {{place[i], 1}}));
    Access data{store_pixels(conv, statement), {}}, filter{store_filter(conv), {}};
    data.subscripts.push_back(sum_of(count, {{place[at(conv.image)], 1}}));
    filter.subscripts.push_back(sum_of(count, {{place[at(conv.feature)], 1}}));
    for (std::size_t k = 0; k + 1 < conv.spatial.size(); ++k) {
      const Spatial &rows = conv.spatial[k];
      const std::int64_t beside = rows_beside(conv, k);
      data.subscripts.push_back(sum_of(count, {{place[at(rows.output)], rows.window.step / beside},
                                               {place[at(rows.tap)], rows.window.dilation}}));
      filter.subscripts.push_back(sum_of(count, {{place[at(rows.tap)], 1}}));
    }
    const Spatial &columns = conv.spatial.back();
    data.subscripts.push_back(sum_of(
        count, {{place[at(columns.output)], pixel(conv) * columns.window.step}, {count - 1, 1}}));
    filter.subscripts.push_back(sum_of(count, {{count - 1, 1}}));
    wide.in = {std::move(data), std::move(filter)};
    return wide;
  }

  static bool is_tap(const Convolution &conv, int index) {
    for (const Spatial &spatial : conv.spatial)
      if (spatial.tap == index)
        return true;
    return false;
  }

  // Rows of which the pixels lie side by side: as many as there are from one result to the next.
  static std::int64_t rows_beside(const Convolution &conv, std::size_t k) {
    const Window &window = conv.spatial[k].window;
    const bool lie = k + 2 == conv.spatial.size() && window.dilation == 1;
    return lie && window.step <= kMostRows ? window.step : 1;
  }
  static std::int64_t rows_beside(const Convolution &conv) {
    return conv.spatial.size() < 2 ? 1 : rows_beside(conv, conv.spatial.size() - 2);
  }
  // Elements of a column's pixels.
  static std::int64_t pixel(const Convolution &conv) { return kChannels * rows_beside(conv); }

  // Taps of a spatial dimension; those of the last are rounded up, rows that lie side by side are
  // one.
  std::int64_t taps_of(const Convolution &conv, std::size_t k) const {
    const std::int64_t taps = tensor(conv.filter).shape[conv.spatial[k].in_filter];
    const std::int64_t beside = k + 1 == conv.spatial.size() ? 1 : rows_beside(conv, k);
    return k + 1 == conv.spatial.size() ? round_up(taps) : (taps + beside - 1) / beside;
  }

  // [n, row…, (column * rows beside + row) * 4 + channel], with the padding.
  TensorId store_pixels(const Convolution &conv, const Statement &statement) {
    const Tensor from = tensor(conv.data);
    const Shape out = result_extents(conv, statement);
    const std::size_t rank = from.shape.size();
    const std::size_t count = rank + 1; // the last index: a row among those side by side
    const auto cast = casts_.find(conv.data);
    Contraction body;
    body.agg = Agg::Assign;
    Access read{cast == casts_.end() ? conv.data : cast->second, {}};
    for (std::size_t d = 0; d < rank; ++d) {
      body.indices.push_back("d" + std::to_string(d));
      read.subscripts.push_back(sum_of(count, {{d, 1}}));
    }
    body.indices.push_back("row");
    Shape shape = {from.shape[conv.image_in_data]};
    body.out = {sum_of(count, {{conv.image_in_data, 1}})};
    for (std::size_t k = 0; k < conv.spatial.size(); ++k) {
      const Spatial &spatial = conv.spatial[k];
      const bool is_last = k + 1 == conv.spatial.size();
      const std::int64_t beside = is_last ? 1 : rows_beside(conv, k);
      const std::int64_t reach = spatial.window.step / beside * (out[k] - 1) +
                                 spatial.window.dilation * (taps_of(conv, k) - 1) + 1;
      shape.push_back(is_last ? round_up(reach) : reach);
      const bool merges = k + 2 == conv.spatial.size();
      body.out.push_back(sum_of(count, {{spatial.in_data, 1}}, merges ? 0 : spatial.window.before));
      if (merges)
        read.subscripts[spatial.in_data] =
            sum_of(count, {{spatial.in_data, beside}, {rank, 1}}, -spatial.window.before);
    }
    body.in = {std::move(read)};
    shape.push_back(rows_beside(conv));
    body.out.push_back(sum_of(count, {{rank, 1}}));
    shape.push_back(kChannels);
    body.out.push_back(sum_of(count, {{conv.channel_in_data, 1}}));
    return add_runs(from, std::move(shape), std::move(body), statement.origin + " pixels");
  }

  // The stored pixels, with the channels of a row's pixels as one dimension.
  TensorId add_runs(const Tensor &from, Shape shape, Contraction body, const std::string &origin) {
    const TensorId pixels =
        result_.program.add({.name = from.name, .type = from.type, .shape = shape});
    statements_.push_back({pixels, std::move(body), origin});
    for (int merged = 0; merged < 2; ++merged) {
      const std::int64_t inner = shape.back();
      shape.pop_back();
      shape.back() *= inner;
    }
    const TensorId runs =
        result_.program.add({.name = from.name, .type = from.type, .shape = std::move(shape)});
    statements_.push_back({runs, View{pixels}, origin});
    return runs;
  }

  // Of the result along each spatial dimension.
  Shape result_extents(const Convolution &conv, const Statement &statement) const {
    const auto &body = std::get<Contraction>(statement.body);
    Shape extents;
    for (const Spatial &spatial : conv.spatial)
      for (std::size_t d = 0; d < body.out.size(); ++d)
        if (!body.out[d].coeff[at(spatial.output)].is_zero())
          extents.push_back(tensor(statement.out).shape[d]);
    return extents;
  }

  // [m, row…, (column * rows beside + row) * 4 + channel]
  TensorId store_filter(const Convolution &conv) {
    Tensor filter = tensor(conv.filter);
    const Shape from = filter.shape, strides = row_major(from);
    Shape counts = {from[conv.feature_in_filter]}, steps = {strides[conv.feature_in_filter]};
    for (const Spatial &spatial : conv.spatial) {
      counts.push_back(from[spatial.in_filter]);
      steps.push_back(strides[spatial.in_filter]);
    }
    counts.push_back(from[conv.channel_in_filter]);
    steps.push_back(strides[conv.channel_in_filter]);
    Shape shape = {counts[0]};
    for (std::size_t k = 0; k < conv.spatial.size(); ++k)
      shape.push_back(taps_of(conv, k));
    shape.back() *= pixel(conv);
    Shape places = row_major(shape);
    places.back() = pixel(conv);
    places.push_back(1);
    Bytes bytes(static_cast<std::size_t>(elems(shape) * size_bytes(filter.type)));
    for (std::int64_t i = 0; i < elems(counts); ++i) {
      std::int64_t rest = i, read = 0, write = 0;
      for (std::size_t d = counts.size(); d-- > 0; rest /= counts[d]) {
        const std::int64_t beside = d + 3 == counts.size() && d > 0 ? rows_beside(conv) : 1;
        const std::int64_t at_dim = rest % counts[d];
        read += at_dim * steps[d];
        write += at_dim / beside * places[d] + at_dim % beside * kChannels;
      }
      store_element(bytes.data(), filter.type, write,
                    load_element(filter.data->data(), filter.type, read));
    }
    filter.shape = std::move(shape);
    filter.data = std::make_shared<const Bytes>(std::move(bytes));
    filter.data_hash.clear();
    return result_.program.add(std::move(filter));
  }

  WidenedFirstLayers result_;
  std::vector<Statement> statements_;
  std::map<TensorId, TensorId> casts_; // a converted tensor → what it was converted from
};

} // namespace

WidenedFirstLayers widen_first_layers(const Program &program) { return Widening(program).run(); }

} // namespace tilefuse::program
