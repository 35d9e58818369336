// SPDX-License-Identifier: Apache-2.0
#include "program/rewrite/rewriter.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilefuse::program {
namespace {

// The extent of an index where a tensor is indexed by it alone; 0 where none is.
std::int64_t own_extent(const Program &program, const Statement &statement, const Contraction &body,
                        int index) {
  std::int64_t extent = 0;
  const auto look = [&](TensorId tensor, const std::vector<Affine> &subscripts) {
    for (std::size_t d = 0; d < subscripts.size(); ++d)
      if (plain_index(subscripts[d]) == index)
        extent =
            extent == 0 ? program[tensor].shape[d] : std::min(extent, program[tensor].shape[d]);
  };
  look(statement.out, body.out);
  for (const Access &access : body.in)
    look(access.tensor, access.subscripts);
  return extent;
}

// A contraction mentions the indices that its subscripts use, and no others.
Contraction without_unused(Contraction body) {
  const auto used = [&](std::size_t i) {
    const int index = static_cast<int>(i);
    return uses(body.out, index) ||
           std::any_of(body.in.begin(), body.in.end(),
                       [&](const Access &access) { return uses(access.subscripts, index); });
  };
  std::vector<bool> kept;
  for (std::size_t i = 0; i < body.indices.size(); ++i)
    kept.push_back(used(i));
  const auto drop = [&](auto &list) {
    std::size_t next = 0;
    for (std::size_t i = 0; i < kept.size(); ++i)
      if (kept[i])
        list[next++] = list[i];
    list.resize(next);
  };
  drop(body.indices);
  for (Affine &subscript : body.out)
    drop(subscript.coeff);
  for (Access &access : body.in)
    for (Affine &subscript : access.subscripts)
      drop(subscript.coeff);
  return body;
}

} // namespace

int plain_index(const Affine &subscript) {
  int found = -1;
  for (std::size_t i = 0; i < subscript.coeff.size(); ++i) {
    if (subscript.coeff[i].is_zero())
      continue;
    if (found >= 0 || subscript.coeff[i] != Rational(1))
      return -1;
    found = static_cast<int>(i);
  }
  return subscript.constant.is_zero() ? found : -1;
}

bool uses(const Affine &subscript, std::size_t index) { return !subscript.coeff[index].is_zero(); }

bool is_plain(const std::vector<Affine> &subscripts) {
  return std::all_of(subscripts.begin(), subscripts.end(),
                     [](const Affine &subscript) { return plain_index(subscript) >= 0; });
}

bool names_every_index(const std::vector<Affine> &subscripts, std::size_t indices) {
  std::vector<bool> named(indices, false);
  for (const Affine &subscript : subscripts)
    if (const int index = plain_index(subscript); index >= 0)
      named[static_cast<std::size_t>(index)] = true;
  return std::find(named.begin(), named.end(), false) == named.end();
}

bool uses(const std::vector<Affine> &subscripts, int index) {
  return std::any_of(subscripts.begin(), subscripts.end(), [&](const Affine &subscript) {
    return uses(subscript, static_cast<std::size_t>(index));
  });
}

Affine index_form(int index, std::size_t indices) {
  Affine form{std::vector<Rational>(indices), {}};
  form.coeff[static_cast<std::size_t>(index)] = 1;
  return form;
}

TensorId add_like(Program &program, TensorId like, const Shape &shape) {
  return program.add({.name = program[like].name, .type = program[like].type, .shape = shape});
}

std::optional<Product> product_of(const Program &program, const Statement &statement) {
  const auto *body = std::get_if<Contraction>(&statement.body);
  if (body == nullptr || body->agg != Agg::Sum || body->comb != Comb::Mul || body->init ||
      !body->constraints.empty())
    return std::nullopt;
  Product product{statement.out, *body, {}, statement.origin};
  const auto fill = [&](std::vector<Affine> &subscripts) {
    for (Affine &subscript : subscripts)
      subscript.coeff.resize(body->indices.size());
  };
  fill(product.body.out);
  for (Access &access : product.body.in)
    fill(access.subscripts);
  for (std::size_t i = 0; i < body->indices.size(); ++i) {
    product.extents.push_back(own_extent(program, statement, product.body, static_cast<int>(i)));
    if (product.extents.back() == 0)
      return std::nullopt;
  }
  return product;
}

std::string Rewriter::origin(const std::string &what) const {
  return fmt::format("{}{}({} {})", product_.origin, product_.origin.empty() ? "" : " ", algorithm_,
                     what);
}

Access Rewriter::temporary(const std::string &what, DType type, const std::vector<int> &order,
                           const std::vector<std::int64_t> &extents, Contraction body) {
  Tensor tensor{.name = what, .type = type};
  Access access;
  body.out.clear();
  for (const int i : order) {
    tensor.shape.push_back(extents[static_cast<std::size_t>(i)]);
    access.subscripts.push_back(index_form(i, body.indices.size()));
  }
  body.out = access.subscripts;
  access.tensor = program_.add(std::move(tensor));
  program_.statements.push_back({access.tensor, without_unused(std::move(body)), origin(what)});
  return access;
}

void Rewriter::result(const std::string &what, Contraction body) {
  program_.statements.push_back({product_.out, without_unused(std::move(body)), origin(what)});
}

TensorId Rewriter::constant(const std::string &name, const Shape &shape,
                            const std::vector<double> &values) {
  Bytes data(values.size() * static_cast<std::size_t>(size_bytes(DType::F32)));
  for (std::size_t i = 0; i < values.size(); ++i)
    store_element(data.data(), DType::F32, static_cast<std::int64_t>(i), values[i]);
  return program_.add({.name = name,
                       .type = DType::F32,
                       .shape = shape,
                       .role = Role::Constant,
                       .data = std::make_shared<const Bytes>(std::move(data))});
}

} // namespace tilefuse::program
