// SPDX-License-Identifier: Apache-2.0
// The type that an f32 model is stored in, or that its products may be rounded to, as users ask for
// it:
//
//   f16, bf16  weights and activations stored in it (program/precision/precision.h)
//   tf32       products on matrix units of CUDA devices may round their operands
//
// int8, by scales of a calibration, is a model of its own (api/int8.h).
#pragma once

#include <string>

#include "base/pass_context.h"
#include "model/calibrate.h"
#include "program/precision/precision.h"
#include "target/target.h"

namespace tilefuse::model {

struct AppliedPrecision {
  program::Program program;
  bool is_simplified = false; // the type was applied to what model::simplify gave
  std::string summary;        // a line for people; empty when there is nothing to say
  std::string text;           // the same with a line per exception
  Runs f32; // of int8: results of the program itself for what it was calibrated with
};

// Error{Unsupported} when the target lacks what a precision needs.
void check_precision(const std::string &precision, const Target &target);

// The program as it is when `precision` is empty; what of a quantised one is computed in integers is
// told. `is_simplified`: nothing is left for model::simplify to do. Error{Unsupported} for a word
// that is none, and for int8.
AppliedPrecision in_precision(const program::Program &program, const std::string &precision,
                              PassContext *passes = nullptr, bool is_simplified = false);

// Both of them.
AppliedPrecision apply_precision(const program::Program &program, const std::string &precision,
                                 const Target &target, PassContext *passes = nullptr);

} // namespace tilefuse::model
