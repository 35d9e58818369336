// SPDX-License-Identifier: Apache-2.0
#include "program/first_layer.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "program/drop_dead.h"

namespace tilefuse::program {
namespace {

constexpr std::int64_t kChannels = 4;
constexpr std::int64_t kRound = 4; // taps and pixels of a row are multiples of this

std::size_t at(int i) { return static_cast<std::size_t>(i); }

std::int64_t round_up(std::int64_t value) { return (value + kRound - 1) / kRound * kRound; }

std::optional<std::int64_t> whole(const Rational &value) {
  if (value.den() != 1)
    return {};
  return value.num();
}

// The index that the subscript is, or -1.
int plain(const Affine &affine) {
  int found = -1;
  for (std::size_t i = 0; i < affine.coeff.size(); ++i) {
    if (affine.coeff[i].is_zero())
      continue;
    if (found >= 0 || affine.coeff[i] != Rational(1))
      return -1;
    found = static_cast<int>(i);
  }
  return affine.constant.is_zero() ? found : -1;
}

// step * output + dilation * tap - before
struct Window {
  std::int64_t step = 1;
  std::int64_t dilation = 1;
  std::int64_t before = 0;
};

std::optional<Window> window_of(const Affine &affine, int output, int tap) {
  for (std::size_t i = 0; i < affine.coeff.size(); ++i)
    if (!affine.coeff[i].is_zero() && i != at(output) && i != at(tap))
      return {};
  const auto step = whole(affine.coeff[at(output)]);
  const auto dilation = whole(affine.coeff[at(tap)]);
  const auto constant = whole(affine.constant);
  if (!step || !dilation || !constant || *step < 1 || *dilation < 1 || *constant > 0)
    return {};
  return Window{*step, *dilation, -*constant};
}

struct Conv {
  TensorId data{};
  TensorId filter{};
  Window rows;
  Window columns;
};

// All subscripts are indices by themselves; their numbers.
std::optional<std::array<int, 4>> four_plain(const std::vector<Affine> &subscripts) {
  std::array<int, 4> indices{};
  if (subscripts.size() != 4)
    return {};
  for (std::size_t d = 0; d < 4; ++d) {
    indices[d] = plain(subscripts[d]);
    if (indices[d] < 0 || std::count(indices.begin(), indices.begin() + d, indices[d]) > 0)
      return {};
  }
  return indices;
}

std::optional<Conv> as_conv(const Program &program, const Contraction &body) {
  if (body.agg != Agg::Sum || body.comb != Comb::Mul || body.init || !body.constraints.empty() ||
      body.indices.size() != 7)
    return {};
  const Access &data = body.in[0];
  const Access &filter = body.in[1];
  const auto out = four_plain(body.out);           // n m y x
  const auto taps = four_plain(filter.subscripts); // m c r s
  if (!out || !taps || (*taps)[0] != (*out)[1] || data.subscripts.size() != 4 ||
      program[filter.tensor].role != Role::Constant || !program[filter.tensor].data)
    return {};
  const auto rows = window_of(data.subscripts[2], (*out)[2], (*taps)[2]);
  const auto columns = window_of(data.subscripts[3], (*out)[3], (*taps)[3]);
  if (plain(data.subscripts[0]) != (*out)[0] || plain(data.subscripts[1]) != (*taps)[1] || !rows ||
      !columns || columns->dilation != 1)
    return {};
  return Conv{data.tensor, filter.tensor, *rows, *columns};
}

class Widening {
public:
  Widening(const Program &program, std::int64_t bytes) : result_{program, 0}, bytes_(bytes) {}

