// SPDX-License-Identifier: Apache-2.0
#include "program/precision/quantize_choice.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/disjoint_sets.h"
#include "base/index.h"
#include "program/precision/precision_choice.h"

namespace tilefuse::program {
namespace {

// Products of two 8-bit integers of at most 127 that a sum of 32 bits holds.
constexpr std::int64_t kMostProducts = ((std::int64_t{1} << 31) - 1) / (127 * 127);

bool is_weight(const Tensor &tensor) {
  return tensor.role == Role::Constant && tensor.type == DType::F32 && tensor.data;
}

class Choosing {
public:
  explicit Choosing(const Program &program)
      : program_(program), keeps_(choose_kept(program)), sets_(program.tensors.size()),
        is_wanted_(program.tensors.size(), false), is_kept_(program.tensors.size(), false),
        defined_at_(program.tensors.size(), 0), behind_product_(program.tensors.size(), false) {}

  QuantizeChoice run() {
    for (const Statement &statement : program_.statements) {
      choice_.weights.push_back(weights_of(statement));
      join_scale(statement);
      note(statement);
    }
    for (std::size_t t = 0; t < program_.tensors.size(); ++t)
      if (keeps_[t] != Keeps::Nothing || program_.tensors[t].role != Role::Temporary)
        is_kept_[root(t)] = true;
    for (std::size_t s = 0; s < program_.statements.size(); ++s)
      if (choice_.weights[s] >= 0)
        want(program_.statements[s], choice_.weights[s]);
    for (const Statement &statement : program_.statements)
      want_stored(statement);
    for (std::size_t t = 0; t < program_.tensors.size(); ++t)
      choice_.group.push_back(is_wanted_[root(t)] && !is_kept_[root(t)] ? static_cast<int>(root(t))
                                                                        : -1);
    return std::move(choice_);
  }

private:
  std::size_t root(std::size_t t) const { return sets_.root(t); }
  void join(TensorId a, TensorId b) {
    if (program_[a].role == Role::Temporary && program_[b].role == Role::Temporary)
      sets_.join(at(a), at(b));
  }

  // Statements that give values they have read.
  void join_scale(const Statement &statement) {
    if (const auto *view = std::get_if<View>(&statement.body))
      join(view->in, statement.out);
    const auto *body = std::get_if<Contraction>(&statement.body);
    if (body == nullptr || body->comb != Comb::None || body->agg == Agg::Sum ||
        body->agg == Agg::Product)
      return;
    join(body->in[0].tensor, statement.out);
    if (body->init)
      join(*body->init, statement.out);
  }

  int weights_of(const Statement &statement) {
    const auto *body = std::get_if<Contraction>(&statement.body);
    if (body == nullptr || body->agg != Agg::Sum || body->comb != Comb::Mul ||
        program_[statement.out].type != DType::F32)
      return -1;
    const int weights = is_weight(program_[body->in[1].tensor])
                            ? 1
                            : (is_weight(program_[body->in[0].tensor]) ? 0 : -1);
    const char *why = nullptr;
    if (weights < 0)
      why = "a product of two computed tensors";
    else if (program_[body->in[at(1 - weights)].tensor].type != DType::F32)
      why = "of another type";
    else if (body->init)
      why = "added to another tensor";
    else if (products_of(*body, weights) > kMostProducts)
      why = "longer sums than 32 bits hold";
    if (why == nullptr)
      return weights;
    choice_.kept.push_back(
        fmt::format("{} \"{}\": {}", statement.origin, program_[statement.out].name, why));
    return -1;
  }

  // At most so many are summed: a sum has no more products than there are weights.
  std::int64_t products_of(const Contraction &body, int weights) const {
    const Access &access = body.in[at(weights)];
    std::int64_t products = 1;
    for (std::size_t d = 0; d < access.subscripts.size(); ++d)
      if (!is_result(body, access.subscripts[d]))
        products *= program_[access.tensor].shape[d];
    return products;
  }

  // Only result indices move the subscript.
  static bool is_result(const Contraction &body, const Affine &subscript) {
    for (std::size_t i = 0; i < subscript.coeff.size(); ++i)
      if (!subscript.coeff[i].is_zero() &&
          std::none_of(body.out.begin(), body.out.end(),
                       [&](const Affine &out) { return !out.coeff[i].is_zero(); }))
        return false;
    return true;
  }

  void note(const Statement &statement) {
    const std::vector<TensorId> ids = reads(statement);
    defined_at_[at(statement.out)] = choice_.weights.size();
    behind_product_[at(statement.out)] =
        choice_.weights.back() >= 0 ||
        (std::holds_alternative<Map>(statement.body) &&
         std::any_of(ids.begin(), ids.end(), [&](TensorId id) { return behind_product_[at(id)]; }));
  }

  void want(const Statement &statement, int weights) {
    const auto &body = std::get<Contraction>(statement.body);
    is_wanted_[root(at(body.in[at(1 - weights)].tensor))] = true;
  }

  // Of several tensors that a map joins, one can be computed by its kernel: the last; the others
  // are stored.
  void want_stored(const Statement &statement) {
    const auto *map = std::get_if<Map>(&statement.body);
    if (map == nullptr)
      return;
    std::vector<TensorId> joined;
    for (const TensorId id : map->operands)
      if (program_[id].role == Role::Temporary && program_[id].type == DType::F32 &&
          program_[id].shape == program_[statement.out].shape && follows_product(id))
        joined.push_back(id);
    std::sort(joined.begin(), joined.end(),
              [&](TensorId a, TensorId b) { return defined_at_[at(a)] < defined_at_[at(b)]; });
    for (std::size_t k = 0; k + 1 < joined.size(); ++k)
      if (joined[k] != joined.back())
        is_wanted_[root(at(joined[k]))] = true;
  }

  // A product in integers, or a map of such.
  bool follows_product(TensorId id) const { return behind_product_[at(id)]; }

  const Program &program_;
  const std::vector<Keeps> keeps_;
  DisjointSets sets_;
  std::vector<bool> is_wanted_; // of roots
  std::vector<bool> is_kept_;
  std::vector<std::size_t> defined_at_; // by TensorId, counts of statements
  std::vector<bool> behind_product_;
  QuantizeChoice choice_;
};

} // namespace

QuantizeChoice choose_quantized(const Program &program) { return Choosing(program).run(); }

} // namespace tilefuse::program
