// SPDX-License-Identifier: Apache-2.0
#include "program/rewrite/dense_layer.h"

#include <algorithm>

namespace tilefuse::program {
namespace {

constexpr int kUnseen = -2;

// What a tensor's dimensions are indexed by, -1 for one of a single element; nothing where a
// dimension is not indexed by one index over all its elements. Indices of one value do not count.
using Places = std::optional<std::vector<int>>;

Places places(const Program &program, const Product &product, TensorId tensor,
              const std::vector<Affine> &subscripts) {
  std::vector<int> found;
  for (std::size_t d = 0; d < subscripts.size(); ++d) {
    Affine moving = subscripts[d];
    for (std::size_t i = 0; i < moving.coeff.size(); ++i)
      if (product.extents[i] == 1)
        moving.coeff[i] = 0;
    const std::int64_t size = program[tensor].shape[d];
    found.push_back(size == 1 ? -1 : plain_index(moving));
    if (size > 1 && (found.back() < 0 || product.extents[at(found.back())] != size))
      return std::nullopt;
  }
  return found;
}

std::size_t position(const std::vector<int> &in, int index) {
  return static_cast<std::size_t>(std::find(in.begin(), in.end(), index) - in.begin());
}

bool has(const std::vector<int> &in, int index) { return position(in, index) < in.size(); }

} // namespace

std::size_t DenseLayer::channel() const { return position(x, m); }
std::size_t DenseLayer::rows() const { return position(w, m); }
std::size_t DenseLayer::columns() const { return position(w, c); }

std::optional<DenseLayer> dense_layer(const Program &program, const Statement &statement,
                                      std::size_t data) {
  const std::optional<Product> product = product_of(program, statement);
  if (!product)
    return std::nullopt;
  DenseLayer layer{*product, data, {}, {}, {}};
  const Places x = places(program, *product, product->out, product->body.out);
  const Places a =
      places(program, *product, layer.data_access().tensor, layer.data_access().subscripts);
  const Places w =
      places(program, *product, layer.filter_access().tensor, layer.filter_access().subscripts);
  if (!x || !a || !w || x->size() != a->size())
    return std::nullopt;
  for (const int index : *w) {
    if (index < 0)
      continue;
    int &role = has(*x, index) && !has(*a, index) ? layer.m : layer.c;
    if (role >= 0 || has(*x, index) == has(*a, index))
      return std::nullopt;
    role = index;
  }
  if (layer.m < 0 || layer.c < 0)
    return std::nullopt;
  for (std::size_t d = 0; d < x->size(); ++d)
    if ((*x)[d] == layer.m ? (*a)[d] != layer.c : (*x)[d] != (*a)[d])
      return std::nullopt;
  layer.x = *x, layer.a = *a, layer.w = *w;
  return layer;
}

bool is_of_layer(const Program &program, const Product &product, const IndexedTensor &one,
                 const IndexedTensor &other, const std::vector<int> &out) {
  const std::vector<Access> &in = product.body.in;
  const std::size_t first = in[0].tensor == one.tensor ? 0 : 1;
  if (in[first].tensor != one.tensor || in[1 - first].tensor != other.tensor ||
      one.tensor == other.tensor)
    return false;
  std::vector<int> of(product.extents.size(), kUnseen); // by index of the product: the layer's
  const auto matches = [&](TensorId tensor, const std::vector<Affine> &subscripts,
                           const std::vector<int> &expected) {
    const Places found = places(program, product, tensor, subscripts);
    if (!found || found->size() != expected.size())
      return false;
    for (std::size_t d = 0; d < expected.size(); ++d) {
      const int index = (*found)[d];
      if ((index < 0) != (expected[d] < 0))
        return false;
      if (index < 0)
        continue;
      if (of[at(index)] == kUnseen && !has(of, expected[d]))
        of[at(index)] = expected[d];
      if (of[at(index)] != expected[d])
        return false;
    }
    return true;
  };
  return matches(one.tensor, in[first].subscripts, one.indices) &&
         matches(other.tensor, in[1 - first].subscripts, other.indices) &&
         matches(product.out, product.body.out, out);
}

} // namespace tilefuse::program
