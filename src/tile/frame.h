// SPDX-License-Identifier: Apache-2.0
// One application of a Tile function: what its names are bound to, and who
// called it. Integer arithmetic over dimensions, attributes and numerals is
// done here, checked for overflow:
//   - in sizes, bounds, arguments and named numbers `/` divides integers and
//   drops the fraction: (SIZE - 1)/2;
//   - in subscripts the same, until an index stands in the numerator: (x + k -
//   1)/2 has coefficients 1/2;
//   - in pointwise expressions numbers are real: 1/SIZE is a fraction.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "program/program.h"
#include "tile/ast.h"

namespace tilefuse::tile {

class Frame {
public:
  // All are borrowed; `caller` is null for the outermost application, `at` is
  // where the caller calls.
  Frame(const Function &function, const std::string &origin, const Frame *caller, Position at);

  const Function &function() const { return function_; }
  int depth() const { return depth_; }
  // The origin of statements made at `at`: the user's, or "file:line".
  std::string origin(Position at) const;

  void bind(const std::string &name, program::TensorId tensor) { tensors_[name] = tensor; }
  void bind(const std::string &name, Attribute scalar) { scalars_[name] = scalar; }
  // A value of the map that is being made, of an inlined function.
  void bind(const std::string &name, program::Expr value) { values_[name] = std::move(value); }
  program::TensorId tensor(const std::string &name) const;
  bool is_tensor(const std::string &name) const { return tensors_.count(name) != 0; }
  const Attribute *find_scalar(const std::string &name) const;
  const program::Expr *find_value(const std::string &name) const;

  // Whether an expression holds neither tensors nor values of a map.
  bool is_number(const Expression &e) const;
  std::int64_t integer(const Expression &e) const;
  double number(const Expression &e) const;
  // An attribute of a call: an integer where every part is one, else a real
  // number.
  Attribute scalar(const Expression &e) const;
  // A subscript over `indices`, which hold every index of `e`.
  program::Affine affine(const Expression &e, const std::vector<std::string> &indices) const;

  // Throws an Error at the origin, or in its absence at the Tile line, which is
  // shown, with a note per function from here outwards where it was called from another.
  [[noreturn]] void fail(ErrorCode code, Position at, const std::string &message) const;

private:
  bool is_integral(const Expression &e) const;
  std::int64_t integer_operation(const Expression &e) const;
  std::int64_t integer_function(const Expression &e) const;
  program::Affine product(const Expression &e, program::Affine a, program::Affine b) const;
  Rational add(Position at, const Rational &a, const Rational &b) const;
  Rational multiply(Position at, const Rational &a, const Rational &b) const;

  const Function &function_;
  const std::string &origin_;
  const Frame *caller_;
  Position called_at_;
  int depth_;
  std::map<std::string, program::TensorId> tensors_;
  std::map<std::string, Attribute> scalars_;
  std::map<std::string, program::Expr> values_;
};

// Names of the indices of an expression in order of appearance, appended to
// `indices` once each.
void collect_indices(const Expression &e, std::vector<std::string> &indices);

} // namespace tilefuse::tile
