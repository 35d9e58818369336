// SPDX-License-Identifier: Apache-2.0
// OpenCL C 1.2 for the C-like printer. Halves are read and written by vload_half and vstore_half,
// which every device has; no extensions but cl_khr_fp64 and cl_khr_integer_dot_product are used, and
// these only where a kernel has doubles or dot products.
#include "emit/c/opencl.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/error.h"
#include "emit/c/c_align.h"
#include "emit/c/c_expr.h"
#include "emit/c/c_guarded.h"
#include "emit/c/c_like.h"
#include "emit/c/c_names.h"
#include "emit/c/c_program.h"
#include "emit/c/coarse_math.h"
#include "emit/c/nvidia_asm.h"
#include "kernel/build.h"
#include "kernel/intrinsics.h"
#include "target/features.h"
#include "target/nvidia.h"
#include "target/tickets.h"

namespace tilefuse::emit {
namespace {

using kernel::Kernel;
using kernel::Type;

constexpr CWords kWords = {
    .name = "OpenCL C",
    .helper = "static inline",
    .outlined = "static __attribute__((noinline))",
    .global_space = "__global ",
    .local_space = "__local ",
    .local_array = "__local ",
    .private_space = "__private ",
    .restrict_word = "restrict",
    .block_index = "get_group_id(0)",
    .lane_index = "get_local_id(0)",
};

// As NVIDIA's compiler takes inline assembly: the value of a pointer is its address in its space.
constexpr NvidiaCopy kCopy = {.to = "\"l\"({})", .copied = "clamp((int)({}), 0, {})"};

// What compilers for processors have beside the language (runtime/opencl/opencl_target.h), and what
// the extension adds for one sum.
constexpr std::string_view kDotExtension = "cl_khr_integer_dot_product";
struct DotFunction {
  std::string_view op;
  int lanes = 0;
  std::string_view name; // of a and b; the sum is added to what it gives
};

constexpr std::array kDots = std::to_array<DotFunction>({
    {"dot2.s16.s16.s32", 4, "__builtin_ia32_pmaddwd128"},
    {"dot2.s16.s16.s32", 8, "__builtin_ia32_pmaddwd256"},
    {"dot4.u8.s8.s32", 1, "dot_4x8packed_us_int"},
    {"dot4.s8.s8.s32", 1, "dot_4x8packed_ss_int"},
    {"dot4.u8.u8.s32", 1, "(int)dot_4x8packed_uu_uint"},
});

std::string pointer(const std::string &base, const std::string &index) {
  if (index == "0")
    return base;
  const bool is_sum = index.find_first_of("?<>=!&|^") == std::string::npos;
  return fmt::format("{} + {}", base, is_sum ? index : "(" + index + ")");
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

bool has_counts(const kernel::Kernel &kernel) {
  return std::any_of(kernel.buffers.begin(), kernel.buffers.end(),
                     [](const kernel::Buffer &buffer) { return buffer.counts; });
}

std::string ticket(CContext &cx, const kernel::Ticket &node) {
  if (tickets(cx.target) == Tickets::Nvidia)
    return nvidia_ticket(cx, node);
  const TicketText text = ticket_text(cx, node);
  return fmt::format("{} = atomic_fetch_add_explicit((volatile __global atomic_int *)({}), 1, "
                     "memory_order_acq_rel, memory_scope_device);",
                     text.to, text.count);
}

class OpenclEmitter final : public CEmitter {
public:
  Package emit(const Kernel &kernel, const Target &target) const override {
    const bool outline = target.lanes == LaneKind::Vector && kernel.block_size == 1;
    if (kernel.cluster != 1 || !kernel.maps.empty())
      refuse("a cluster or a tensor map");
    Package package = c_like_package(kernel, target, *this, {.outline_body = outline});
    package.format = CodeFormat::OpenclSource;
    return package;
  }

  const CWords &words() const override { return kWords; }

  std::string unit(CContext &cx, const ProgramText &text) const override {
    CProgram program{.prologue = "#pragma OPENCL FP_CONTRACT OFF\n"};
    if (uses_fp64(cx.kernel))
      program.prologue += "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n";
    program.entry = fmt::format("__kernel __attribute__((reqd_work_group_size({}, 1, 1))) void",
                                cx.kernel.block_size);
    program.aligned = fmt::format(" __attribute__((aligned({})))", kAlignedBytes);
    return c_program(cx, text, program);
  }

  std::string barrier(const CContext &cx, const kernel::Barrier &node) const override {
    if (node.id != 0)
      refuse("a named barrier");
    if (node.is_of_warp() || node.is_of_cluster())
      refuse(node.is_of_warp() ? "a barrier of a warp" : "a barrier of a cluster");
    return tickets(cx.target) == Tickets::Atomics && has_counts(cx.kernel)
               ? "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);"
               : "barrier(CLK_LOCAL_MEM_FENCE);";
  }

  std::string prefetch(const std::string &pointer) const override {
    return fmt::format("prefetch({}, 1);", pointer);
  }

  // Earlier kernels have always ended.
  std::vector<std::string> intrinsic(CContext &cx, const kernel::Intrinsic &node) const override {
    if (std::holds_alternative<kernel::AwaitEarlier>(node))
      return {};
    if (const auto *square = std::get_if<kernel::Transpose>(&node))
      return transpose(cx, *square);
    const auto *to_take = std::get_if<kernel::Ticket>(&node);
    if (to_take != nullptr && tickets(cx.target) != Tickets::None)
      return {ticket(cx, *to_take)};
    const bool has_copies = has(cx.target, Feature::AsyncCopies);
    if (const auto *copy = std::get_if<kernel::AsyncCopy>(&node); copy != nullptr && has_copies)
      return {nvidia_copy(cx, *copy, kCopy)};
    if (std::holds_alternative<kernel::AsyncCommit>(node) && has_copies)
      return {nvidia_commit()};
    if (const auto *wait = std::get_if<kernel::AsyncWait>(&node); wait != nullptr && has_copies)
      return {nvidia_wait(*wait)};
    refuse(row_of(node).called);
  }

  // Of what devices have, the error function alone is dear.
  std::string coarse_function(CContext &cx, ScalarOp op, const Type &type) const override {
    if (op != ScalarOp::Erf)
      return {};
    const std::string name = fmt::format("tf_coarse_erf_{}", type_tag(type));
    const std::string c_type = value_type(cx, type);
    cx.helpers.emplace(name, fmt::format("{0} {1} {2}({1} x) {3}\n", kWords.helper, c_type, name,
                                         coarse_erf(c_type, "exp2", "{0} * {1} + {2}")));
    return name;
  }

  std::string memory_elem(DType elem) const override {
    return elem == DType::F16 ? "half" : CEmitter::memory_elem(elem);
  }

  std::string vector(const std::string &elem, int lanes) const override {
    if (lanes != 2 && lanes != 3 && lanes != 4 && lanes != 8 && lanes != 16)
      throw Error(
          ErrorCode::Unsupported,
          fmt::format("OpenCL C has no vectors of {} elements; need 2, 3, 4, 8 or 16", lanes));
    return fmt::format("{}{}", elem, lanes);
  }

  std::string compose(const std::string &vector_type, const std::string &lanes) const override {
    return fmt::format("({})({})", vector_type, lanes);
  }

  std::string lane(const std::string &value, int lane) const override {
    return fmt::format("{}.s{:x}", value, lane);
  }

  std::string convert(const Type &from, const Type &to, const std::string &value) const override {
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

  std::string dot(CContext &cx, const kernel::Dot &node, int lanes) const override {
    if (lanes == 1 && nvidia_generation(cx.target) > 0)
      return nvidia_dot(cx, node, "as_uint({})");
    for (const DotFunction &function : kDots) {
      if (function.op != node.op->name || function.lanes != lanes)
        continue;
      if (lanes == 1)
        cx.helpers.emplace(kDotExtension,
                           fmt::format("#pragma OPENCL EXTENSION {} : enable\n", kDotExtension));
      const std::string_view as_word = lanes == 1 ? "as_uint({})" : "{}";
      const auto operand = [&](kernel::ExprRef value) {
        return fmt::format(fmt::runtime(as_word), bare(expression(cx, value)));
      };
      return fmt::format("({}({}, {}) + {})", function.name, operand(node.a), operand(node.b),
                         expression(cx, node.c));
    }
    return CEmitter::dot(cx, node, lanes);
  }

  // A group of neighbours is repeated as one whole number of its size.
  std::string repeat(const Type &from, const Type &to, const std::string &value) const override {
    const std::int64_t bytes = from.lanes * size_bytes(from.elem);
    const std::string word = bytes == 8 ? "ulong" : (bytes == 4 ? "uint" : "ushort");
    if (bytes != 2 && bytes != 4 && bytes != 8)
      return CEmitter::repeat(from, to, value);
    return fmt::format("as_{}(({})(as_{}({})))", vector(value_elem(to.elem), to.lanes),
                       vector(word, to.lanes / from.lanes), word, bare(value));
  }

  std::string load(DType elem, int lanes, const std::string &base,
                   const std::string &index) const override {
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

  std::string store(DType elem, int lanes, const std::string &base, const std::string &index,
                    const std::string &value) const override {
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

  std::string guarded_load(CContext &cx, const Type &type,
                           const kernel::Load &load) const override {
    return load_by_helper(cx, type, load);
  }

  std::string guarded_store(CContext &cx, const kernel::Store &store,
                            const std::string &value) const override {
    return store_by_helper(cx, store, value);
  }

  bool has_wide(const CContext &cx, const Type &type) const override {
    return !cx.vector_target && traits(type.elem).bits == 32 && 4 * type.lanes <= kAlignedBytes;
  }

  std::string wide_load(const CContext &cx, const VectorText &at) const override {
    return "(" + whole_vector(cx, at) + ")";
  }

  std::string wide_store(const CContext &cx, const VectorText &at,
                         const std::string &value) const override {
    return fmt::format("{} = {}", whole_vector(cx, at), value);
  }

  // A processor's compiler stores a whole vector of any alignment at once when it is a field of a
  // packed structure, and in quarters for vstore.
  std::string plain_store(const CContext &cx, const VectorText &at,
                          const std::string &value) const override {
    const DType elem = at.buffer.type.elem;
    const bool is_packed = cx.vector_target && at.type.lanes != 3 && traits(elem).c_form.empty();
    if (!is_packed)
      return CEmitter::plain_store(cx, at, value);
    return fmt::format("(({}struct __attribute__((packed)) {{ {}{} v; }}*)({}))->v = {}",
                       space_of(cx, at.buffer), memory_elem(elem), at.type.lanes,
                       offset(at.base, at.index), bare(value));
  }

private:
  // One row of two that exchange blocks of `half` lanes: the upper one, a, or the lower one, b.
  std::string exchanged(const std::string &type, int lanes, int half, bool is_upper) const {
    std::string text;
    for (int lane = 0; lane < lanes; ++lane) {
      const bool is_high = (lane & half) != 0;
      const int from = is_upper ? lane - (is_high ? half : 0) : lane + (is_high ? 0 : half);
      text += (lane == 0 ? "" : ", ") + this->lane(is_high ? "b" : "a", from);
    }
    return compose(type, text);
  }

  // Blocks off the diagonal change places, halves first (Eklundh 1972).
  std::vector<std::string> transpose(CContext &cx, const kernel::Transpose &node) const {
    const std::string type = value_type(cx, cx.kernel[node.square.buffer].type);
    std::int64_t first = 0;
    TILEFUSE_CHECK(kernel::is_constant(node.square.index, &first), "a square at a variable index");
    std::vector<std::string> lines;
    for (int half = node.rows / 2; half > 0; half /= 2)
      for (int row = 0; row < node.rows; ++row)
        if ((row & half) == 0)
          lines.push_back(fmt::format("{{ const {0} a = {1}, b = {2}; {1} = {3}; {2} = {4}; }}",
                                      type, register_name(cx, node.square.buffer, first + row),
                                      register_name(cx, node.square.buffer, first + row + half),
                                      exchanged(type, node.rows, half, true),
                                      exchanged(type, node.rows, half, false)));
    return lines;
  }

  std::string type_name(const Type &type) const {
    const std::string elem = value_elem(type.elem);
    return type.lanes == 1 ? elem : vector(elem, type.lanes);
  }

  static std::string_view space_of(const CContext &cx, const kernel::Buffer &buffer) {
    return buffer.space == kernel::Space::Global ? kWords.global_space : cx.scratch_space();
  }

  // An aligned vector as an lvalue.
  static std::string whole_vector(const CContext &cx, const VectorText &at) {
    const bool is_written = at.buffer.written || at.buffer.space == kernel::Space::Local;
    return fmt::format("*({}{}{}*)({})", space_of(cx, at.buffer), is_written ? "" : "const ",
                       value_type(cx, at.type), offset(at.base, at.index));
  }

  static std::string load_scalar(DType elem, const std::string &base, const std::string &index) {
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

  static std::string store_scalar(DType elem, const std::string &base, const std::string &index,
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

  // Integers to integers of no more bytes: the low bits. Devices differ on what lies outside the
  // type, so nothing outside is converted.
  std::string wrapped_vector(const Type &from, const Type &to, const std::string &value) const {
    const std::string to_name = type_name(to);
    if (size_bytes(from.elem) == size_bytes(to.elem))
      return fmt::format("as_{}({})", to_name, value);
    struct Low {
      std::string_view type, mask;
    };
    const std::int64_t size = size_bytes(to.elem);
    const Low kept = size == 1   ? Low{"uchar", "255"}
                     : size == 2 ? Low{"ushort", "65535"}
                                 : Low{"uint", "0xffffffffL"};
    const std::string bits = fmt::format("{}{}", kept.type, to.lanes);
    const bool is_short = size_bytes(from.elem) == 2;
    const std::string_view narrow =
        !is_short ? "" : (traits(from.elem).is_signed ? "(short)" : "(ushort)");
    const std::string low = fmt::format("convert_{}({} & {}{})", bits, value, narrow, kept.mask);
    return bits == to_name ? low : fmt::format("as_{}({})", to_name, low);
  }
};

} // namespace

std::unique_ptr<Emitter> make_opencl_emitter() { return std::make_unique<OpenclEmitter>(); }

} // namespace tilefuse::emit
