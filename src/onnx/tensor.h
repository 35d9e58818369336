// SPDX-License-Identifier: Apache-2.0
// TensorProto → HostTensor, in each of ONNX's encodings: raw little-endian bytes, float_data,
// int32_data (also small integers, Bool and the bit patterns of f16 and bf16), int64_data,
// double_data, and external files.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "onnx.pb.h"
#include "program/host_tensor.h"

namespace tilefuse::onnx_import {

struct ModelFile;

// Our type for TensorProto.DataType; none for strings, complex numbers and integers we lack.
std::optional<DType> to_dtype(int data_type);
// ONNX's word for it, "FLOAT16", or "type 99".
std::string type_name(int data_type);

// The number of elements of a shape; Error{Limit} past 2^62, which says whose shape it is.
std::int64_t elems_of(const program::Shape &shape, const std::string &whose);

// The element count must be that of the shape. Error{Io} when not, Error{Unsupported} for other
// types, Error{Limit} when the size overflows.
program::HostTensor to_host_tensor(const onnx::TensorProto &tensor,
                                   const std::filesystem::path &folder);
// A tensor of a model's file, which may lie in place there (in_place.h).
program::HostTensor to_host_tensor(const ModelFile &file, const onnx::TensorProto &tensor);
// The elements that it would have, where they lie as they are; none where they do not.
std::optional<std::span<const std::byte>> bytes_in_place(const ModelFile &file,
                                                         const onnx::TensorProto &tensor);

} // namespace tilefuse::onnx_import
