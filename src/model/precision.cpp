// SPDX-License-Identifier: Apache-2.0
#include "model/precision.h"

#include <fmt/format.h>

#include "base/error.h"
#include "model/passes.h"
#include "program/precision/integer_share.h"
#include "target/features.h"

namespace tilefuse::model {
namespace {

AppliedPrecision allow_tf32(const program::Program &program, bool is_simplified) {
  const std::string text =
      "precision tf32: stored in f32; matrix units round the operands of products to tf32 and add "
      "in f32\n";
  AppliedPrecision applied{
      .program = program, .is_simplified = is_simplified, .summary = text, .text = text};
  applied.program.tf32 = true;
  return applied;
}

// As the model says; of a quantised one it is told what is computed in integers.
AppliedPrecision as_it_is(const program::Program &program, PassContext *passes,
                          bool is_simplified) {
  if (!program::is_quantized(program))
    return {.program = program, .is_simplified = is_simplified};
  AppliedPrecision applied{.program = is_simplified ? program : simplify(program, passes),
                           .is_simplified = true};
  const program::IntegerShare share = program::integer_share(applied.program);
  applied.summary = summary(share);
  applied.text = to_text(share);
  return applied;
}

} // namespace

void check_precision(const std::string &precision, const Target &target) {
  if (precision == "tf32" && !has(target, Feature::MatrixUnits))
    throw Error(ErrorCode::Unsupported,
                fmt::format("precision tf32 is for matrix units of NVIDIA devices, {} has none",
                            target.name),
                {}, {"use a cuda device, or precision f16 or bf16"});
  if (precision == "f16" && !target.fp16_storage)
    throw Error(ErrorCode::Unsupported,
                fmt::format("precision f16: {} cannot load and store it", target.name), {},
                {"bf16 and f32 run there"});
}

AppliedPrecision in_precision(const program::Program &program, const std::string &precision,
                              PassContext *passes, bool is_simplified) {
  if (precision.empty())
    return as_it_is(program, passes, is_simplified);
  if (precision == "int8")
    throw Error(
        ErrorCode::Unsupported,
        "precision int8 needs inputs to calibrate with, which are not taken here", {},
        {"run and bench take them by --calibrate FILE", "f16 and bf16 need no calibration"});
  if (precision == "tf32")
    return allow_tf32(program, is_simplified);
  if (precision != "f16" && precision != "bf16")
    throw Error(ErrorCode::Unsupported, fmt::format("there is no precision '{}'", precision), {},
                {"there are f16, bf16, tf32 and int8"});
  program::Precision stored;
  const auto store = [&](program::Program in) {
    stored = program::with_precision(std::move(in), *parse_dtype(precision));
    return std::move(stored.program);
  };
  program::Program simple = is_simplified ? program : simplify(program, passes);
  return {.program = run_pass(kWithPrecision, std::move(simple), store, passes),
          .is_simplified = true,
          .summary = program::summary(stored),
          .text = program::to_text(stored)};
}

AppliedPrecision apply_precision(const program::Program &program, const std::string &precision,
                                 const Target &target, PassContext *passes) {
  check_precision(precision, target);
  return in_precision(program, precision, passes);
}

} // namespace tilefuse::model
