// SPDX-License-Identifier: Apache-2.0
#include "program/rewrite/affine_gradients.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "base/index.h"
#include "program/drop_dead.h"
#include "program/readers.h"
#include "program/rewrite/affine_form.h"
#include "program/rewrite/compose_maps.h"
#include "program/rewrite/dense_layer.h"
#include "program/rewrite/rewriter.h"
#include "program/rewrite/terms.h"
#include "target/dtype_traits.h"

namespace tilefuse::program {
namespace {

struct Candidate {
  std::size_t map = 0;           // statement of g
  std::size_t by_data = 0;       // of da
  std::size_t by_filter = 0;     // of dw
  std::vector<std::size_t> sums; // of dz * x
  TensorId back{};               // dz
  DenseLayer layer;
  AffineForm form; // of dz and x
};

class Folding {
public:
  Folding(const Program &program, const Price *price)
      : program_(program), price_(price), result_(program), readers_(readers_of(program)),
        writer_(program.tensors.size()) {
    for (const Statement &statement : program.statements) {
      writer_[at(statement.out)] = all_.size();
      all_.push_back({statement});
    }
  }

  Program run() {
    bool changes = false;
    for (std::size_t s = 0; s < program_.statements.size(); ++s)
      if (const std::optional<Candidate> found = candidate(s); found && gains(*found)) {
        fold(*found);
        changes = true;
      }
    if (!changes)
      return program_;
    std::vector<Statement> statements;
    for (std::vector<Statement> &each : all_)
      std::move(each.begin(), each.end(), std::back_inserter(statements));
    return compose_maps(with_statements(std::move(result_), std::move(statements), true));
  }

private:
  const Statement &statement(std::size_t s) const { return program_.statements[s]; }
  const Shape &shape(TensorId id) const { return program_[id].shape; }

  std::optional<Candidate> candidate(std::size_t s) const {
    const auto *map = std::get_if<Map>(&statement(s).body);
    const TensorId out = statement(s).out;
    const std::vector<std::size_t> &readers = readers_[at(out)];
    if (map == nullptr || readers.size() != 2 || readers[1] == program_.statements.size())
      return std::nullopt;
    for (std::size_t x = 0; x < map->operands.size(); ++x)
      for (std::size_t dz = 0; dz < map->operands.size(); ++dz)
        for (const bool is_turned : {false, true})
          if (const std::optional<Candidate> found =
                  candidate(s, x, dz, readers[is_turned ? 1 : 0], readers[is_turned ? 0 : 1]))
            return found;
    return std::nullopt;
  }

  std::optional<Candidate> candidate(std::size_t s, std::size_t x, std::size_t dz,
                                     std::size_t by_data, std::size_t by_filter) const {
    const auto &map = std::get<Map>(statement(s).body);
    const TensorId g = statement(s).out, forward = map.operands[x], back = map.operands[dz];
    const std::optional<std::size_t> writer = writer_[at(forward)];
    if (forward == back || !writer || shape(forward) != shape(g) || shape(back) != shape(g))
      return std::nullopt;
    const std::optional<Product> da = product_of(program_, statement(by_data));
    const std::optional<Product> dw = product_of(program_, statement(by_filter));
    for (const std::size_t data : {0, 1}) {
      const std::optional<DenseLayer> layer = dense_layer(program_, statement(*writer), data);
      if (!layer || !da || !dw)
        continue;
      const TensorId a = layer->data_access().tensor, w = layer->filter_access().tensor;
      if (!is_of_layer(program_, *da, {g, layer->x}, {w, layer->w}, layer->a) ||
          !is_of_layer(program_, *dw, {g, layer->x}, {a, layer->a}, layer->w))
        continue;
      const std::optional<AffineForm> form = form_of(map, x, dz, *layer);
      if (form)
        return Candidate{s,    by_data, by_filter, sums_of(back, forward, *layer),
                         back, *layer,  *form};
    }
    return std::nullopt;
  }

