// SPDX-License-Identifier: Apache-2.0
// Data of large initializers that stay where a model's bytes have them: its message holds all the
// rest, so that weights are not copied to be parsed.
//
// Such a tensor is EXTERNAL in the message, at its offset in these bytes, with a location that is no
// path. Who changes its data stores them in the message (stored.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onnx.pb.h"

namespace tilefuse::onnx_import {

// A model's bytes without what may stay where it is.
struct Shell {
  std::string bytes;
  std::vector<std::string_view> left; // by initializer; empty: it has all of its data
};
// None where the bytes are no message, or most would be in it.
std::optional<Shell> shell_of(std::string_view model);

// `model` is what was parsed of a shell of these bytes.
void leave_in_place(onnx::ModelProto &model, const Shell &shell, std::string_view bytes);

// What a model's bytes have in place of a tensor's data; none where these lie elsewhere.
std::optional<std::string_view> data_in_place(const onnx::TensorProto &tensor,
                                              std::string_view bytes);

// The message gets all data.
void take_in(onnx::ModelProto &model, std::string_view bytes);

} // namespace tilefuse::onnx_import
