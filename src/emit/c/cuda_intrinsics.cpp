// SPDX-License-Identifier: Apache-2.0
// Intrinsics of kernels as inline PTX: one function each.
#include "emit/c/cuda_intrinsics.h"

#include <fmt/format.h>

#include "base/error.h"
#include "emit/c/c_expr.h"
#include "emit/c/c_matrix.h"
#include "emit/c/c_names.h"
#include "emit/c/nvidia_asm.h"
#include "kernel/build.h"
#include "kernel/rules.h"

namespace tilefuse::emit {
namespace {

constexpr NvidiaCopy kCopy = {.to = "\"r\"(tf_shared({}))", .copied = "tf_copied({}, {})"};

std::string ptx_type(const CoreOp &op, DType type) {
  if (type == DType::F32 && op.tf32)
    return "tf32";
  return is_float(type) ? std::string(to_string(type))
                        : fmt::format("{}{}", type == DType::U8 ? 'u' : 's', 8 * size_bytes(type));
}

// "{%4, %5}"; `next` becomes the number after the last.
std::string numbers(std::size_t &next, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i)
    text += fmt::format("{}%{}", i == 0 ? "" : ", ", next++);
  return "{" + text + "}";
}

std::string operands(std::string_view constraint, const Words &names) {
  std::string text;
  for (const std::string &name : names)
    text += fmt::format("{}\"{}\"({})", text.empty() ? "" : ", ", constraint, name);
  return text;
}

// `apart` bytes from 8 rows to the next, 0: no gap. The swizzle is that of the address in local
// memory, wherever the operand starts.
std::string descriptor(const std::string &pointer, int row_bytes, std::int64_t panel_bytes,
                       std::int64_t apart) {
  const int mode = row_bytes == 128 ? 1 : row_bytes == 64 ? 2 : 3;
  const std::int64_t step =
      (apart == 0 ? 8 * row_bytes : apart) / 16; // over 8 rows, of k if turned
  return fmt::format("tf_matrix(tf_shared({}), {}, {}, {})", pointer,
                     panel_bytes == 0 ? 1 : panel_bytes / 16, step, mode);
}

// The instruction takes pairs of columns, 8 rows down, then 8 columns on; the table of core
// instructions has a row's values first.
std::size_t register_at(std::size_t i, std::size_t count) {
  return i % 2 + i / 4 * 2 + (i / 2 % 2) * (count / 2);
}

// ptxas 13.0 moves instructions that read the sums in front of a wait for all groups where a wait
// for all but one came before it. They do not pass the end of a basic block: an exit that no launch
// takes, since grids have one dimension.
constexpr const char *kWaitForAll = "asm volatile(\"{ .reg .pred p; wgmma.wait_group.sync.aligned "
                                    "0; setp.ne.u32 p, %0, 1; @p exit; }\" "
                                    ":: \"r\"(gridDim.y) : \"memory\");";

std::string pointer(CContext &cx, const kernel::LocalRef &ref) {
  return pointer_text(cx, ref.buffer, ref.index);
}

std::string map_name(kernel::MapId id) { return fmt::format("t{}", to_int(id)); }

// Operands of a list, with a constraint, and their numbers from `next` on.
struct Inputs {
  std::string numbers; // "%3, %4"
  std::string values;  // ", \"r\"(x), \"r\"(y)"
};

Inputs inputs(CContext &cx, const std::vector<kernel::ExprRef> &list, std::string_view format,
              std::size_t &next) {
  Inputs all;
  for (const kernel::ExprRef each : list) {
    all.numbers += fmt::format("{}%{}", all.numbers.empty() ? "" : ", ", next++);
    all.values += fmt::format(fmt::runtime(format), bare(expression(cx, each)));
  }
  return all;
}

constexpr std::string_view kWord = ", \"r\"({})";
constexpr std::string_view kShort = ", \"h\"((ushort)({}))";

std::string statement(CContext &cx, const kernel::LoadMatrix &node) {
  const Words to = fragment_words(cx, node.to, load_matrix_values(cx.kernel, node));
  std::size_t next = 0;
  const std::string words = numbers(next, to.size());
  const std::string text = fmt::format("ldmatrix.sync.aligned.m8n8.x{}{}.shared.b16 {}, [%{}];",
                                       to.size(), node.transposed ? ".trans" : "", words, next);
  return fmt::format("asm volatile(\"{}\" : {} : \"r\"(tf_shared({})) : \"memory\");", text,
                     operands("=r", to), pointer_text(cx, node.from, node.index));
}

std::string statement(CContext &cx, const kernel::Mma &node) {
  const CoreOp &op = *node.op;
  if (op.d.type == DType::F16)
    throw Error(ErrorCode::Unsupported, fmt::format("{} accumulates in half precision", op.name));
  const auto fragment = [&](const kernel::RegisterRef &ref, const Fragment &of) {
    return fragment_words(cx, ref, fragment_values(cx.kernel, ref, of));
  };
  const Words acc = accumulator_names(cx, node.acc, op.d);
  const Words a = fragment(node.a, op.a);
  const Words b = fragment(node.b, op.b);
  const bool is_real = op.d.type == DType::F32;
  const std::string_view sum = is_real ? "f32" : "s32";
  std::size_t next = 0;
  const std::string d = numbers(next, acc.size());
  const std::string left = numbers(next, a.size());
  const std::string right = numbers(next, b.size());
  const std::string text = fmt::format(
      "mma.sync.aligned.m{}n{}k{}.row.col.{}.{}.{}.{} {}, {}, {}, {};", op.m, op.n, op.k, sum,
      ptx_type(op, op.a.type), ptx_type(op, op.b.type), sum, d, left, right, d);
  return fmt::format("asm volatile(\"{}\" : {} : {}, {});", text,
                     operands(is_real ? "+f" : "+r", acc), operands("r", a), operands("r", b));
}

std::string statement(CContext &cx, const kernel::AsyncCopy &node) {
  return nvidia_copy(cx, node, kCopy);
}

std::string statement(CContext &, const kernel::AsyncCommit &) { return nvidia_commit(); }

std::string statement(CContext &, const kernel::AsyncWait &node) { return nvidia_wait(node); }

std::string statement(CContext &cx, const kernel::Ticket &node) { return nvidia_ticket(cx, node); }

std::string statement(CContext &cx, const kernel::Mbarrier &node) {
  const std::string_view order = node.for_cluster ? "_cluster" : "";
  const std::string at = pointer(cx, node.at);
  const auto text = [&](kernel::ExprRef e) { return bare(expression(cx, e)); };
  switch (node.op) {
  case kernel::MbarrierOp::Init:
    return fmt::format("tf_mbarrier_init(tf_shared({}), {});", at, text(node.value));
  case kernel::MbarrierOp::Arrive:
    if (node.rank != nullptr)
      return fmt::format("tf_mbarrier_arrive_at{}(tf_shared({}), {});", order, at, text(node.rank));
    return fmt::format("tf_mbarrier_arrive{}(tf_shared({}));", order, at);
  case kernel::MbarrierOp::Expect:
    return fmt::format("tf_mbarrier_expect(tf_shared({}), {});", at, text(node.value));
  case kernel::MbarrierOp::Wait:
    return fmt::format("tf_mbarrier_wait{}(tf_shared({}), {});", order, at, text(node.value));
  }
  internal_error("an mbarrier without a text", __FILE__, __LINE__);
}

std::string statement(CContext &cx, const kernel::TensorCopy &node) {
  std::size_t next = 3;
  const Inputs at = inputs(cx, node.at, kWord, next);
  const Inputs shifts = inputs(cx, node.offsets, kShort, next);
  std::string mask;
  std::string values = at.values + shifts.values;
  if (node.ranks != nullptr) {
    mask = fmt::format(", %{}", next);
    values += fmt::format(fmt::runtime(kShort), bare(expression(cx, node.ranks)));
  }
  const std::string text =
      fmt::format("cp.async.bulk.tensor.{}d.shared::cluster.global.{}.mbarrier::complete_tx::bytes"
                  "{} [%0], [%1, {{{}}}], [%2]{}{};",
                  node.at.size(), node.offsets.empty() ? "tile" : "im2col",
                  mask.empty() ? "" : ".multicast::cluster", at.numbers,
                  shifts.numbers.empty() ? "" : ", {" + shifts.numbers + "}", mask);
  return fmt::format(
      "asm volatile(\"{}\" :: \"r\"(tf_shared({})), \"l\"(&{}), \"r\"(tf_shared({})){} : "
      "\"memory\");",
      text, pointer(cx, node.to), map_name(node.map), pointer(cx, node.signals), values);
}

std::string statement(CContext &cx, const kernel::TensorStore &node) {
  std::size_t next = 2;
  const Inputs at = inputs(cx, node.at, kWord, next);
  return fmt::format("asm volatile(\"cp.async.bulk.tensor.{}d.global.shared::cta.{}.bulk_group "
                     "[%0, {{{}}}], [%1];\" :: \"l\"(&{}), \"r\"(tf_shared({})){} : \"memory\");",
                     node.at.size(), cx.kernel[node.map].is_im2col() ? "im2col_no_offs" : "tile",
                     at.numbers, map_name(node.map), pointer(cx, node.from), at.values);
}

std::string statement(CContext &, const kernel::StoreSync &node) {
  switch (node.step) {
  case kernel::StoreStep::Fence:
    return "asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");";
  case kernel::StoreStep::Commit:
    return "asm volatile(\"cp.async.bulk.commit_group;\" ::: \"memory\");";
  case kernel::StoreStep::Wait:
    return fmt::format("asm volatile(\"cp.async.bulk.wait_group.read {};\" ::: \"memory\");",
                       node.pending);
  }
  internal_error("a step of tensor stores without a text", __FILE__, __LINE__);
}