  // Of dz and x, all else being of channels.
  std::optional<AffineForm> form_of(const Map &map, std::size_t x, std::size_t dz,
                                    const DenseLayer &layer) const {
    for (std::size_t k = 0; k < map.operands.size(); ++k) {
      const Shape &own = shape(map.operands[k]);
      const std::size_t missing = layer.x.size() - own.size();
      for (std::size_t d = 0; d < own.size() && k != x && k != dz; ++d)
        if (own[d] != 1 && d + missing != layer.channel())
          return std::nullopt;
    }
    const Expr &expr = map.expr;
    const bool is_rounded = expr.kind == Expr::Kind::Cast && is_half(expr.type);
    const std::optional<AffineForm> form =
        affine_form(is_rounded ? expr.args[0] : expr, {static_cast<int>(dz), static_cast<int>(x)});
    return form && form->factors[0] && form->factors[1] ? form : std::nullopt;
  }

  // Sums over points of the product of both.
  std::vector<std::size_t> sums_of(TensorId back, TensorId forward, const DenseLayer &layer) const {
    std::vector<std::size_t> sums;
    for (const std::size_t s : readers_[at(forward)])
      if (s < program_.statements.size() && is_sum(s, back, forward, layer))
        sums.push_back(s);
    return sums;
  }

  bool is_sum(std::size_t s, TensorId back, TensorId forward, const DenseLayer &layer) const {
    const auto *given = std::get_if<Contraction>(&statement(s).body);
    if (given == nullptr || given->agg != Agg::Sum || given->init || !given->constraints.empty() ||
        given->in.size() != 2 || (given->comb != Comb::Mul && given->comb != Comb::Term))
      return false;
    const Contraction body = as_term(*given);
    const Expr &term = body.term;
    const bool is_product = term.kind == Expr::Kind::Call && term.op == ScalarOp::Mul &&
                            term.args[0].kind == Expr::Kind::Operand &&
                            term.args[1].kind == Expr::Kind::Operand &&
                            term.args[0].operand != term.args[1].operand;
    const std::vector<Affine> &read = body.in[0].subscripts;
    const auto reads_both = [&](std::size_t first) {
      return body.in[first].tensor == back && body.in[1 - first].tensor == forward;
    };
    return (reads_both(0) || reads_both(1)) && is_product && is_plain(read) &&
           read == body.in[1].subscripts && names_every_index(read, body.indices.size()) &&
           read.size() == body.indices.size() &&
           std::all_of(body.out.begin(), body.out.end(),
                       [&](const Affine &place) {
                         return place == read[layer.channel()] ||
                                place ==
                                    Affine{std::vector<Rational>(place.coeff.size()), Rational(0)};
                       }) &&
           std::find(body.out.begin(), body.out.end(), read[layer.channel()]) != body.out.end();
  }

