// SPDX-License-Identifier: Apache-2.0
#include "onnx/tensor.h"

#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "base/error.h"
#include "base/scanner.h"
#include "onnx/in_place.h"
#include "onnx/reader.h"
#include "target/dtype_traits.h"

namespace tilefuse::onnx_import {
namespace {

using onnx::TensorProto;

[[noreturn]] void fail(const TensorProto &tensor, const std::string &what) {
  throw Error(ErrorCode::Io, fmt::format("tensor {}: {}", tilefuse::quoted(tensor.name()), what));
}

program::Shape shape_of(const TensorProto &tensor) {
  for (const std::int64_t dim : tensor.dims())
    if (dim < 0)
      fail(tensor, fmt::format("a dimension is {}; it must not be negative", dim));
  return {tensor.dims().begin(), tensor.dims().end()};
}

std::int64_t byte_count(const TensorProto &tensor, const program::Shape &shape, DType type) {
  const std::string whose = "tensor " + tilefuse::quoted(tensor.name());
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(elems_of(shape, whose), size_bytes(type), &bytes))
    throw Error(ErrorCode::Limit, fmt::format("{}: [{}] of {} has more than 2^63 bytes", whose,
                                              fmt::join(shape, ", "), to_string(type)));
  return bytes;
}

// Values stored one per protobuf field as `Stored`, kept as `Kept`.
template <class Kept, class Stored>
program::Bytes pack(const TensorProto &tensor,
                    const google::protobuf::RepeatedField<Stored> &values, std::int64_t count) {
  if (values.size() != count)
    fail(tensor, fmt::format("it has {} values; its shape needs {}", values.size(), count));
  program::Bytes data(static_cast<std::size_t>(count) * sizeof(Kept));
  std::byte *to = data.data();
  for (const Stored value : values) {
    const auto kept = static_cast<Kept>(value);
    std::memcpy(to, &kept, sizeof(Kept));
    to += sizeof(Kept);
  }
  return data;
}

template <class Kept> program::Bytes pack_int32(const TensorProto &tensor, std::int64_t count) {
  for (const std::int32_t value : tensor.int32_data())
    if (value < std::numeric_limits<Kept>::min() || value > std::numeric_limits<Kept>::max())
      fail(tensor, fmt::format("value {} does not fit {}", value, type_name(tensor.data_type())));
  return pack<Kept>(tensor, tensor.int32_data(), count);
}

// Types of up to 16 bits, and Bool, share a field.
program::Bytes from_narrow(const TensorProto &tensor, const DTypeTraits &type, std::int64_t count) {
  if (type.bits == 16)
    return type.is_float || !type.is_signed ? pack_int32<std::uint16_t>(tensor, count)
                                            : pack_int32<std::int16_t>(tensor, count);
  return type.is_signed ? pack_int32<std::int8_t>(tensor, count)
                        : pack_int32<std::uint8_t>(tensor, count);
}

program::Bytes from_fields(const TensorProto &tensor, DType type, std::int64_t count) {
  switch (type) {
  case DType::F32:
    return pack<float>(tensor, tensor.float_data(), count);
  case DType::F64:
    return pack<double>(tensor, tensor.double_data(), count);
  case DType::I64:
    return pack<std::int64_t>(tensor, tensor.int64_data(), count);
  case DType::I32:
    return pack<std::int32_t>(tensor, tensor.int32_data(), count);
  case DType::U64:
    return pack<std::uint64_t>(tensor, tensor.uint64_data(), count);
  case DType::U32:
    return pack<std::uint32_t>(tensor, tensor.uint64_data(), count);
  default:
    return from_narrow(tensor, traits(type), count);
  }
}

program::Bytes from_raw(const TensorProto &tensor, std::string_view raw, std::int64_t bytes) {
  if (raw.size() != static_cast<std::size_t>(bytes))
    fail(tensor, fmt::format("it has {} bytes; its shape and type need {}", raw.size(), bytes));
  const auto *begin = reinterpret_cast<const std::byte *>(raw.data());
  return {begin, begin + raw.size()};
}

program::Bytes data_of(const TensorProto &tensor, const program::HostTensor &described,
                       const std::filesystem::path &folder,
                       std::optional<std::string_view> in_place) {
  const std::int64_t bytes = byte_count(tensor, described.shape, described.type);
  if (in_place)
    return from_raw(tensor, *in_place, bytes);
  if (tensor.data_location() == TensorProto::EXTERNAL)
    return read_external(tensor, folder, bytes);
  if (!tensor.raw_data().empty())
    return from_raw(tensor, tensor.raw_data(), bytes);
  return from_fields(tensor, described.type, program::elems(described.shape));
}

program::HostTensor host_tensor(const TensorProto &tensor, const std::filesystem::path &folder,
                                std::optional<std::string_view> in_place) {
  const auto type = to_dtype(tensor.data_type());
  if (!type)
    throw Error(ErrorCode::Unsupported,
                fmt::format("tensor {}: elements of {} are not supported",
                            tilefuse::quoted(tensor.name()), type_name(tensor.data_type())));
  if (tensor.has_segment())
    fail(tensor, "it is stored in segments, which are not supported");
  program::HostTensor host{tensor.name(), *type, shape_of(tensor), {}};
  host.data = data_of(tensor, host, folder, in_place);
  if (*type == DType::Bool)
    for (std::byte &value : host.data)
      value = value == std::byte{0} ? std::byte{0} : std::byte{1};
  return host;
}

} // namespace

