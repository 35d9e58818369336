// SPDX-License-Identifier: Apache-2.0
// Sizes that a user binds, as text: of dimensions by name, of whole inputs, and values of integer
// inputs that only sizes are computed of.
//
//   "height=320"   "images=1,3,320,320"   "target_size=640,640"
#pragma once

#include <string>

#include "onnx/options.h"

namespace tilefuse::api {

// Each throws Error{Syntax} that quotes the text.
void add_dim(onnx_import::Options &sizes, const std::string &text);
void add_shape(onnx_import::Options &sizes, const std::string &text);
void add_values(onnx_import::Options &sizes, const std::string &text);

} // namespace tilefuse::api