std::string statement(CContext &cx, const kernel::Wgmma &node) {
  const CoreOp &op = *node.op;
  const std::int64_t size = size_bytes(op.a.type);
  const Words acc = accumulator_names(cx, node.acc, op.d);
  const bool is_real = op.d.type == DType::F32;
  const auto fragment = kernel::fragment_of(cx.kernel, node);
  std::size_t next = 0;
  const std::string registers = numbers(next, acc.size());
  std::string outputs;
  for (std::size_t i = 0; i < acc.size(); ++i)
    outputs += fmt::format("{}\"{}\"({})", i == 0 ? "" : ", ", is_real ? "+f" : "+r",
                           acc[register_at(i, acc.size())]);
  std::string a, a_values;
  if (fragment) {
    const Words words = fragment_words(cx, *fragment, fragment_values(cx.kernel, *fragment, op.a));
    a = numbers(next, words.size());
    a_values = operands("r", words);
  } else {
    a = fmt::format("%{}", next++);
    a_values = fmt::format("\"l\"({})", descriptor(pointer(cx, node.a), node.a_row_bytes,
                                                   node.a_panel * size, node.a_lines * size));
  }
  std::string flags = is_real ? ", 1, 1" : "";
  if (size == 2 && !fragment)
    flags += fmt::format(", {}", node.a_panel != 0 ? 1 : 0);
  if (size == 2)
    flags += fmt::format(", {}", node.b_panel != 0 ? 1 : 0);
  const std::string text = fmt::format(
      "{{ .reg .pred p; setp.ne.b32 p, %{}, 0; wgmma.mma_async.sync.aligned.m{}n{}k{}.{}.{}.{} "
      "{}, {}, %{}, p{}; }}",
      next + 1, op.m, op.n, op.k, is_real ? "f32" : "s32", ptx_type(op, op.a.type),
      ptx_type(op, op.b.type), registers, a, next, flags);
  return fmt::format(
      "asm volatile(\"{}\" : {} : {}, \"l\"({}), \"r\"((int)({})));", text, outputs, a_values,
      descriptor(pointer(cx, node.b), node.b_row_bytes, node.b_panel * size, node.b_lines * size),
      node.accumulate == nullptr ? "1" : expression(cx, node.accumulate));
}