std::optional<DType> to_dtype(int data_type) {
  for (const DTypeTraits &row : dtypes())
    if (row.onnx == data_type)
      return row.type;
  return std::nullopt;
}

std::string type_name(int data_type) {
  // Types of later schemas, from 17 on.
  static constexpr const char *kLater[] = {
      "FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ", "UINT4",
      "INT4",         "FLOAT4E2M1",     "FLOAT8E8M0", "UINT2",          "INT2"};
  constexpr int kFirst = 17;
  if (data_type >= kFirst && data_type < kFirst + static_cast<int>(std::size(kLater)))
    return kLater[data_type - kFirst];
  if (!onnx::TensorProto_DataType_IsValid(data_type))
    return fmt::format("type {}", data_type);
  return onnx::TensorProto_DataType_Name(static_cast<onnx::TensorProto_DataType>(data_type));
}

std::int64_t elems_of(const program::Shape &shape, const std::string &whose) {
  constexpr std::int64_t kMost = std::int64_t{1} << 62;
  std::int64_t count = 1;
  for (const std::int64_t dim : shape)
    if (dim > 0 && (__builtin_mul_overflow(count, dim, &count) || count > kMost))
      throw Error(ErrorCode::Limit, fmt::format("{}: [{}] has more than 2^62 elements", whose,
                                                fmt::join(shape, ", ")));
  return program::elems(shape);
}

program::HostTensor to_host_tensor(const TensorProto &tensor, const std::filesystem::path &folder) {
  return host_tensor(tensor, folder, std::nullopt);
}

program::HostTensor to_host_tensor(const ModelFile &file, const TensorProto &tensor) {
  return host_tensor(tensor, file.folder, data_in_place(tensor, in_place(file)));
}

std::optional<std::span<const std::byte>> bytes_in_place(const ModelFile &file,
                                                         const TensorProto &tensor) {
  const auto data = data_in_place(tensor, in_place(file));
  const std::optional<DType> type = to_dtype(tensor.data_type());
  if (!data || !type || *type == DType::Bool || tensor.has_segment() ||
      data->size() != static_cast<std::size_t>(byte_count(tensor, shape_of(tensor), *type)))
    return std::nullopt;
  return std::as_bytes(std::span(*data));
}

} // namespace tilefuse::onnx_import
