// SPDX-License-Identifier: Apache-2.0
// An f32 model with its products in 8-bit integers: QuantizeLinear and DequantizeLinear stand where
// values are rounded (QDQ), as onnxruntime and TensorRT read them, and as
// program/precision/integer_products.h makes sums of integers of them.
//
//   y = Conv(x, w, b)
// becomes
//   x/q = QuantizeLinear(x, x/scale, x/zero)        u8, of the range that x has
//   x/d = DequantizeLinear(x/q, x/scale, x/zero)
//   w/d = DequantizeLinear(w, w/scale, w/zero)      i8, per channel of results
//   y/b = DequantizeLinear(b, …)                    i32, in units of the products
//   y   = Conv(x/d, w/d, y/b)
//
// A bias that 32 bits do not hold in these units stays in f32, and is added to the sum of integers.
// Names that the file has already are not given again (free_names.h).
// Before opset 13, which gave them an axis, the two are of the domain com.microsoft.
#pragma once

#include <map>
#include <string>

#include "onnx/reader.h"
#include "onnx/rounding_plan.h"
#include "program/precision/linear_scale.h"

namespace tilefuse::onnx_import {

// `ranges` are those of the plan's values.
void quantize(ModelFile &file, const RoundingPlan &plan,
              const std::map<std::string, program::Range> &ranges);

} // namespace tilefuse::onnx_import
