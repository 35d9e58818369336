// SPDX-License-Identifier: Apache-2.0
#include "program/rewrite/block_channels.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "base/index.h"
#include "program/drop_dead.h"
#include "program/storage/layout.h"

namespace tilefuse::program {
namespace {

std::int64_t product(Shape::const_iterator begin, Shape::const_iterator end) {
  return std::accumulate(begin, end, std::int64_t{1}, std::multiplies<>());
}

Affine single(std::size_t index, std::size_t indices) {
  Affine form{std::vector<Rational>(indices), 0};
  form.coeff[index] = 1;
  return form;
}

class Blocking {
public:
  Blocking(const Program &program, std::int64_t block)
      : program_(program), block_(block), channels_(channel_dims(program)),
        forms_(program.tensors.size()) {
    for (TensorId id : program.outputs)
      channels_[at(id)] = 0;
    for (std::size_t t = 0; t < forms_.size(); ++t) {
      const Tensor &tensor = program.tensors[t];
      const std::size_t last = channels_[t];
      if (last != 0 && tensor.shape[last] % block != 0)
        channels_[t] = 0;
      forms_[t].has_plain = tensor.role != Role::Temporary;
    }
  }

  Program run() {
    const std::vector<Statement> before = std::exchange(program_.statements, {});
    for (const Statement &statement : before)
      std::visit([&](const auto &body) { rewrite(statement, body); }, statement.body);
    for (TensorId id : program_.outputs)
      plain(id);
    Program result = drop_dead(std::move(program_));
    verify(result);
    return result;
  }

private:
  // A tensor as it was and in blocks; which of them statements compute so far.
  struct Forms {
    bool has_plain = false;
    std::optional<TensorId> blocked;
  };

  const Shape &shape(TensorId id) const { return program_[id].shape; }
  bool is_planned(TensorId id) const { return channels_[at(id)] != 0; }
  // The dimension that is split: the last of the channels.
  std::size_t split_dim(TensorId id) const { return channels_[at(id)]; }
  bool has_one_pixel(TensorId id) const {
    const Shape &all = shape(id);
    return product(all.begin() + static_cast<std::ptrdiff_t>(split_dim(id)) + 1, all.end()) == 1;
  }

  void add(TensorId out, std::variant<Contraction, Map, View> body, const std::string &origin) {
    program_.statements.push_back({out, std::move(body), origin});
  }

  TensorId declare_blocked(TensorId id) {
    Tensor tensor = program_[id];
    tensor.shape[split_dim(id)] /= block_;
    tensor.shape.push_back(block_);
    forms_[at(id)].blocked = program_.add(std::move(tensor));
    return *forms_[at(id)].blocked;
  }

  // Both forms over the same points: the plain one is read at block * c + c_b.
  Contraction copy(TensorId from, TensorId to, TensorId plain_id) const {
    const std::size_t rank = shape(plain_id).size();
    Contraction body{.agg = Agg::Assign};
    std::vector<Affine> split;
    for (std::size_t d = 0; d <= rank; ++d) {
      body.indices.push_back("d" + std::to_string(d));
      split.push_back(single(d, rank + 1));
    }
    std::vector<Affine> joined(split.begin(), split.end() - 1);
    joined[split_dim(plain_id)].coeff[split_dim(plain_id)] = block_;
    joined[split_dim(plain_id)].coeff[rank] = 1;
    body.out = to == plain_id ? joined : split;
    body.in = {{from, from == plain_id ? joined : split}};
    return body;
  }

  void convert(TensorId from, TensorId to, TensorId plain_id) {
    if (has_one_pixel(plain_id))
      add(to, View{from}, "layout");
    else
      add(to, copy(from, to, plain_id), "layout");
  }

  TensorId plain(TensorId id) {
    Forms &forms = forms_[at(id)];
    if (!std::exchange(forms.has_plain, true) && forms.blocked)
      convert(*forms.blocked, id, id);
    return id;
  }

  TensorId blocked(TensorId id) {
    if (!forms_[at(id)].blocked)
      convert(id, declare_blocked(id), id);
    return *forms_[at(id)].blocked;
  }

