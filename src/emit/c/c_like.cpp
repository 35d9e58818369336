// SPDX-License-Identifier: Apache-2.0
#include "emit/c/c_like.h"

#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/index.h"
#include "emit/c/c_align.h"
#include "emit/c/c_context.h"
#include "emit/c/c_expr.h"
#include "emit/c/c_matrix.h"
#include "emit/c/c_memory.h"
#include "emit/c/c_names.h"
#include "emit/c/c_tensor.h"
#include "emit/emitter.h"
#include "emit/symbol.h"
#include "kernel/build.h"
#include "kernel/walk.h"
#include "target/dtype_traits.h"

namespace tilefuse::emit {
namespace {

using kernel::BufferId;
using kernel::Kernel;
using kernel::Space;
using kernel::StmtRef;

// Prints statements, one per line, two blanks per level.
class StatementPrinter {
public:
  explicit StatementPrinter(CContext &cx) : cx_(cx) {}
  void statement(StmtRef stmt) { std::visit(*this, stmt->node); }
  std::string take() { return std::move(text_); }
  void line(const std::string &text) { text_ += std::string(2 * depth_, ' ') + text + "\n"; }

  void operator()(const kernel::Block &node) {
    const bool scoped = depth_ > 1 && has_let(node) && !opens_block_;
    opens_block_ = false;
    if (scoped)
      open("{");
    for (const StmtRef child : node.body)
      statement(child);
    if (scoped)
      close();
  }
  void operator()(const kernel::Let &node) {
    line(fmt::format("const {} {} = {};", value_type(cx_, cx_.kernel[node.var].type),
                     variable_name(node.var), bare(expression(cx_, node.value))));
  }
  void operator()(const kernel::For &node) {
    const std::string name = variable_name(node.var);
    const std::string type = value_type(cx_, cx_.kernel[node.var].type);
    body(fmt::format("for ({} {} = {}; {} {} {}; {} += {}) {{", type, name,
                     bare(expression(cx_, node.begin)), name, node.step < 0 ? ">" : "<",
                     expression(cx_, node.end), name, integer_literal(cx_, node.step)),
         node.body);
  }
  void operator()(const kernel::If &node) {
    body(fmt::format("if ({}) {{", bare(expression(cx_, node.condition))), node.then_body);
    if (node.else_body != nullptr)
      body("else {", node.else_body);
  }
  void operator()(const kernel::Store &node) { line(store_text(cx_, node)); }
  void operator()(const kernel::Barrier &node) {
    if (node.is_of_cluster())
      return line(cluster_barrier_text(cx_));
    if (node.id != 0)
      refuse("a named barrier");
    if (node.is_of_warp() && cx_.dialect.warp_barrier.empty())
      refuse("a barrier of a warp");
    if (cx_.kernel.block_size > 1)
      line(std::string(node.is_of_warp() ? cx_.dialect.warp_barrier : cx_.dialect.barrier));
  }
  void operator()(const kernel::Prefetch &node) {
    const kernel::Buffer &buffer = cx_.kernel[node.buffer];
    if (cx_.dialect.prefetch.empty() || buffer.space != Space::Global || is_half(buffer.type.elem))
      return;
    const std::string pointer =
        offset(buffer_name(cx_, node.buffer), bare(expression(cx_, node.index)));
    line(fmt::format(fmt::runtime(cx_.dialect.prefetch), pointer));
  }
  void operator()(const kernel::Intrinsic &node) { std::visit(*this, node); }
  void operator()(const kernel::LoadMatrix &node) { line(load_matrix_text(cx_, node)); }
  void operator()(const kernel::Mma &node) { line(mma_text(cx_, node)); }
  void operator()(const kernel::AsyncCopy &node) { line(async_copy_text(cx_, node)); }
  void operator()(const kernel::AsyncCommit &) { line(async_commit_text(cx_)); }
  void operator()(const kernel::AsyncWait &node) { line(async_wait_text(cx_, node)); }
  void operator()(const kernel::Ticket &node) {
    if (cx_.dialect.ticket.empty())
      refuse("a ticket");
    const std::string to = fmt::format("{}[{}]", buffer_name(cx_, node.to.buffer),
                                       bare(expression(cx_, node.to.index)));
    line(fmt::format(fmt::runtime(cx_.dialect.ticket), to,
                     offset(buffer_name(cx_, node.counts), bare(expression(cx_, node.index)))));
  }
  void operator()(const kernel::Mbarrier &node) { line(mbarrier_text(cx_, node)); }
  void operator()(const kernel::TensorCopy &node) { line(tensor_copy_text(cx_, node)); }
  void operator()(const kernel::TensorStore &node) { line(tensor_store_text(cx_, node)); }
  void operator()(const kernel::StoreSync &node) { line(store_sync_text(cx_, node)); }
  void operator()(const kernel::Wgmma &node) { line(wgmma_text(cx_, node)); }
  void operator()(const kernel::WgmmaSync &node) { line(wgmma_sync_text(cx_, node)); }
  void operator()(const kernel::RegisterLimit &node) { line(register_limit_text(cx_, node)); }
  void operator()(const kernel::AwaitEarlier &) {
    for (const std::string_view text : {cx_.dialect.await_earlier, cx_.dialect.let_later})
      if (!text.empty())
        line(std::string(text));
  }

private:
  [[noreturn]] void refuse(std::string_view what) const {
    throw Error(ErrorCode::Unsupported,
                fmt::format("{} cannot be written in {}", what, cx_.dialect.name));
  }
  static bool has_let(const kernel::Block &block) {
    for (const StmtRef child : block.body)
      if (std::holds_alternative<kernel::Let>(child->node))
        return true;
    return false;
  }
  void open(const std::string &head) {
    line(head);
    ++depth_;
  }
  void close() {
    --depth_;
    line("}");
  }
  void body(const std::string &head, StmtRef stmt) {
    open(head);
    opens_block_ = true;
    statement(stmt);
    opens_block_ = false;
    close();
  }

