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
#include "emit/c/c_words.h"
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
    if (cx_.words_of[at(node.var)])
      return line(cx_.language.load_words(cx_, node));
    line(cx_.language.let(value_type(cx_, cx_.kernel[node.var].type), variable_name(node.var),
                          bare(expression(cx_, node.value))));
  }
  void operator()(const kernel::For &node) {
    body(cx_.language.loop({.type = value_type(cx_, cx_.kernel[node.var].type),
                            .name = variable_name(node.var),
                            .begin = bare(expression(cx_, node.begin)),
                            .end = expression(cx_, node.end),
                            .step = integer_literal(cx_, node.step),
                            .is_down = node.step < 0}),
         node.body);
  }
  void operator()(const kernel::If &node) {
    body(fmt::format("if ({}) {{", bare(expression(cx_, node.condition))), node.then_body);
    if (node.else_body != nullptr)
      body("else {", node.else_body);
  }
  void operator()(const kernel::Store &node) { line(store_text(cx_, node)); }
  void operator()(const kernel::Barrier &node) {
    const std::string text = cx_.language.barrier(cx_, node);
    if (cx_.kernel.block_size > 1 || node.is_of_cluster())
      line(text);
  }
  void operator()(const kernel::Prefetch &node) {
    const kernel::Buffer &buffer = cx_.kernel[node.buffer];
    if (buffer.space != Space::Global || is_half(buffer.type.elem))
      return;
    const std::string text = cx_.language.prefetch(
        offset(buffer_name(cx_, node.buffer), bare(expression(cx_, node.index))));
    if (!text.empty())
      line(text);
  }
  void operator()(const kernel::Intrinsic &node) {
    for (const std::string &text : cx_.language.intrinsic(cx_, node))
      line(text);
  }

private:
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

std::string print_c_like(const Kernel &kernel, const Target &target, const CEmitter &language,
                         const ProgramText &shell) {
  TILEFUSE_CHECK(kernel.body != nullptr, "a kernel without a body");
  TILEFUSE_CHECK(!shell.outlined || kernel.block_size == 1,
                 "only a block of one work-item is outlined");
  CContext cx{kernel, target, language};
  cx.wide = needs_wide(kernel);
  cx.vector_target = shell.outlined;
  cx.split = split_registers(kernel);
  cx.fragments = fragment_buffers(kernel);
  cx.divisors = variable_divisors(kernel);
  cx.words_of = word_variables(cx);
  StatementPrinter printer(cx);
  printer.statement(kernel.body);
  ProgramText text = shell;
  text.statements = printer.take();
  return language.unit(cx, text);
}

TensorView view_of(const Kernel &kernel, const kernel::TensorMap &map) {
  const DType type = kernel[map.tensor].type.elem;
  const std::int64_t size = size_bytes(type);
  TensorView view{.argument = to_int(map.tensor), .type = type, .offset = map.offset * size};
  view.dims = map.dims;
  for (std::size_t i = 1; i < map.strides.size(); ++i)
    view.strides.push_back(map.strides[i] * size);
  view.box = map.box;
  view.lower = map.lower;
  view.upper = map.upper;
  view.steps = map.steps;
  view.swizzle = map.swizzle;
  return view;
}

Argument argument_of(const kernel::Buffer &buffer) {
  const std::int64_t size = size_bytes(buffer.type.elem);
  if (buffer.elems < 0 || buffer.elems > std::numeric_limits<std::int64_t>::max() / size)
    throw Error(ErrorCode::Limit, fmt::format("a buffer of {} elements of {} bytes is too large",
                                              buffer.elems, size));
  return {.bytes = buffer.elems * size, .written = buffer.written};
}

} // namespace

bool uses_fp64(const Kernel &kernel) {
  bool uses = false;
  for (const kernel::Buffer &buffer : kernel.buffers)
    uses |= buffer.type.elem == DType::F64;
  kernel::for_each_expr(kernel.body,
                        [&](kernel::ExprRef expr) { uses |= expr->type.elem == DType::F64; });
  return uses;
}

Package c_like_package(const Kernel &kernel, const Target &target, const CEmitter &language,
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
  package.code = print_c_like(kernel, target, language,
                              {.symbol = package.symbol, .outlined = options.outline_body});
  package.blocks = kernel.blocks;
  package.block_size = kernel.block_size;
  package.scratch_bytes = language.launch_bytes(kernel);
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
