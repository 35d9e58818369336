// SPDX-License-Identifier: Apache-2.0
// OpenCL C 1.2 for the C-like printer. Halves are read and written by vload_half and vstore_half,
// which every device has; no extension but cl_khr_fp64 is used, and that only where a kernel has
// doubles.
#include "emit/c/opencl.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "emit/c/c_like.h"
#include "emit/c/c_types.h"
#include "emit/c/nvidia_ticket.h"
#include "emit/emitter.h"
#include "target/features.h"
#include "target/tickets.h"

namespace tilefuse::emit {
namespace {

using kernel::Type;

std::string memory_elem(DType elem) { return elem == DType::F16 ? "half" : bits_elem(elem); }

std::string vector_name(const std::string &elem, int lanes) {
  if (lanes != 2 && lanes != 3 && lanes != 4 && lanes != 8 && lanes != 16)
    throw Error(
        ErrorCode::Unsupported,
        fmt::format("OpenCL C has no vectors of {} elements; need 2, 3, 4, 8 or 16", lanes));
  return fmt::format("{}{}", elem, lanes);
}

std::string type_name(const Type &type) {
  return type.lanes == 1 ? value_elem(type.elem) : vector_name(value_elem(type.elem), type.lanes);
}

std::string compose(const std::string &vector_type, const std::string &lanes) {
  return fmt::format("({})({})", vector_type, lanes);
}

std::string lane_of(const std::string &value, int lane) {
  return fmt::format("{}.s{:x}", value, lane);
}

std::string select(const std::string &mask, const std::string &a, const std::string &b) {
  return fmt::format("({} ? {} : {})", mask, a, b);
}

std::string pointer(const std::string &base, const std::string &index) {
  if (index == "0")
    return base;
  const bool is_sum = index.find_first_of("?<>=!&|^") == std::string::npos;
  return fmt::format("{} + {}", base, is_sum ? index : "(" + index + ")");
}

std::string load_scalar(DType elem, const std::string &base, const std::string &index) {
  switch (elem) {
  case DType::Bool:
    return fmt::format("({}[{}] != 0)", base, index);
  case DType::F16:
    return fmt::format("vload_half({}, {})", index, base);
  case DType::BF16:
    return fmt::format("as_float((uint){}[{}] << 16)", base, index);
  default:
    return fmt::format("{}[{}]", base, index);
  }
}

std::string load(DType elem, int lanes, const std::string &base, const std::string &index) {
  if (lanes == 1)
    return load_scalar(elem, base, index);
  const std::string at = pointer(base, index);
  switch (elem) {
  case DType::Bool:
    return fmt::format("(convert_int{0}(vload{0}(0, {1})) != 0)", lanes, at);
  case DType::F16:
    return fmt::format("vload_half{}(0, {})", lanes, at);
  case DType::BF16:
    return fmt::format("as_float{0}(convert_uint{0}(vload{0}(0, {1})) << 16)", lanes, at);
  default:
    return fmt::format("vload{}(0, {})", lanes, at);
  }
}

// The bits of a float rounded to bfloat16, to nearest even; NaN stays one.
std::string bfloat_bits(const std::string &value, int lanes) {
  const std::string n = lanes == 1 ? "" : fmt::format("{}", lanes);
  const std::string bits = fmt::format("as_uint{}({})", n, value);
  const std::string rounded = fmt::format("(({0} + 0x7fffu + (({0} >> 16) & 1u)) >> 16)", bits);
  const std::string nan = fmt::format("(({} >> 16) | 0x40u)", bits);
  const std::string is_nan = fmt::format("(({} & 0x7fffffffu) > 0x7f800000u)", bits);
  return fmt::format("convert_ushort{}({} ? {} : {})", n, is_nan, nan, rounded);
}

std::string store_scalar(DType elem, const std::string &base, const std::string &index,
                         const std::string &value) {
  switch (elem) {
  case DType::Bool:
    return fmt::format("{}[{}] = (uchar)({} != 0)", base, index, value);
  case DType::F16:
    return fmt::format("vstore_half_rte({}, {}, {})", value, index, base);
  case DType::BF16:
    return fmt::format("{}[{}] = {}", base, index, bfloat_bits(value, 1));
  default:
    return fmt::format("{}[{}] = {}", base, index, value);
  }
}

std::string store(DType elem, int lanes, const std::string &base, const std::string &index,
                  const std::string &value) {
  if (lanes == 1)
    return store_scalar(elem, base, index, value);
  const std::string at = pointer(base, index);
  switch (elem) {
  case DType::Bool:
    return fmt::format("vstore{0}(convert_uchar{0}({1} & 1), 0, {2})", lanes, value, at);
  case DType::F16:
    return fmt::format("vstore_half{}_rte({}, 0, {})", lanes, value, at);
  case DType::BF16:
    return fmt::format("vstore{}({}, 0, {})", lanes, bfloat_bits(value, lanes), at);
  default:
    return fmt::format("vstore{}({}, 0, {})", lanes, value, at);
  }
}

// A processor's compiler stores a whole vector of any alignment at once when it is a field of a
// packed structure, and in quarters for vstore.
std::string packed_store(DType elem, int lanes, std::string_view space, const std::string &at,
                         const std::string &value) {
  return fmt::format("(({}struct __attribute__((packed)) {{ {}{} v; }}*)({}))->v = {}", space,
                     memory_elem(elem), lanes, at, value);
}

// Integers to integers of no more bytes: the low bits. Devices differ on what lies outside the
// type, so nothing outside is converted.
std::string wrapped_vector(const Type &from, const Type &to, const std::string &value) {
  const std::string to_name = type_name(to);
  if (size_bytes(from.elem) == size_bytes(to.elem))
    return fmt::format("as_{}({})", to_name, value);
  const bool to_bytes = size_bytes(to.elem) == 1;
  const std::string bits = fmt::format("{}{}", to_bytes ? "uchar" : "uint", to.lanes);
  const std::string low =
      fmt::format("convert_{}({} & {})", bits, value, to_bytes ? "255" : "0xffffffffL");
  return bits == to_name ? low : fmt::format("as_{}({})", to_name, low);
}

std::string convert(const Type &from, const Type &to, const std::string &value) {
  const std::string from_name = type_name(from);
  const std::string to_name = type_name(to);
  if (from_name == to_name)
    return value;
  if (is_float(from.elem) && !is_float(to.elem))
    return fmt::format("convert_{}_sat({})", to_name, value);
  const bool between_integers = !is_float(from.elem) && !is_float(to.elem);
  if (to.lanes > 1 && between_integers && size_bytes(to.elem) <= size_bytes(from.elem))
    return wrapped_vector(from, to, value);
  return to.lanes == 1 ? fmt::format("({}){}", to_name, value)
                       : fmt::format("convert_{}({})", to_name, value);
}

// As NVIDIA's compiler takes inline assembly: the value of a pointer is its address in its space.
std::string async_copy(std::int64_t bytes, const std::string &to, const std::string &from,
                       const std::string &copied) {
  return fmt::format("asm volatile(\"cp.async.{}.shared.global [%0], [%1], {}, %2;\" :: \"l\"({}), "
                     "\"l\"({}), \"r\"({}) : \"memory\");",
                     bytes == 16 ? "cg" : "ca", bytes, to, from, copied);
}

constexpr MatrixDialect kNvidiaCopies = {
    .load_matrix = nullptr,
    .mma = nullptr,
    .async_copy = async_copy,
    .copied = "clamp((int)({}), 0, {})",
    .async_commit = "asm volatile(\"cp.async.commit_group;\" ::: \"memory\");",
    .async_wait = "asm volatile(\"cp.async.wait_group {};\" ::: \"memory\");",
};

constexpr Dialect kOpenclC = {
    .name = "OpenCL C",
    .prologue = "#pragma OPENCL FP_CONTRACT OFF\n",
    .fp64_prologue = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n",
    .entry = "__kernel __attribute__((reqd_work_group_size({}, 1, 1))) void",
    .helper = "static inline",
    .outlined = "static __attribute__((noinline))",
    .global_space = "__global ",
    .local_space = "__local ",
    .local_array = "__local ",
    .private_space = "__private ",
    .byte_type = "uchar",
    .offset_type = "ulong",
    .restrict_word = "restrict",
    .block_index = "get_group_id(0)",
    .lane_index = "get_local_id(0)",
    .barrier = "barrier(CLK_LOCAL_MEM_FENCE);",
    .warp_barrier = {},
    .prefetch = "prefetch({}, 1);",
    .aligned = " __attribute__((aligned({})))",
    .value_elem = value_elem,
    .memory_elem = memory_elem,
    .array_elem = bits_elem,
    .vector = vector_name,
    .compose = compose,
    .lane = lane_of,
    .select = select,
    .load = load,
    .store = store,
    .packed_store = packed_store,
    .convert = convert,
};

std::string_view ticket_words(const Target &target) {
  switch (tickets(target)) {
  case Tickets::None:
    return {};
  case Tickets::Nvidia:
    return kNvidiaTicket;
  case Tickets::Atomics:
    return "{} = atomic_fetch_add_explicit((volatile __global atomic_int *)({}), 1, "
           "memory_order_acq_rel, memory_scope_device);";
  }
  internal_error("tickets of no kind", __FILE__, __LINE__);
}

bool has_counts(const kernel::Kernel &kernel) {
  return std::any_of(kernel.buffers.begin(), kernel.buffers.end(),
                     [](const kernel::Buffer &buffer) { return buffer.counts; });
}

class OpenclEmitter final : public Emitter {
public:
  Package emit(const kernel::Kernel &kernel, const Target &target) const override {
    const bool outline = target.lanes == LaneKind::Vector && kernel.block_size == 1;
    Dialect dialect = kOpenclC;
    if (has(target, Feature::AsyncCopies))
      dialect.matrix = &kNvidiaCopies;
    dialect.ticket = ticket_words(target);
    if (tickets(target) == Tickets::Atomics && has_counts(kernel))
      dialect.barrier = "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);";
    Package package = c_like_package(kernel, target, dialect, {.outline_body = outline});
    package.format = CodeFormat::OpenclSource;
    return package;
  }
};

} // namespace

std::unique_ptr<Emitter> make_opencl_emitter() { return std::make_unique<OpenclEmitter>(); }

} // namespace tilefuse::emit
