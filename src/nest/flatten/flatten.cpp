// SPDX-License-Identifier: Apache-2.0
#include "nest/flatten/flatten.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/index.h"
#include "nest/flatten/flat_builder.h"
#include "nest/flatten/flat_statement.h"
#include "nest/flatten/flatten_map.h"
#include "nest/flatten/pieces.h"
#include "nest/integer/checked.h"

namespace tilefuse::nest {
namespace {

using program::Affine;
using program::Contraction;
using program::Map;
using program::Statement;
using program::StoredProgram;
using program::TensorId;

constexpr std::int64_t kMaxCoefficient = std::int64_t{1} << 40;

// A contraction without the indices whose values are found in tensors; 0 stands where they stood.
struct Unpicked {
  Contraction body;
  std::vector<std::size_t> dims; // of in[0], by position operand
};

Unpicked unpicked(const Contraction &from) {
  Unpicked result{from, {}};
  std::vector<std::size_t> gone = from.picks;
  for (const std::size_t index : gone)
    for (std::size_t d = 0; d < from.in[0].subscripts.size(); ++d)
      if (program::is_index(from.in[0].subscripts[d], index))
        result.dims.push_back(d);
  std::sort(gone.rbegin(), gone.rend());
  const auto drop = [&](Affine &form) {
    for (const std::size_t index : gone)
      form.coeff.erase(form.coeff.begin() + static_cast<std::ptrdiff_t>(index));
  };
  Contraction &body = result.body;
  for (const std::size_t index : gone)
    body.indices.erase(body.indices.begin() + static_cast<std::ptrdiff_t>(index));
  std::for_each(body.out.begin(), body.out.end(), drop);
  for (program::Access &access : body.in)
    std::for_each(access.subscripts.begin(), access.subscripts.end(), drop);
  for (program::Constraint &constraint : body.constraints)
    drop(constraint.expr);
  body.picks.clear();
  return result;
}

// From the subscripts of a contraction to the pieces of its result.
class Flattening {
public:
  Flattening(const StoredProgram &stored, const Statement &statement, const Contraction &body)
      : stored_(stored), statement_(statement), unpicked_(unpicked(body)), body_(unpicked_.body) {}

  std::vector<FlatStatement> run() {
    read_system();
    const Defracted defracted = defract(reduce(system_, index_ranges()));
    PieceBuilder pieces(stored_, statement_, body_, unpicked_.dims, defracted);
    std::vector<FlatStatement> flats = pieces.build(mode());
    if (body_.init && !init_is_in_place() && !fills_result(flats)) {
      std::vector<FlatStatement> copy = flatten_copy(stored_, *body_.init, statement_);
      flats.insert(flats.begin(), copy.begin(), copy.end());
    }
    return flats;
  }

private:
  const program::Shape &shape_of(TensorId id) const { return stored_.program[id].shape; }
  const program::Window &window_of(TensorId id) const { return stored_.windows[at(id)]; }

  [[noreturn]] static void fail(ErrorCode code, const std::string &message) {
    throw Error(code, message);
  }

  // The form with a coefficient for every index; refuses numbers that would overflow later.
  Affine checked(const Affine &affine, const std::string &name) const {
    const auto check = [&](const Rational &value) {
      if (value.num() >= kMaxCoefficient || value.num() <= -kMaxCoefficient ||
          value.den() >= kMaxCoefficient)
        fail(ErrorCode::Limit, fmt::format("{} has a number past 2^40", name));
    };
    check(affine.constant);
    for (const Rational &value : affine.coeff)
      check(value);
    Affine form = affine;
    form.coeff.resize(body_.indices.size());
    return form;
  }

  void add_row(const Affine &form, std::int64_t bound, bool is_subscript, std::string_view what) {
    Affine full = form;
    full.coeff.resize(body_.indices.size());
    std::string name =
        fmt::format("0 <= {} < {} ({})", program::to_text(full, body_.indices), bound, what);
    system_.rows.push_back({checked(full, name), bound, is_subscript, std::move(name)});
  }

  void add_subscripts(const std::vector<Affine> &subscripts, TensorId tensor,
                      std::string_view what) {
    const program::Shape &shape = shape_of(tensor);
    if (subscripts.size() != shape.size())
      fail(ErrorCode::Shape,
           fmt::format("{} subscripts for a tensor of rank {}", subscripts.size(), shape.size()));
    for (std::size_t d = 0; d < shape.size(); ++d)
      add_row(subscripts[d], shape[d], true, fmt::format("dimension {} of {}", d, what));
  }

  void read_system() {
    if (!program::takes_operands(body_.comb, body_.in.size()))
      fail(ErrorCode::Shape, "a contraction's operands do not match its combination");
    if (body_.init && shape_of(*body_.init) != shape_of(statement_.out))
      fail(ErrorCode::Shape, "the init has another shape than the result");
    system_.indices = body_.indices;
    add_subscripts(body_.out, statement_.out, "the result");
    system_.results = system_.rows.size();
    for (std::size_t k = 0; k < body_.in.size(); ++k)
      add_subscripts(body_.in[k].subscripts, body_.in[k].tensor, fmt::format("operand {}", k));
    for (const program::Constraint &constraint : body_.constraints)
      add_row(constraint.expr, constraint.bound, false, "a constraint");
  }

  std::vector<Interval> index_ranges() const {
    const Domain domain = domain_of(system_);
    if (domain.is_empty())
      fail(ErrorCode::Shape, fmt::format("nothing is computed: no point satisfies {}",
                                         fmt::join(domain.conflict(), " and ")));
    std::vector<Interval> ranges;
    for (std::size_t i = 0; i < body_.indices.size(); ++i) {
      const Bounds range = *domain.range(i);
      if (!range.is_finite())
        fail(ErrorCode::Shape,
             fmt::format("index '{}' is not bounded by any subscript or constraint",
                         body_.indices[i]));
      ranges.push_back({*range.lo, *range.hi});
    }
    return ranges;
  }

  // A result that shares its buffer with others' must not touch their elements.
  Cover mode() const {
    if (body_.init)
      return Cover::Reached;
    const program::BufferId buffer = window_of(statement_.out).buffer;
    for (const Statement &other : stored_.program.statements)
      if (other.out != statement_.out && window_of(other.out).buffer == buffer)
        return Cover::Box;
    return Cover::Whole;
  }

  bool init_is_in_place() const {
    const program::Window &from = window_of(*body_.init);
    const program::Window &to = window_of(statement_.out);
    return from.buffer == to.buffer && from.offset == to.offset && from.strides == to.strides;
  }

  bool fills_result(const std::vector<FlatStatement> &flats) const {
    std::int64_t points = 0;
    for (const FlatStatement &flat : flats)
      points += output_points(flat.nest);
    return points == program::elems(shape_of(statement_.out));
  }

  const StoredProgram &stored_;
  const Statement &statement_;
  const Unpicked unpicked_;
  const Contraction &body_;
  System system_;
};

} // namespace

std::vector<FlatStatement> flatten(const StoredProgram &stored, const Statement &statement) {
  try {
    if (const auto *map = std::get_if<Map>(&statement.body))
      return flatten_map(stored, *map, statement);
    if (const auto *contraction = std::get_if<Contraction>(&statement.body))
      return Flattening(stored, statement, *contraction).run();
  } catch (const Error &error) {
    throw Error(error.code(), error.message(), statement.origin, error.notes());
  }
  throw Error(ErrorCode::Unsupported, "a view has no nest of its own", statement.origin);
}

} // namespace tilefuse::nest
