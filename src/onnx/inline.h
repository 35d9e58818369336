// SPDX-License-Identifier: Apache-2.0
// Bodies put in the place of the node that has them: model-local functions, and the branch of an If
// whose condition is known. What a body defines is renamed after the node, so that bodies may repeat.
#pragma once

#include <string>

#include "onnx.pb.h"

namespace tilefuse::onnx_import {

// Puts the bodies of the model's own functions where they are called, also of those that others
// call. A function of another opset than the model's stays a call. Error{Limit} for functions that
// call themselves or grow without end.
void inline_functions(onnx::ModelProto &model);

// A graph whose own names stand behind `prefix`, as do its inner graphs' references to them.
onnx::GraphProto with_prefix(const onnx::GraphProto &graph, const std::string &prefix);

} // namespace tilefuse::onnx_import