  WidenedFirstLayers run() {
    std::vector<Statement> before = std::move(result_.program.statements);
    for (Statement &statement : before) {
      note_cast(statement);
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
  void note_cast(const Statement &statement) {
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
    const std::optional<Conv> conv = as_conv(result_.program, *body);
    if (!conv || !is_worth_it(*conv))
      return;
    ++result_.layers;
    *body = widened(*conv, statement);
  }

  bool is_worth_it(const Conv &conv) const {
    const DType type = tensor(conv.data).type;
    return tensor(conv.data).shape[1] <= kChannels && type == tensor(conv.filter).type &&
           is_float(type) && size_bytes(type) == bytes_;
  }

  Contraction widened(const Conv &conv, const Statement &statement) {
    const Shape out = tensor(statement.out).shape;
    const Shape filter = tensor(conv.filter).shape;
    const std::int64_t taps = round_up(filter[3]);
    const std::int64_t rows =
        conv.rows.step * (out[2] - 1) + conv.rows.dilation * (filter[2] - 1) + 1;
    const std::int64_t columns = round_up(conv.columns.step * (out[3] - 1) + taps);
    const TensorId runs = store_pixels(conv, rows, columns, statement.origin);
    const TensorId weights = store_filter(conv.filter, taps);
    enum { N, M, Y, X, R, K, kCount };
    const auto index = [](std::vector<std::pair<int, std::int64_t>> terms) {
      Affine affine{std::vector<Rational>(kCount), 0};
      for (const auto &[i, coeff] : terms)
        affine.coeff[at(i)] = coeff;
      return affine;
    };
    Contraction body;
    body.comb = Comb::Mul;
    body.indices = {"n", "m", "y", "x", "r", "k"};
    body.out = {index({{N, 1}}), index({{M, 1}}), index({{Y, 1}}), index({{X, 1}})};
    body.in = {{runs,
                {index({{N, 1}}), index({{Y, conv.rows.step}, {R, conv.rows.dilation}}),
                 index({{X, kChannels * conv.columns.step}, {K, 1}})}},
               {weights, {index({{M, 1}}), index({{R, 1}}), index({{K, 1}})}}};
    return body;
  }

  // [n, row, column * 4 + channel], with the padding.
  TensorId store_pixels(const Conv &conv, std::int64_t rows, std::int64_t columns,
                        const std::string &origin) {
    const Tensor from = tensor(conv.data);
    const auto cast = casts_.find(conv.data);
    const auto shifted = [](int i, std::int64_t constant) {
      Affine affine{std::vector<Rational>(4), constant};
      affine.coeff[at(i)] = 1;
      return affine;
    };
    Contraction body;
    body.agg = Agg::Assign;
    body.indices = {"n", "c", "y", "x"};
    body.in = {{cast == casts_.end() ? conv.data : cast->second,
                {shifted(0, 0), shifted(1, 0), shifted(2, 0), shifted(3, 0)}}};
    body.out = {shifted(0, 0), shifted(2, conv.rows.before), shifted(3, conv.columns.before),
                shifted(1, 0)};
    const TensorId pixels = result_.program.add(
        {.name = from.name, .type = from.type, .shape = {from.shape[0], rows, columns, kChannels}});
    statements_.push_back({pixels, std::move(body), origin + " pixels"});
    const TensorId runs =
        result_.program.add({.name = from.name,
                             .type = from.type,
                             .shape = {from.shape[0], rows, columns * kChannels}});
    statements_.push_back({runs, View{pixels}, origin + " pixels"});
    return runs;
  }

  // [m, row, column * 4 + channel]
  TensorId store_filter(TensorId id, std::int64_t taps) {
    Tensor filter = tensor(id);
    const Shape from = filter.shape;
    const std::int64_t run = taps * kChannels;
    Bytes bytes(static_cast<std::size_t>(from[0] * from[2] * run * size_bytes(filter.type)));
    std::int64_t element = 0;
    for (std::int64_t m = 0; m < from[0]; ++m)
      for (std::int64_t c = 0; c < from[1]; ++c)
        for (std::int64_t r = 0; r < from[2]; ++r)
          for (std::int64_t s = 0; s < from[3]; ++s)
            store_element(bytes.data(), filter.type, (m * from[2] + r) * run + s * kChannels + c,
                          load_element(filter.data->data(), filter.type, element++));
    filter.shape = {from[0], from[2], run};
    filter.data = std::make_shared<const Bytes>(std::move(bytes));
    filter.data_hash.clear();
    return result_.program.add(std::move(filter));
  }

  WidenedFirstLayers result_;
  std::int64_t bytes_;
  std::vector<Statement> statements_;
  std::map<TensorId, TensorId> casts_; // a converted tensor → what it was converted from
};

} // namespace

WidenedFirstLayers widen_first_layers(const Program &program, std::int64_t bytes) {
  return Widening(program, bytes).run();
}

} // namespace tilefuse::program
