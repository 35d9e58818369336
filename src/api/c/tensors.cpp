// SPDX-License-Identifier: Apache-2.0
#include "api/c/tensors.h"

#include <array>
#include <charconv>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/c/status.h"
#include "base/error.h"
#include "target/address_space.h"

namespace tilefuse::api::c {
namespace {

constexpr int kMostDims = 64;

struct TypeRow {
  DType type;
  std::uint8_t code;
  std::uint8_t bits;
};

constexpr std::array kTypes = {
    TypeRow{DType::F16, kDLFloat, 16}, TypeRow{DType::BF16, kDLBfloat, 16},
    TypeRow{DType::F32, kDLFloat, 32}, TypeRow{DType::F64, kDLFloat, 64},
    TypeRow{DType::I8, kDLInt, 8},     TypeRow{DType::U8, kDLUInt, 8},
    TypeRow{DType::I16, kDLInt, 16},   TypeRow{DType::U16, kDLUInt, 16},
    TypeRow{DType::I32, kDLInt, 32},   TypeRow{DType::U32, kDLUInt, 32},
    TypeRow{DType::I64, kDLInt, 64},   TypeRow{DType::U64, kDLUInt, 64},
    TypeRow{DType::Bool, kDLBool, 8}};

DLDataType to_dl(DType type) {
  for (const TypeRow &row : kTypes)
    if (row.type == type)
      return {row.code, row.bits, 1};
  return {0, 0, 1};
}

DType to_dtype(const DLDataType &type) {
  for (const TypeRow &row : kTypes)
    if (row.code == type.code && row.bits == type.bits && type.lanes == 1)
      return row.type;
  throw Error(ErrorCode::Type,
              fmt::format("elements of DLPack's type {} with {} bits in {} lanes are not known",
                          type.code, type.bits, type.lanes));
}

program::Shape shape_of(const DLTensor &tensor) {
  if (tensor.ndim < 0 || tensor.ndim > kMostDims)
    throw Error(ErrorCode::Shape, fmt::format("a tensor of {} dimensions", tensor.ndim));
  if (tensor.ndim > 0)
    need(tensor.shape, "the tensor's shape");
  return {tensor.shape, tensor.shape + tensor.ndim};
}

// Strides of dimensions with one element mean nothing.
void check_strides(const DLTensor &tensor, const program::Shape &shape) {
  if (tensor.strides == nullptr)
    return;
  std::int64_t stride = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (shape[d] != 1 && tensor.strides[d] != stride)
      throw Error(ErrorCode::Shape,
                  fmt::format("a tensor [{}] with strides [{}]", fmt::join(shape, ", "),
                              fmt::join(tensor.strides, tensor.strides + tensor.ndim, ", ")),
                  {}, {"elements must lie in row-major order without gaps; copy it first"});
    if (__builtin_mul_overflow(stride, shape[d], &stride))
      throw Error(ErrorCode::Limit,
                  fmt::format("a tensor [{}] has too many elements", fmt::join(shape, ", ")));
  }
}

// The number of "cuda:N", 0 for "cuda".
int ordinal(const Engine &engine) {
  const std::size_t colon = engine.choice.selector.find(':');
  int number = 0;
  if (colon != std::string::npos)
    std::from_chars(engine.choice.selector.data() + colon + 1,
                    engine.choice.selector.data() + engine.choice.selector.size(), number);
  return number;
}

bool is_host(const DLDevice &device) {
  return device.device_type == kDLCPU || device.device_type == kDLCUDAHost;
}

// What the data of a tensor of that device are to the engine.
Lies lies_of(const DLDevice &device, const Engine &engine) {
  if (is_host(device))
    return Lies::OnHost;
  const AddressSpace own = address_space(engine.device->target());
  if (device.device_type == kDLCUDA && own == AddressSpace::Cuda &&
      device.device_id == ordinal(engine))
    return Lies::OnDevice;
  if (device.device_type == kDLOpenCL && own == AddressSpace::None)
    return Lies::InBuffer;
  throw Error(ErrorCode::Device,
              fmt::format("a tensor of DLPack's device {}:{} was given to {}", device.device_type,
                          device.device_id, engine.choice.selector),
              {},
              {"memory of the host (1), on cuda:N that of CUDA device N (2) and on OpenCL a cl_mem "
               "(4) can be used"});
}

DLDevice device_of(const TensorPlace &place, const Engine &engine) {
  switch (place.lies) {
  case Lies::OnHost:
    return {kDLCPU, 0};
  case Lies::OnDevice:
    return {kDLCUDA, ordinal(engine)};
  case Lies::InBuffer:
    return {kDLOpenCL, 0};
  }
  return {};
}

} // namespace

TensorPlace to_place(const DLTensor *tensor, const Engine &engine) {
  need(tensor, "the tensor");
  TensorPlace place{to_dtype(tensor->dtype), shape_of(*tensor), tensor->data,
                    lies_of(tensor->device, engine)};
  check_strides(*tensor, place.shape);
  if (place.lies == Lies::InBuffer)
    place.offset = static_cast<std::int64_t>(tensor->byte_offset);
  else if (place.data != nullptr)
    place.data = static_cast<std::byte *>(tensor->data) + tensor->byte_offset;
  return place;
}

DLTensor to_dltensor(TensorPlace &place, const Engine &engine) {
  DLTensor tensor{};
  tensor.data = place.data;
  tensor.device = device_of(place, engine);
  tensor.ndim = static_cast<std::int32_t>(place.shape.size());
  tensor.dtype = to_dl(place.type);
  tensor.shape = place.shape.data();
  tensor.byte_offset = static_cast<std::uint64_t>(place.offset);
  return tensor;
}

program::HostTensor to_host_tensor(const DLTensor &tensor, const std::string &name) {
  if (!is_host(tensor.device))
    throw Error(ErrorCode::Device, fmt::format("input '{}' is not in memory of the host", name));
  const program::Shape shape = shape_of(tensor);
  check_strides(tensor, shape);
  need(tensor.data, "the tensor's data");
  program::HostTensor copy = program::make_host_tensor(name, to_dtype(tensor.dtype), shape);
  if (!copy.data.empty())
    std::memcpy(copy.data.data(), static_cast<const std::byte *>(tensor.data) + tensor.byte_offset,
                copy.data.size());
  return copy;
}

InfoList::InfoList(const std::vector<onnx_import::Declared> &tensors) : tensors_(tensors) {
  for (const onnx_import::Declared &tensor : tensors_) {
    std::vector<const char *> &names = symbols_.emplace_back();
    for (const std::string &symbol : tensor.symbols)
      names.push_back(symbol.c_str());
  }
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const onnx_import::Declared &tensor = tensors_[i];
    infos_.push_back({tensor.name.c_str(), tensor.is_typed ? to_dl(tensor.type) : DLDataType{},
                      tensor.is_shaped ? static_cast<std::int32_t>(tensor.dims.size()) : -1,
                      tensor.dims.data(), symbols_[i].data()});
  }
}

} // namespace tilefuse::api::c
