// SPDX-License-Identifier: Apache-2.0
// The Tile language: functions over tensors, written as contractions and pointwise expressions.
// Parsing checks syntax and names; instantiation binds dimensions and attributes, checks shapes and
// types and appends statements to a program.
//
//   // 2-D convolution. SY, SX strides; PY, PX leading pads; OY, OX output size.
//   function conv2d(I[N, C, H, W], K[M, C, R, S]; SY = 1, SX = 1, PY = 0, PX = 0, OY, OX) -> (O) {
//     O[n, m, y, x : N, M, OY, OX] =
//         +(I[n, c, SY*y + r - PY, SX*x + s - PX] * K[m, c, r, s]);
//   }
//   function relu(X) -> (Y) { Y = max(X, 0); }
//
// Tensors, dimensions and attributes start upper-case, indices and functions lower-case. After `;`
// stand attributes: integers usable in subscripts, sizes and constraints, and numbers usable in
// expressions. Calls of Tile functions that stand above, `reshape(X, D0, D1, …)` and `cast_f32(X)`
// and the like are expressions. `// …` is a comment. The grammar is in parser.h, built-in functions
// are in builtins.h, arithmetic on integers and numbers is in frame.h, limits are in ast.h.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "program/program.h"
#include "tile/attributes.h"

namespace tilefuse::tile {

class Library {
public:
  Library();
  ~Library();
  Library(Library &&) noexcept;
  Library &operator=(Library &&) noexcept;

  // Adds the functions of a Tile text. All mistakes of the file are collected into one
  // Error{Syntax}: "file:line:col: error: …" with the source line and a caret, one per mistake.
  void add(std::string_view text, const std::string &file);
  bool has(const std::string &function) const;
  std::vector<std::string> functions() const;

  // Appends `function` applied to `args` to the program and returns its outputs. Mistakes are
  // Error{Shape|Type} that name `origin`, the Tile line and column, what was got and what is
  // needed; so are results with a size below `least_size`, which is 0 or 1.
  std::vector<program::TensorId> instantiate(const std::string &function,
                                             std::span<const program::TensorId> args,
                                             const Attributes &attributes,
                                             program::Program &program, const std::string &origin,
                                             std::int64_t least_size = 1) const;

private:
  struct State;
  std::unique_ptr<State> state_;
};

// Every *.tile file of a folder, in name order.
Library read_library(const std::string &directory);

// The operator library, ops/, that is part of this program: one to add to, and the one that is parsed
// once and read by all.
Library operator_library();
const Library &operators();

// The tensor parameters of a Tile text's function, the last where `function` is empty, in order.
std::vector<std::string> parameters(std::string_view text, const std::string &file,
                                    const std::string &function = {});

// A stand-alone program from a Tile text: one of its functions, the last where `function` is empty,
// whose tensors and attributes are bound by `tensors` ("I" -> type and shape) and `attributes`.
// Error{Shape} lists the functions where there is none of that name.
program::Program to_program(std::string_view text, const std::string &file,
                            const std::map<std::string, std::pair<DType, program::Shape>> &tensors,
                            const Attributes &attributes, const std::string &function = {});

} // namespace tilefuse::tile