  TensorId define(TensorId id, bool in_blocks) {
    if (in_blocks)
      return declare_blocked(id);
    forms_[at(id)].has_plain = true;
    return id;
  }

  // The subscript of whole channels or whole blocks of them: one index and a multiple of the block,
  // or a number. Positions count single channels.
  bool is_splittable(TensorId id, const std::vector<Affine> &subscripts,
                     const std::vector<std::size_t> &picks) const {
    if (!is_planned(id))
      return false;
    const Affine &channel = subscripts[split_dim(id)];
    if (std::any_of(picks.begin(), picks.end(),
                    [&](std::size_t index) { return is_index(channel, index); }))
      return false;
    const auto is_used = [](const Rational &coeff) { return !coeff.is_zero(); };
    const auto used = std::count_if(channel.coeff.begin(), channel.coeff.end(), is_used);
    const auto first = std::find_if(channel.coeff.begin(), channel.coeff.end(), is_used);
    if (!channel.constant.is_integer())
      return false;
    return used == 0 ? channel.constant.num() >= 0
                     : used == 1 && *first == Rational(1) && channel.constant.num() % block_ == 0;
  }

  void rewrite(const Statement &statement, const Contraction &given) {
    Contraction body = given;
    const bool init_fits = !given.init || (is_planned(*given.init) &&
                                           split_dim(*given.init) == split_dim(statement.out));
    const bool splits_out = init_fits && is_splittable(statement.out, given.out, given.picks);
    std::vector<bool> splits_in;
    for (const Access &access : given.in)
      splits_in.push_back(is_splittable(access.tensor, access.subscripts, given.picks));
    std::vector<std::optional<std::size_t>> inner(given.indices.size());
    const auto split = [&](TensorId id, const std::vector<Affine> &subscripts) {
      const Affine &channel = subscripts[split_dim(id)];
      for (std::size_t i = 0; i < inner.size(); ++i)
        if (!channel.coeff[i].is_zero() && !inner[i])
          inner[i] = split_index(body, i);
    };
    if (splits_out)
      split(statement.out, given.out);
    for (std::size_t k = 0; k < given.in.size(); ++k)
      if (splits_in[k])
        split(given.in[k].tensor, given.in[k].subscripts);
    if (splits_out)
      divide(body.out, split_dim(statement.out), inner);
    for (std::size_t k = 0; k < given.in.size(); ++k) {
      const TensorId id = given.in[k].tensor;
      if (splits_in[k])
        divide(body.in[k].subscripts, split_dim(id), inner);
      body.in[k].tensor = splits_in[k] ? blocked(id) : plain(id);
    }
    if (given.init)
      body.init = splits_out ? blocked(*given.init) : plain(*given.init);
    add(define(statement.out, splits_out), std::move(body), statement.origin);
  }

  // Every use of the index i becomes block * i + a new index.
  std::size_t split_index(Contraction &body, std::size_t i) const {
    std::string name = body.indices[i] + "_b";
    while (std::find(body.indices.begin(), body.indices.end(), name) != body.indices.end())
      name += "b";
    body.indices.push_back(name);
    const auto widen = [&](Affine &form) {
      form.coeff.push_back(form.coeff[i]);
      form.coeff[i] = form.coeff[i] * Rational(block_);
    };
    std::for_each(body.out.begin(), body.out.end(), widen);
    for (Access &access : body.in)
      std::for_each(access.subscripts.begin(), access.subscripts.end(), widen);
    for (Constraint &constraint : body.constraints)
      widen(constraint.expr);
    return body.indices.size() - 1;
  }

  void divide(std::vector<Affine> &subscripts, std::size_t dim,
              const std::vector<std::optional<std::size_t>> &inner) const {
    Affine &channel = subscripts[dim];
    const std::int64_t constant = channel.constant.num();
    Affine rest{std::vector<Rational>(channel.coeff.size()), constant % block_};
    for (std::size_t i = 0; i < inner.size(); ++i)
      if (!channel.coeff[i].is_zero()) {
        channel = single(i, channel.coeff.size());
        rest = single(*inner[i], channel.coeff.size());
        break;
      }
    channel.constant = constant / block_;
    subscripts.push_back(std::move(rest));
  }