  // Whether the statements over [p, m], [p, c] and [m, c] take less time when they are folded.
  bool gains(const Candidate &of) const {
    if (price_ == nullptr)
      return true;
    const DenseLayer &layer = of.layer;
    const std::int64_t points = elems(shape(of.back)) / layer.results();
    const auto type = [&](TensorId id) { return to_string(program_[id].type); };
    Program alone = parse_program(fmt::format(
        R"(program "affine" {{
  input %0 "a" : {type_a}[{p}, {c}]
  input %1 "w" : {type_w}[{m}, {c}]
  input %2 "dz" : {type_z}[{p}, {m}]
  input %3 "b" : f32[{m}]
  %4 "x" : {type_x}[{p}, {m}] = sum[p, m, c](%0[p, c] * %1[m, c]) -> [p, m]
  %5 "s" : f32[{m}] = sum[p, m](%2[p, m] * %4[p, m]) -> [m]
  %6 "g" : {type_g}[{p}, {m}] = map[%2, %4, %3, %5]({type_g}(f32($0) * $2 + f32($1) * $3 + $2))
  %7 "da" : {type_a}[{p}, {c}] = sum[p, m, c](%6[p, m] * %1[m, c]) -> [p, c]
  %8 "dw" : f32[{m}, {c}] = sum[p, m, c](%6[p, m] * %0[p, c]) -> [m, c]
  output %4
  output %7
  output %8
}})",
        fmt::arg("p", points), fmt::arg("m", layer.results()), fmt::arg("c", layer.inputs()),
        fmt::arg("type_a", type(layer.data_access().tensor)),
        fmt::arg("type_w", type(layer.filter_access().tensor)), fmt::arg("type_z", type(of.back)),
        fmt::arg("type_x", type(layer.product.out)),
        fmt::arg("type_g", type(statement(of.map).out))));
    alone.tf32 = program_.tf32;
    const double as_is = (*price_)(alone);
    return (*price_)(Folding(alone, nullptr).run()) < as_is;
  }

  TensorId add(const char *name, DType type, const Shape &shape) {
    return result_.add({.name = name, .type = type, .shape = shape});
  }

  // Of a filter's rank, one dimension as long as given.
  static Shape line(std::size_t rank, std::size_t dimension, std::int64_t extent) {
    Shape shape(rank, 1);
    shape[dimension] = extent;
    return shape;
  }

  // Operands of a new map: views of tensors of channels, along the filter's rows.
  struct RowViews {
    std::vector<TensorId> of;
    std::vector<TensorId> views;
  };

  // What an expression of the gradient's operands is along the filter's rows, in terms of views, to
  // which it adds. Maps of channels that nobody else reads are evaluated in it.
  Expr along_rows(const Expr &expr, const Map &of, const Candidate &candidate, RowViews &rows,
                  std::vector<Statement> &into) {
    return substitute(expr, [&](const Expr &read) {
      const TensorId id = source(of.operands[at(read.operand)]);
      if (const Map *map = lone_map(id))
        return read_as(along_rows(map->expr, *map, candidate, rows, into), read.type);
      const auto known = std::find(rows.of.begin(), rows.of.end(), id);
      const auto place = static_cast<int>(known - rows.of.begin());
      if (known == rows.of.end()) {
        rows.of.push_back(id);
        rows.views.push_back(add_like(
            result_, id, line(candidate.layer.w.size(), candidate.layer.rows(), elems(shape(id)))));
        into.push_back({rows.views.back(), View{id}, statement(candidate.map).origin});
      }
      return operand(place, read.type);
    });
  }

  // What a view is of.
  TensorId source(TensorId id) const {
    const std::optional<std::size_t> writer = writer_[at(id)];
    const auto *view = writer ? std::get_if<View>(&statement(*writer).body) : nullptr;
    return view != nullptr && readers_[at(id)].size() == 1 ? source(view->in) : id;
  }

  // The map that computes a tensor for one reader, of as many elements or of one everywhere.
  const Map *lone_map(TensorId id) const {
    const std::optional<std::size_t> writer = writer_[at(id)];
    const auto *map = writer ? std::get_if<Map>(&statement(*writer).body) : nullptr;
    const auto fits = [&](TensorId operand) {
      const std::int64_t count = elems(shape(operand));
      return count == 1 || count == elems(shape(id));
    };
    const bool is_alone = map != nullptr && readers_[at(id)].size() == 1 &&
                          std::all_of(map->operands.begin(), map->operands.end(), fits);
    return is_alone ? map : nullptr;
  }

  // A factor along the filter's rows; nothing for one that is 0.
  std::optional<TensorId> of_rows(const Factor &factor, const Candidate &of, const char *name,
                                  std::vector<Statement> &into) {
    if (!factor)
      return std::nullopt;
    RowViews rows;
    const Expr expr = along_rows(*factor, std::get<Map>(statement(of.map).body), of, rows, into);
    return add_map(name, DType::F32, line(of.layer.w.size(), of.layer.rows(), of.layer.results()),
                   expr, std::move(rows.views), statement(of.map).origin, into);
  }

  TensorId add_map(const char *name, DType type, const Shape &shape, const Expr &expr,
                   std::vector<TensorId> operands, const std::string &origin,
                   std::vector<Statement> &into) {
    const TensorId out = add(name, type, shape);
    into.push_back({out, Map{cast(expr, type), std::move(operands)}, origin});
    return out;
  }

  // As the tensor's elements in f32.
  Expr value(int k, TensorId id) const { return cast(operand(k, result_[id].type), DType::F32); }

  // sum[i, j, …](first * second) -> out, each dimension indexed by a number, or nothing: -1.
  struct Read {
    TensorId tensor{};
    std::vector<int> places;
  };
  void add_sum(const Read &out, const std::vector<Read> &in, std::size_t indices,
               const std::string &origin, std::vector<Statement> &into) {
    const auto forms = [&](const std::vector<int> &places) {
      std::vector<Affine> subscripts;
      for (const int place : places)
        subscripts.push_back(place < 0 ? Affine{std::vector<Rational>(indices), Rational(0)}
                                       : index_form(place, indices));
      return subscripts;
    };
    Contraction body{.agg = Agg::Sum, .comb = in.size() == 1 ? Comb::None : Comb::Mul};
    for (std::size_t i = 0; i < indices; ++i)
      body.indices.push_back(fmt::format("i{}", i));
    for (const Read &each : in)
      body.in.push_back({each.tensor, forms(each.places)});
    body.out = forms(out.places);
    into.push_back({out.tensor, std::move(body), origin});
  }

  // A statement that computes `out` from other tensors in the place of those it reads.
  Statement exchanged(const Product &product, TensorId out,
                      std::initializer_list<std::pair<TensorId, TensorId>> tensors) const {
    Contraction body = product.body;
    for (Access &access : body.in)
      for (const auto &[from, to] : tensors)
        if (access.tensor == from) {
          access.tensor = to;
          break;
        }
    return {out, std::move(body), product.origin};
  }

  // What the parts of a folded gradient share.
  struct Folded {
    const Candidate &of;
    TensorId g{}, a{}, w{};
    Product da, dw;
    TensorId products{};                         // P
    TensorId wide{};                             // w in f32
    std::optional<TensorId> scale, share, shift; // A, B, C
  };

  void fold(const Candidate &of) {
    const DenseLayer &layer = of.layer;
    Folded made{of,
                statement(of.map).out,
                layer.data_access().tensor,
                layer.filter_access().tensor,
                *product_of(program_, statement(of.by_data)),
                *product_of(program_, statement(of.by_filter))};
    std::vector<Statement> first = sums(made);
    all_[of.map] = factors(made);
    all_[of.by_data] = by_data(made);
    all_[of.by_filter] = by_filter(made);
    std::vector<Statement> &front =
        all_[of.sums.empty() ? of.map : std::min(of.map, of.sums.front())];
    front.insert(front.begin(), first.begin(), first.end());
  }

  // Along a filter's dimensions: what indexes its rows, and its columns.
  static std::vector<int> along(const Folded &made, int rows, int columns) {
    const DenseLayer &layer = made.of.layer;
    std::vector<int> places(layer.w.size(), -1);
    places[layer.rows()] = rows;
    places[layer.columns()] = columns;
    return places;
  }

  // Of a filter's shape with as many rows as columns.
  Shape square(const Folded &made) const {
    Shape square = shape(made.w);
    square[made.of.layer.rows()] = made.of.layer.inputs();
    return square;
  }

  // P, of which the sums become sums, and the filter in f32.
  std::vector<Statement> sums(Folded &made) {
    std::vector<Statement> into;
    made.products = add("P", DType::F32, shape(made.dw.out));
    into.push_back(exchanged(made.dw, made.products, {{made.g, made.of.back}}));
    made.wide = program_[made.w].type == DType::F32
                    ? made.w
                    : add_map("w", DType::F32, shape(made.w), value(0, made.w), {made.w},
                              made.dw.origin, into);
    for (const std::size_t s : made.of.sums) {
      std::vector<int> out;
      for (const Affine &place : std::get<Contraction>(statement(s).body).out)
        out.push_back(plain_index(place) < 0 ? -1 : 0);
      all_[s].clear();
      add_sum({statement(s).out, out},
              {{made.products, along(made, 0, 1)}, {made.wide, along(made, 0, 1)}}, 2,
              statement(s).origin, all_[s]);
    }
    return into;
  }

  std::vector<Statement> factors(Folded &made) {
    std::vector<Statement> into;
    const AffineForm &form = made.of.form;
    made.scale = of_rows(form.factors[0], made.of, "A", into);
    made.share = of_rows(form.factors[1], made.of, "B", into);
    made.shift = of_rows(form.rest, made.of, "C", into);
    return into;
  }

  // Q, in the filter's type.
  TensorId mixing(const Folded &made, std::vector<Statement> &into) {
    const std::string &origin = statement(made.of.map).origin;
    // Of the factor's expression, so that the factor need not be waited for.
    RowViews rows;
    const Expr factor = along_rows(*made.of.form.factors[1],
                                   std::get<Map>(statement(made.of.map).body), made.of, rows, into);
    std::vector<TensorId> operands = std::move(rows.views);
    operands.push_back(made.wide);
    const int last = static_cast<int>(operands.size()) - 1;
    const TensorId scaled =
        add_map("B w", DType::F32, shape(made.w),
                call(ScalarOp::Mul, {factor, value(last, made.wide)}), operands, origin, into);
    const TensorId sum = add("Q", DType::F32, square(made));
    add_sum({sum, along(made, 1, 2)}, {{scaled, along(made, 0, 1)}, {made.wide, along(made, 0, 2)}},
            3, origin, into);
    const DType type = program_[made.w].type;
    return type == DType::F32
               ? sum
               : add_map("Q", type, square(made), value(0, sum), {sum}, origin, into);
  }

  // dz * (A w) + a * Q + C w, of which the last two come first.
  std::vector<Statement> by_data(const Folded &made) {
    std::vector<Statement> into;
    const DenseLayer &layer = made.of.layer;
    const std::string &origin = statement(made.of.map).origin;
    const TensorId scaled =
        add_map("A w", program_[made.w].type, shape(made.w),
                call(ScalarOp::Mul, {value(0, *made.scale), value(1, made.wide)}),
                {*made.scale, made.wide}, origin, into);
    const DType type = program_[made.da.out].type;
    TensorId own = add("own", type, shape(made.a));
    Statement from_data = exchanged(layer.product, own, {{made.w, mixing(made, into)}});
    from_data.origin = made.da.origin;
    into.push_back(std::move(from_data));
    if (made.shift) {
      const TensorId offsets =
          add("C w", DType::F32, line(layer.x.size(), layer.channel(), layer.inputs()));
      std::vector<int> out(layer.x.size(), -1);
      out[layer.channel()] = 1;
      add_sum({offsets, out}, {{*made.shift, along(made, 0, -1)}, {made.wide, along(made, 0, 1)}},
              2, origin, into);
      own = add_map("own", type, shape(made.a),
                    call(ScalarOp::Add, {value(0, own), value(1, offsets)}), {own, offsets},
                    made.da.origin, into);
    }
    const TensorId back = add("back", type, shape(made.a));
    into.push_back(exchanged(made.da, back, {{made.g, made.of.back}, {made.w, scaled}}));
    const Expr sum = call(ScalarOp::Add, {value(0, back), value(1, own)});
    into.push_back({made.da.out, Map{cast(sum, type), {back, own}}, made.da.origin});
    return into;
  }

  // A * P + B * (w G) + C * sum a
  std::vector<Statement> by_filter(const Folded &made) {
    std::vector<Statement> into;
    const DenseLayer &layer = made.of.layer;
    const std::string &origin = made.dw.origin;
    const TensorId gram = add("G", DType::F32, square(made));
    into.push_back(exchanged(made.dw, gram, {{made.g, made.a}}));
    const TensorId mixed = add("w G", DType::F32, shape(made.dw.out));
    add_sum({mixed, along(made, 0, 2)}, {{made.wide, along(made, 0, 1)}, {gram, along(made, 1, 2)}},
            3, origin, into);
    std::vector<TensorId> operands;
    Factor gradient;
    const auto add_term = [&](TensorId factor, TensorId of) {
      operands.insert(operands.end(), {factor, of});
      const int last = static_cast<int>(operands.size()) - 1;
      const Expr term =
          call(ScalarOp::Mul, {operand(last - 1, DType::F32), operand(last, DType::F32)});
      gradient = gradient ? call(ScalarOp::Add, {*gradient, term}) : term;
    };
    add_term(*made.scale, made.products);
    add_term(*made.share, mixed);
    if (made.shift) {
      const TensorId columns =
          add("sum a", DType::F32, line(layer.w.size(), layer.columns(), layer.inputs()));
      std::vector<int> points(layer.a.size());
      std::iota(points.begin(), points.end(), 0);
      add_sum({columns, along(made, -1, static_cast<int>(layer.channel()))}, {{made.a, points}},
              points.size(), origin, into);
      add_term(*made.shift, columns);
    }
    into.push_back(
        {made.dw.out, Map{cast(*gradient, program_[made.dw.out].type), operands}, origin});
    return into;
  }

  const Program &program_;
  const Price *price_; // null: folds whatever it can
  Program result_;
  std::vector<std::vector<std::size_t>> readers_;
  std::vector<std::optional<std::size_t>> writer_;
  std::vector<std::vector<Statement>> all_; // by statement, what stands in its place
};

} // namespace

Program affine_gradients(const Program &program, const Price &price) {
  return Folding(program, &price).run();
}

} // namespace tilefuse::program
