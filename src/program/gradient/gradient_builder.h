// SPDX-License-Identifier: Apache-2.0
// Inside of gradient.h: the program that grows while statements are differentiated from the last to
// the first.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "program/program.h"
#include "program/storage/boxes.h"

namespace tilefuse::program {

class GradientBuilder {
public:
  // `wanted`, by TensorId: tensors whose gradients lead to an answer.
  GradientBuilder(Program program, std::vector<bool> wanted);

  const Program &program() const { return program_; }
  Program &program() { return program_; }
  bool is_wanted(TensorId id) const;

  // Appends a statement, or returns the result of an equal one.
  TensorId emit(Tensor result, std::variant<Contraction, Map, View> body);
  // A map over operands of the result's shape or such that broadcast to it; each operand that the
  // expression does not read is left out.
  TensorId map(std::string name, Shape shape, const Expr &expr, std::vector<TensorId> operands);
  // A tensor of equal elements.
  TensorId fill(DType type, Shape shape, double value);
  // A constant, row-major.
  TensorId constant(DType type, Shape shape, std::span<const std::int64_t> values);

  // "grad NAME", as the name of what is emitted for a tensor.
  std::string name_of(TensorId id) const;
  // Where statements that are emitted come from.
  void set_origin(std::string origin) { origin_ = std::move(origin); }

  // Notes that `result` is `from` with zeros in a box.
  void note_cleared(TensorId result, TensorId from, Box box);
  // A tensor equal to `tensor` in the box, made by fewer statements where there is one.
  TensorId same_in(TensorId tensor, const Box &box) const;

  // Adds to the gradient of `of`, if that is wanted.
  void contribute(TensorId of, TensorId gradient);
  // The sum of what was contributed; none when nothing was.
  std::optional<TensorId> total(TensorId of);

private:
  Program program_;
  std::vector<bool> wanted_;
  std::vector<std::vector<TensorId>> contributions_; // by TensorId of the given program
  std::map<TensorId, std::pair<TensorId, Box>> cleared_;
  std::map<std::string, TensorId> known_;     // statements by their text
  std::map<std::string, TensorId> constants_; // by type, shape and values
  std::string origin_;
};

// A text that two statements share exactly when they compute the same.
std::string text_key(const Tensor &result, const std::variant<Contraction, Map, View> &body);

} // namespace tilefuse::program