  void rewrite(const Statement &statement, const Map &given) {
    Map body = given;
    const bool in_blocks = is_planned(statement.out);
    for (TensorId &operand : body.operands)
      operand = in_blocks ? operand_of(operand, statement.out) : plain(operand);
    add(define(statement.out, in_blocks), std::move(body), statement.origin);
  }

  // An operand of a map as it broadcasts to blocks.
  TensorId operand_of(TensorId id, TensorId out) {
    const Shape &whole = shape(id);
    const std::size_t behind =
        shape(out).size() - split_dim(out); // dimensions from the channels on
    if (is_planned(id) && shape(id) == shape(out) && split_dim(id) == split_dim(out))
      return blocked(id);
    if (product(whole.begin(), whole.end()) == 1)
      return plain(id);
    Shape to = whole;
    to.push_back(1);
    if (whole.size() >= behind && whole[whole.size() - behind] != 1) {
      const auto pixels = whole.end() - static_cast<std::ptrdiff_t>(behind) + 1;
      if (product(pixels, whole.end()) != 1)
        return spread(id, whole.size() - behind);
      to[whole.size() - behind] /= block_;
      to.back() = block_;
    }
    return viewed(id, std::move(to));
  }

  TensorId viewed(TensorId id, Shape to) {
    Tensor tensor = program_[plain(id)];
    tensor.shape = std::move(to);
    tensor.role = Role::Temporary;
    tensor.data.reset();
    tensor.data_hash.clear();
    const TensorId view = program_.add(std::move(tensor));
    add(view, View{id}, "");
    return view;
  }

  // An operand whose channels are no blocks elsewhere, copied for one map.
  TensorId spread(TensorId id, std::size_t dim) {
    Shape split = shape(plain(id));
    split[dim] /= block_;
    split.insert(split.begin() + static_cast<std::ptrdiff_t>(dim) + 1, block_);
    const TensorId view = viewed(id, split);
    Tensor tensor = program_[view];
    std::rotate(tensor.shape.begin() + static_cast<std::ptrdiff_t>(dim) + 1,
                tensor.shape.begin() + static_cast<std::ptrdiff_t>(dim) + 2, tensor.shape.end());
    Contraction body{.agg = Agg::Assign};
    for (std::size_t d = 0; d < split.size(); ++d) {
      body.indices.push_back("d" + std::to_string(d));
      body.out.push_back(single(d, split.size()));
    }
    body.in = {{view, body.out}};
    const auto begin = body.out.begin() + static_cast<std::ptrdiff_t>(dim) + 1;
    std::rotate(begin, begin + 1, body.out.end());
    const TensorId copied = program_.add(std::move(tensor));
    add(copied, std::move(body), "layout");
    return copied;
  }

  void rewrite(const Statement &statement, const View &view) {
    const TensorId in = view.in, out = statement.out;
    if (is_planned(in) && forms_[at(in)].blocked) {
      if (is_planned(out) && has_same_pixels(in, out)) {
        const TensorId from = *forms_[at(in)].blocked;
        add(declare_blocked(out), View{from}, statement.origin);
        return;
      }
      if (has_one_pixel(in)) {
        add(define(out, false), View{*forms_[at(in)].blocked}, statement.origin);
        return;
      }
    }
    add(define(out, false), View{plain(in)}, statement.origin);
  }

  bool has_same_pixels(TensorId a, TensorId b) const {
    const auto pixels = [&](TensorId id) {
      const auto first = shape(id).begin() + static_cast<std::ptrdiff_t>(split_dim(id)) + 1;
      return Shape(first, shape(id).end());
    };
    return shape(a)[0] == shape(b)[0] && pixels(a) == pixels(b);
  }

  Program program_;
  std::int64_t block_;
  std::vector<std::size_t> channels_; // by TensorId of the given program; 0: stays as it is
  std::vector<Forms> forms_;          // the same
};

} // namespace

Program block_channels(const Program &program, std::int64_t block) {
  return Blocking(program, block).run();
}

} // namespace tilefuse::program
