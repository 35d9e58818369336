// SPDX-License-Identifier: Apache-2.0
// A program in PlaidML's grain: contractions, and element-wise functions of one operation each.
//
//   O = contraction; X_T1 = cmp_gt(O, 0); R = cond(X_T1, O, 0)
//
// max, min and abs are the comparisons and conditions that PlaidML inlines for them. Casts that
// follow from types are no operations, a map that is nothing but a cast is one. A view of a tensor
// that the program computes is a rename; a view of an input is that input under another shape.
#pragma once

#include <string>
#include <vector>

#include "program/program.h"

namespace tilefuse::cost::plaidml {

// A tensor of the program, or what an operation inside an expression gives.
struct Value {
  std::string name; // unlike all others, but for views of inputs
  DType type = DType::F32;
  program::Shape shape;
  bool is_output = false; // of the program
};

struct Argument {
  int value = -1;   // -1: a number
  std::string text; // of a number
};

struct Op {
  enum class Kind { Contraction, Function, Rename };
  Kind kind = Kind::Function;
  std::string function; // "cmp_gt"
  std::vector<Argument> arguments;
  int output = 0;
  const program::Statement *statement = nullptr; // of the program, which must outlive this
};

struct OpList {
  std::vector<Value> values; // those of the program's tensors come first, by TensorId
  std::vector<Op> ops;       // in order
};

OpList primitive_ops(const program::Program &program);

// "R = cond(X_T1, O, 0)"
std::string to_text(const OpList &list, const Op &op);

// "O[n, x, y, co : 32, 224, 224, 64] = +(D[n, -1 + i + x, -1 + j + y, ci] * K[i, j, co, ci])"
std::string contraction_text(const OpList &list, const program::Statement &statement);

} // namespace tilefuse::cost::plaidml
