// SPDX-License-Identifier: Apache-2.0
// What rewritings share: a sum of products whose indices all have a range of their own, and new
// statements behind it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "program/program.h"

namespace tilefuse::program {

// The index that a subscript is, or -1: coefficient 1, nothing else.
int plain_index(const Affine &subscript);
bool is_plain(const std::vector<Affine> &subscripts);
// Whether each index of a contraction of so many is a subscript by itself: it reads no element
// twice.
bool names_every_index(const std::vector<Affine> &subscripts, std::size_t indices);
bool uses(const Affine &subscript, std::size_t index);
bool uses(const std::vector<Affine> &subscripts, int index);
Affine index_form(int index, std::size_t indices);

// A new tensor of another's name and type.
TensorId add_like(Program &program, TensorId like, const Shape &shape);

// A statement that is a sum of products of two operands without conditions, each index of which is
// a subscript by itself somewhere.
struct Product {
  TensorId out{};
  Contraction body;
  std::vector<std::int64_t> extents; // by index
  std::string origin;
};
std::optional<Product> product_of(const Program &program, const Statement &statement);

// Appends statements to a program under construction.
class Rewriter {
public:
  Rewriter(Program &program, const Product &product, std::string algorithm)
      : program_(program), product_(product), algorithm_(std::move(algorithm)) {}

  // A new tensor over these indices of the body, computed by it; it comes back as it is read.
  Access temporary(const std::string &what, DType type, const std::vector<int> &order,
                   const std::vector<std::int64_t> &extents, Contraction body);
  // The statement's own tensor.
  void result(const std::string &what, Contraction body);
  // A constant of type f32.
  TensorId constant(const std::string &name, const Shape &shape, const std::vector<double> &values);

private:
  std::string origin(const std::string &what) const;

  Program &program_;
  const Product &product_;
  std::string algorithm_;
};

} // namespace tilefuse::program