std::string statement(CContext &, const kernel::WgmmaSync &node) {
  switch (node.step) {
  case kernel::WgmmaStep::Fence:
    return "asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\");";
  case kernel::WgmmaStep::Commit:
    return "asm volatile(\"wgmma.commit_group.sync.aligned;\" ::: \"memory\");";
  case kernel::WgmmaStep::Wait:
    return node.pending == 0
               ? kWaitForAll
               : fmt::format("asm volatile(\"wgmma.wait_group.sync.aligned {};\" ::: \"memory\");",
                             node.pending);
  }
  internal_error("a step of wgmma without a text", __FILE__, __LINE__);
}

std::string statement(CContext &cx, const kernel::Transpose &) {
  cx.language.refuse("a transposition of vectors");
}

std::string statement(CContext &cx, const kernel::Shuffle &node) {
  std::int64_t index = 0;
  TILEFUSE_CHECK(kernel::is_constant(node.value.index, &index), "a shuffled register of no number");
  const std::string value = register_name(cx, node.value.buffer, index);
  return fmt::format("{0} = __shfl_xor_sync(0xffffffffu, {0}, {1});", value, node.apart);
}

std::string statement(CContext &, const kernel::RegisterLimit &node) {
  return fmt::format("asm volatile(\"setmaxnreg.{}.sync.aligned.u32 {};\");",
                     node.more ? "inc" : "dec", node.count);
}

std::string statement(CContext &, const kernel::AwaitEarlier &) {
  return std::string(kCudaAwaitEarlier);
}

[[noreturn]] void refuse_rows(CContext &cx) { cx.language.refuse("a register of rows"); }
std::string statement(CContext &cx, const kernel::RowsZero &) { refuse_rows(cx); }
std::string statement(CContext &cx, const kernel::RowsLoad &) { refuse_rows(cx); }
std::string statement(CContext &cx, const kernel::RowsStore &) { refuse_rows(cx); }
std::string statement(CContext &cx, const kernel::RowsDot &) { refuse_rows(cx); }

} // namespace

std::vector<std::string> cuda_intrinsic(CContext &cx, const kernel::Intrinsic &node) {
  const std::string text = std::visit([&](const auto &each) { return statement(cx, each); }, node);
  if (std::holds_alternative<kernel::AwaitEarlier>(node))
    return {text, std::string(kCudaLetLater)};
  return {text};
}

std::string cuda_map_parameters(const kernel::Kernel &kernel) {
  std::string text;
  for (std::size_t i = 0; i < kernel.maps.size(); ++i)
    text += fmt::format(", const __grid_constant__ tf_map {}",
                        map_name(kernel::MapId{static_cast<int>(i)}));
  return text;
}

std::string cuda_fetch_maps(const kernel::Kernel &kernel) {
  std::string text;
  for (std::size_t i = 0; i < kernel.maps.size(); ++i)
    text += fmt::format(" tf_fetch_map(&{});", map_name(kernel::MapId{static_cast<int>(i)}));
  return text.empty() ? text : fmt::format("  if (lane == 0) {{{} }}\n", text);
}

} // namespace tilefuse::emit
