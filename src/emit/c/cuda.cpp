// SPDX-License-Identifier: Apache-2.0
// CUDA C++ for the C-like printer, as NVRTC compiles it without headers. Vectors and the memory
// forms of half types come from the prologue.
//
// From Hopper on a kernel may be started before the one in front of it has ended
// (runtime/cuda/cuda_device.cpp): it awaits that one's end and results, and lets its own successor
// be started. So nothing is read or written before its time, and no launch is waited for: the
// successor awaits this kernel's end, and so that of all before it. One that does nothing ahead
// lets its successor start first, the others behind the wait: blocks of the successor's successor
// would take multiprocessors that its own are to have.
#include "emit/c/cuda.h"

#include <fmt/format.h>

#include "base/error.h"
#include "emit/c/c_like.h"
#include "emit/c/c_types.h"
#include "emit/c/cuda_matrix.h"
#include "emit/c/cuda_prologue.h"
#include "emit/c/cuda_tensor.h"
#include "emit/c/nvidia_ticket.h"
#include "emit/emitter.h"
#include "target/features.h"

namespace tilefuse::emit {
namespace {

using kernel::Type;

std::string vector_name(const std::string &elem, int lanes) {
  return fmt::format("tf_vec<{}, {}>", elem, lanes);
}

std::string type_name(const Type &type) {
  return type.lanes == 1 ? value_elem(type.elem) : vector_name(value_elem(type.elem), type.lanes);
}

std::string compose(const std::string &vector_type, const std::string &lanes) {
  return fmt::format("tf_maker<{}>::of({})", vector_type, lanes);
}

std::string lane_of(const std::string &value, int lane) {
  return fmt::format("{}.v[{}]", value, lane);
}

std::string select(const std::string &mask, const std::string &a, const std::string &b) {
  return fmt::format("tf_select({}, {}, {})", mask, a, b);
}

// The part of a memory form's function names: tf_half, tf_load_half, tf_store_half.
std::string_view form(DType elem) {
  if (elem == DType::Bool)
    return "_bool";
  return elem == DType::F16 ? "_half" : elem == DType::BF16 ? "_bfloat" : "";
}

std::string load(DType elem, int lanes, const std::string &base, const std::string &index) {
  if (lanes > 1)
    return fmt::format("tf_load{}<{}>({} + ({}))", form(elem), lanes, base, index);
  const std::string element = fmt::format("{}[{}]", base, index);
  if (elem == DType::Bool)
    return fmt::format("({} != 0)", element);
  return form(elem).empty() ? element : fmt::format("tf{}({})", form(elem), element);
}

std::string store(DType elem, int lanes, const std::string &base, const std::string &index,
                  const std::string &value) {
  if (lanes > 1)
    return fmt::format("tf_store{}<{}>({} + ({}), {})", form(elem), lanes, base, index, value);
  if (elem == DType::Bool)
    return fmt::format("{}[{}] = (uchar)({} != 0)", base, index, value);
  if (form(elem).empty())
    return fmt::format("{}[{}] = {}", base, index, value);
  return fmt::format("{}[{}] = tf{}_bits({})", base, index, form(elem), value);
}

std::string wide_load(DType elem, int lanes, const std::string &base, const std::string &index) {
  return fmt::format("tf_wide{}<{}>({} + ({}))", form(elem), lanes, base, index);
}

std::string wide_store(DType elem, int lanes, const std::string &base, const std::string &index,
                       const std::string &value) {
  return fmt::format("tf_store_wide{}<{}>({} + ({}), {})", form(elem), lanes, base, index, value);
}

std::string convert(const Type &from, const Type &to, const std::string &value) {
  const std::string to_name = type_name(to);
  return type_name(from) == to_name ? value : fmt::format("tf_convert<{}>({})", to_name, value);
}

std::string round_convert(const Type &to, const std::string &value, std::optional<double> low,
                          std::optional<double> high) {
  std::string text = value;
  if (low)
    text = fmt::format("tf_no_less({}, {:.1f}f)", text, *low);
  if (high)
    text = fmt::format("tf_no_more({}, {:.1f}f)", text, *high);
  return fmt::format("tf_rounded<{}>({})", bits_elem(to.elem), text);
}

constexpr Dialect kCuda = {
    .name = "CUDA C++",
    .prologue = kCudaPrologue,
    .fp64_prologue = "",
    .tensor_prologue = kCudaTensorPrologue,
    .entry = "extern \"C\" __global__ void __launch_bounds__({}, 1)",
    .helper = "static __device__ __forceinline__",
    .outlined = "static __device__ __noinline__",
    .global_space = "",
    .local_space = "",
    .local_array = "__shared__ __align__(128) ",
    .private_space = "",
    .byte_type = "uchar",
    .offset_type = "ulong",
    .restrict_word = "__restrict__",
    .block_index = "blockIdx.x",
    .lane_index = "threadIdx.x",
    .await_earlier = "tf_await_earlier();",
    .let_later = "tf_let_later();",
    .barrier = "__syncthreads();",
    .warp_barrier = "__syncwarp();",
    .ticket = kNvidiaTicket,
    .prefetch = "asm volatile(\"prefetch.global.L2 [%0];\" ::\"l\"({}));",
    .by_element = true,
    .select_registers = 96,
    .sized_local = "extern __shared__ __align__({}) uchar tf_local[];",
    .local_limit = 48 << 10,
    .matrix = &kCudaMatrix,
    .tensor = &kCudaTensor,
    .value_elem = value_elem,
    .memory_elem = bits_elem,
    .array_elem = bits_elem,
    .vector = vector_name,
    .compose = compose,
    .lane = lane_of,
    .select = select,
    .load = load,
    .store = store,
    .wide_load = wide_load,
    .wide_store = wide_store,
    .convert = convert,
    .round_convert = round_convert,
};

class CudaEmitter final : public Emitter {
public:
  Package emit(const kernel::Kernel &kernel, const Target &target) const override {
    Dialect dialect = kCuda;
    if (!has(target, Feature::PackedRounding))
      dialect.round_convert = nullptr;
    Package package = c_like_package(kernel, target, dialect, {});
    package.format = CodeFormat::CudaSource;
    return package;
  }
};

} // namespace

std::unique_ptr<Emitter> make_cuda_emitter() { return std::make_unique<CudaEmitter>(); }

} // namespace tilefuse::emit
