// SPDX-License-Identifier: Apache-2.0
#include "program/host_tensor.h"

#include <unistd.h>

#include <new>

#include <fmt/format.h>

#include "base/error.h"
#include "base/scanner.h"

namespace tilefuse::program {
namespace {

// Bytes of main memory; larger tensors are refused before the allocator overcommits.
std::int64_t physical_bytes() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page = sysconf(_SC_PAGE_SIZE);
  std::int64_t bytes = 0;
  if (pages <= 0 || page <= 0 || __builtin_mul_overflow(pages, page, &bytes))
    return std::int64_t{1} << 40;
  return bytes;
}

std::int64_t checked_bytes(const std::string &name, DType type, const Shape &shape) {
  const std::int64_t count = elems(shape);
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(count, size_bytes(type), &bytes) || bytes > physical_bytes())
    throw Error(ErrorCode::Limit,
                fmt::format("tensor {} needs {} elements of {}, more than this machine's memory",
                            quoted(name), count, to_string(type)));
  return bytes;
}

} // namespace

HostTensor make_host_tensor(std::string name, DType type, Shape shape) {
  const std::int64_t bytes = checked_bytes(name, type, shape);
  HostTensor tensor{.name = std::move(name), .type = type, .shape = std::move(shape), .data = {}};
  try {
    tensor.data.resize(static_cast<std::size_t>(bytes));
  } catch (const std::bad_alloc &) {
    throw Error(ErrorCode::Limit,
                fmt::format("no memory for tensor {}: {} bytes", quoted(tensor.name), bytes));
  }
  return tensor;
}

double get(const HostTensor &tensor, std::int64_t i) {
  return load_element(tensor.data.data(), tensor.type, i);
}

void set(HostTensor &tensor, std::int64_t i, double value) {
  store_element(tensor.data.data(), tensor.type, i, value);
}

HostTensor convert(const HostTensor &tensor, DType type) {
  if (tensor.type == type)
    return tensor;
  HostTensor result = make_host_tensor(tensor.name, type, tensor.shape);
  const std::int64_t count = elems(tensor.shape);
  for (std::int64_t i = 0; i < count; ++i)
    set(result, i, get(tensor, i));
  return result;
}

} // namespace tilefuse::program
