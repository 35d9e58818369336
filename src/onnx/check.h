// SPDX-License-Identifier: Apache-2.0
// What a model uses and we lack, found before anything is built.
#pragma once

#include "onnx/reader.h"

namespace tilefuse::onnx_import {

// Walks all nodes, inputs and initializers. Throws one Error{Unsupported} with a note per operator
// (count and node names), per attribute value, per result that we do not compute and per element
// type.
void check_supported(const ModelFile &file);

} // namespace tilefuse::onnx_import
