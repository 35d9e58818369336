// SPDX-License-Identifier: Apache-2.0
// `--precision`: the type that an f32 model is stored in, or that its products may be rounded to.
//
//   f16, bf16  weights and activations stored in it (program/precision.h), on devices that store it
//   tf32       stored in f32; products on matrix units may round their operands to tf32, CUDA alone
#pragma once

#include <string>

#include "program/precision.h"
#include "target/target.h"

namespace CLI {
class App;
}

namespace tilefuse::tool {

void add_precision_option(CLI::App &verb, std::string &precision);

struct AppliedPrecision {
  program::Program program;
  bool tf32 = false;
  std::string summary; // a line for people; empty when nothing was asked for
  std::string text;    // the same with a line per exception
};

// The program as it is when `precision` is empty. Error{Unsupported} when the target lacks the
// type.
AppliedPrecision apply_precision(const program::Program &program, const std::string &precision,
                                 const Target &target);

} // namespace tilefuse::tool
