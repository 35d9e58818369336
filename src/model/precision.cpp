// SPDX-License-Identifier: Apache-2.0
#include "model/precision.h"

#include <fmt/format.h>

#include "base/error.h"
#include "model/passes.h"
#include "program/precision/integer_share.h"
#include "target/features.h"

namespace tilefuse::model {
namespace {

AppliedPrecision allow_tf32(const program::Program &program, const Target &target) {
  if (!has(target, Feature::MatrixUnits))
    throw Error(ErrorCode::Unsupported,
                fmt::format("precision tf32 is for matrix units of NVIDIA devices, {} has none",
                            target.name),
                {}, {"use a cuda device, or precision f16 or bf16"});
  const std::string text =
      "precision tf32: stored in f32; matrix units round the operands of products to tf32 and add "
      "in f32\n";
  AppliedPrecision applied{.program = program, .summary = text, .text = text};
  applied.program.tf32 = true;
  return applied;
}

// As the model says; of a quantised one it is told what is computed in integers.
AppliedPrecision as_it_is(const program::Program &program, PassContext *passes) {
  if (!program::is_quantized(program))
    return {.program = program};
  AppliedPrecision applied{.program = simplify(program, passes), .is_simplified = true};
  const program::IntegerShare share = program::integer_share(applied.program);
  applied.summary = summary(share);
  applied.text = to_text(share);
  return applied;
}

} // namespace

AppliedPrecision apply_precision(const program::Program &program, const std::string &precision,
                                 const Target &target, PassContext *passes) {
  if (precision.empty())
    return as_it_is(program, passes);
  if (precision == "int8")
    throw Error(
        ErrorCode::Unsupported,
        "precision int8 needs inputs to calibrate with, which are not taken here", {},
        {"run and bench take them by --calibrate FILE", "f16 and bf16 need no calibration"});
  if (precision == "tf32")
    return allow_tf32(program, target);
  if (precision != "f16" && precision != "bf16")
    throw Error(ErrorCode::Unsupported, fmt::format("there is no precision '{}'", precision), {},
                {"there are f16, bf16, tf32 and int8"});
  const DType type = *parse_dtype(precision);
  if (type == DType::F16 && !target.fp16_storage)
    throw Error(ErrorCode::Unsupported,
                fmt::format("precision f16: {} cannot load and store it", target.name), {},
                {"bf16 and f32 run there"});
  program::Precision stored;
  const auto store = [&](program::Program in) {
    stored = program::with_precision(std::move(in), type);
    return std::move(stored.program);
  };
  return {.program = run_pass(kWithPrecision, simplify(program, passes), store, passes),
          .is_simplified = true,
          .summary = program::summary(stored),
          .text = program::to_text(stored)};
}

} // namespace tilefuse::model