  CContext &cx_;
  std::string text_;
  std::size_t depth_ = 1;
  bool opens_block_ = true; // the next Block has braces already
};

constexpr std::int64_t kLocalAlign = 128;
constexpr std::int64_t kBoxAlign = 1024; // of what tensor copies fill
constexpr std::int64_t kMaxNarrow = std::numeric_limits<std::int32_t>::max();

bool needs_wide(const Kernel &kernel) {
  bool wide = kernel.blocks > kMaxNarrow / std::max<std::int64_t>(1, kernel.block_size);
  for (const kernel::Buffer &buffer : kernel.buffers)
    wide |= buffer.elems > kMaxNarrow;
  return wide;
}

// Register arrays whose every index is a constant become one variable per value.
std::vector<bool> split_registers(const Kernel &kernel) {
  std::vector<bool> split(kernel.buffers.size());
  for (std::size_t i = 0; i < split.size(); ++i)
    split[i] = kernel.buffers[i].space == Space::Register;
  const auto note = [&](BufferId id, kernel::ExprRef index) {
    if (!kernel::is_constant(index))
      split[at(id)] = false;
  };
  kernel::for_each_expr(kernel.body, [&](kernel::ExprRef expr) {
    if (const auto *load = std::get_if<kernel::Load>(&expr->node))
      note(load->buffer, load->index);
  });
  kernel::for_each_stmt(kernel.body, [&](StmtRef stmt) {
    if (const auto *store = std::get_if<kernel::Store>(&stmt->node))
      note(store->buffer, store->index);
  });
  return split;
}

bool uses_fp64(const Kernel &kernel) {
  bool uses = false;
  for (const kernel::Buffer &buffer : kernel.buffers)
    uses |= buffer.type.elem == DType::F64;
  kernel::for_each_expr(kernel.body,
                        [&](kernel::ExprRef expr) { uses |= expr->type.elem == DType::F64; });
  return uses;
}

std::string declare_registers(CContext &cx, BufferId id) {
  const kernel::Buffer &buffer = cx.kernel[id];
  if (cx.words[at(id)])
    return declare_words(cx, id);
  const std::string type = value_type(cx, buffer.type);
  if (!cx.split[at(id)])
    return fmt::format("  {} {}[{}];\n", type, buffer_name(cx, id), buffer.elems);
  std::string text;
  for (std::int64_t i = 0; i < buffer.elems; ++i)
    text += fmt::format("  {} {};\n", type, register_name(cx, id, i));
  return text;
}

std::string declare_local(const CContext &cx, BufferId id) {
  const kernel::Buffer &buffer = cx.kernel[id];
  const std::string name = buffer_name(cx, id);
  const std::string elem = cx.dialect.memory_elem(buffer.type.elem);
  const std::string held = cx.dialect.array_elem(buffer.type.elem);
  if (held == elem && cx.kernel.block_size > 1 && !cx.dialect.aligned.empty())
    return fmt::format("  {}{} {}[{}]{};\n", cx.scratch_array(), elem, name, buffer.elems,
                       fmt::format(fmt::runtime(cx.dialect.aligned), kAlignedBytes));
  if (held == elem)
    return fmt::format("  {}{} {}[{}];\n", cx.scratch_array(), elem, name, buffer.elems);
  return fmt::format("  {0}{1} {2}_bits[{3}];\n  {4}{5}* {2} = ({4}{5}*){2}_bits;\n",
                     cx.scratch_array(), held, name, buffer.elems, cx.scratch_space(), elem);
}

std::int64_t local_align(const Kernel &kernel) {
  return kernel.maps.empty() ? kLocalAlign : kBoxAlign;
}

// Where each local buffer lies when they share one array; its size at the end.
std::vector<std::int64_t> local_offsets(const Kernel &kernel) {
  const std::int64_t align = local_align(kernel);
  std::vector<std::int64_t> offsets{0};
  for (const kernel::Buffer &buffer : kernel.buffers) {
    const bool is_local = buffer.space == Space::Local;
    const std::int64_t bytes = is_local ? buffer.elems * size_bytes(buffer.type.elem) : 0;
    offsets.push_back(offsets.back() + (bytes + align - 1) / align * align);
  }
  return offsets;
}

// Bytes of the block's memory that the launch gives; 0: the text declares what there is.
std::int64_t sized_local_bytes(const Kernel &kernel, const Dialect &dialect) {
  const std::int64_t bytes = local_offsets(kernel).back();
  const bool is_sized = bytes > dialect.local_limit || !kernel.maps.empty();
  return !dialect.sized_local.empty() && is_sized ? bytes : 0;
}

std::string declare_sized_local(const CContext &cx) {
  std::string text = fmt::format(
      "  {}\n", fmt::format(fmt::runtime(cx.dialect.sized_local), local_align(cx.kernel)));
  const std::vector<std::int64_t> offsets = local_offsets(cx.kernel);
  for (std::size_t i = 0; i < cx.kernel.buffers.size(); ++i) {
    const kernel::Buffer &buffer = cx.kernel.buffers[i];
    const std::string elem = cx.dialect.memory_elem(buffer.type.elem);
    if (buffer.space == Space::Local)
      text += fmt::format("  {0}* {1} = ({0}*)(tf_local + {2});\n", elem,
                          buffer_name(cx, BufferId{static_cast<int>(i)}), offsets[i]);
  }
  return text;
}

struct Parts {
  std::string parameters;      // of the entry point
  std::string arguments;       // handed on to an outlined body
  std::string body_parameters; // with the local buffers
  std::string locals;          // declarations
  std::string registers;
};

// A global buffer comes as the memory it lies in and a byte offset.
void declare_argument(const CContext &cx, BufferId id, const std::string &declaration,
                      Parts &parts) {
  const std::string pointer = pointer_type(cx, cx.kernel[id]);
  parts.parameters +=
      fmt::format("{}{}{}{}* m{}, const {} o{}", parts.parameters.empty() ? "" : ", ",
                  cx.dialect.global_space, cx.kernel[id].written ? "" : "const ",
                  cx.dialect.byte_type, to_int(id), cx.dialect.offset_type, to_int(id));
  parts.locals +=
      fmt::format("  {} = ({})(m{} + o{});\n", declaration, pointer, to_int(id), to_int(id));
}

Parts declare(CContext &cx) {
  Parts parts;
  const bool is_sized = sized_local_bytes(cx.kernel, cx.dialect) > 0;
  if (is_sized)
    parts.locals += declare_sized_local(cx);
  parts.body_parameters = fmt::format("const {} block", cx.index_type());
  parts.arguments = fmt::format("({}){}", cx.index_type(), cx.dialect.block_index);
  for (std::size_t i = 0; i < cx.kernel.buffers.size(); ++i) {
    const BufferId id{static_cast<int>(i)};
    const kernel::Buffer &buffer = cx.kernel[id];
    const std::string name = buffer_name(cx, id);
    if (buffer.space == Space::Register) {
      parts.registers += declare_registers(cx, id);
      continue;
    }
    const std::string parameter =
        fmt::format("{} {} {}", pointer_type(cx, buffer), cx.dialect.restrict_word, name);
    parts.body_parameters += ", " + parameter;
    parts.arguments += ", " + name;
    if (buffer.space == Space::Local && is_sized)
      continue;
    if (buffer.space == Space::Local)
      parts.locals += declare_local(cx, id);
    else
      declare_argument(cx, id, parameter, parts);
  }
  parts.parameters += map_parameters(cx);
  return parts;
}

// Kernels that do nothing ahead of earlier ones let later ones start while they wait.
std::string begin_text(const CContext &cx) {
  if (cx.dialect.await_earlier.empty() || awaits_earlier(cx.kernel))
    return {};
  return fmt::format("  {}\n  {}\n", cx.dialect.let_later, cx.dialect.await_earlier);
}

std::string print_functions(CContext &cx, const std::string &symbol, bool outline,
                            const std::string &statements) {
  const Parts parts = declare(cx);
  const std::string entry =
      fmt::format(fmt::runtime(cx.dialect.entry), cx.kernel.block_size) + cluster_attribute(cx);
  const std::string head = fmt::format("{} {}({}) {{\n", entry, symbol, parts.parameters);
  if (outline)
    return fmt::format("{} void {}_body({}) {{\n{}{}}}\n\n{}{}  {}_body({});\n}}\n",
                       cx.dialect.outlined, symbol, parts.body_parameters, parts.registers,
                       statements, head, parts.locals, symbol, parts.arguments);
  std::string indices =
      fmt::format("  const {0} block = ({0}){1};\n", cx.index_type(), cx.dialect.block_index);
  if (cx.kernel.block_size > 1)
    indices +=
        fmt::format("  const {0} lane = ({0}){1};\n", cx.index_type(), cx.dialect.lane_index);
  return head + begin_text(cx) + parts.locals + indices + fetch_maps_text(cx) + parts.registers +
         statements + "}\n";
}

std::string print_c_like(const Kernel &kernel, const std::string &symbol, const Dialect &dialect,
                         const CLikeOptions &options) {
  TILEFUSE_CHECK(kernel.body != nullptr, "a kernel without a body");
  TILEFUSE_CHECK(!options.outline_body || kernel.block_size == 1,
                 "only a block of one work-item is outlined");
  CContext cx{kernel, dialect};
  cx.wide = needs_wide(kernel);
  cx.vector_target = options.outline_body;
  cx.split = split_registers(kernel);
  cx.words = fragment_buffers(kernel);
  cx.divisors = variable_divisors(kernel);
  StatementPrinter printer(cx);
  printer.statement(kernel.body);
  const std::string functions = print_functions(cx, symbol, options.outline_body, printer.take());
  std::string text(dialect.prologue);
  if (uses_fp64(kernel))
    text += dialect.fp64_prologue;
  if (!kernel.maps.empty())
    text += dialect.tensor_prologue;
  for (const auto &[name, definition] : cx.helpers)
    text += fmt::format("#ifndef {0}_defined\n#define {0}_defined\n{1}#endif\n", name, definition);
  return text + functions;
}

Argument argument_of(const kernel::Buffer &buffer) {
  const std::int64_t size = size_bytes(buffer.type.elem);
  if (buffer.elems < 0 || buffer.elems > std::numeric_limits<std::int64_t>::max() / size)
    throw Error(ErrorCode::Limit, fmt::format("a buffer of {} elements of {} bytes is too large",
                                              buffer.elems, size));
  return {.bytes = buffer.elems * size, .written = buffer.written};
}

} // namespace

Package c_like_package(const Kernel &kernel, const Target &target, const Dialect &dialect,
                       const CLikeOptions &options) {
  if (kernel.block_size < 1 || kernel.block_size > target.max_group)
    throw Error(ErrorCode::Limit,
                fmt::format("kernel '{}' has {} work-items per group, {} allows {}", kernel.name,
                            kernel.block_size, target.name, target.max_group));
  if (!target.fp64 && uses_fp64(kernel))
    throw Error(ErrorCode::Unsupported,
                "the kernel computes in f64, which the device does not have");
  Package package;
  package.name = kernel.name;
  package.symbol = symbol_for(kernel.name);
  package.code = print_c_like(kernel, package.symbol, dialect, options);
  package.blocks = kernel.blocks;
  package.block_size = kernel.block_size;
  package.scratch_bytes = sized_local_bytes(kernel, dialect);
  for (const kernel::Buffer &buffer : kernel.buffers)
    if (buffer.counts)
      package.counts += buffer.elems;
    else if (buffer.space == Space::Global)
      package.args.push_back(argument_of(buffer));
  for (const kernel::TensorMap &map : kernel.maps)
    package.maps.push_back(view_of(kernel, map));
  package.flops = kernel.flops;
  package.bytes = kernel.bytes;
  return package;
}

} // namespace tilefuse::emit
