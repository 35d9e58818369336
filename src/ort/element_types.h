// SPDX-License-Identifier: Apache-2.0
// Element types: ONNX's numbers, which are onnxruntime's too, and DLPack's.
#pragma once

#include <optional>

#include "tilefuse/tilefuse.h"

namespace tilefuse::ort {

// None for a type that the library does not take.
std::optional<DLDataType> to_dl(int onnx_type);

bool is_float(int onnx_type);

} // namespace tilefuse::ort
