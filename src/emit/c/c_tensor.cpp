// SPDX-License-Identifier: Apache-2.0
// Tensor copies, mbarriers and wgmma as statements, and tensor maps as parameters and data.
#include "emit/c/c_tensor.h"

#include <fmt/format.h>

#include "base/error.h"
#include "emit/c/c_context.h"
#include "emit/c/c_expr.h"
#include "emit/c/c_matrix.h"
#include "emit/c/c_names.h"
#include "kernel/build.h"

namespace tilefuse::emit {
namespace {

const TensorDialect &tensor_of(const CContext &cx) {
  if (cx.dialect.tensor == nullptr)
    throw Error(
        ErrorCode::Unsupported,
        fmt::format("a tensor copy, mbarrier or wgmma cannot be written in {}", cx.dialect.name));
  return *cx.dialect.tensor;
}

std::string pointer(CContext &cx, const kernel::LocalRef &ref) {
  return fmt::format("{} + ({})", buffer_name(cx, ref.buffer), bare(expression(cx, ref.index)));
}

std::vector<std::string> texts(CContext &cx, const std::vector<kernel::ExprRef> &list) {
  std::vector<std::string> all;
  for (const kernel::ExprRef e : list)
    all.push_back(bare(expression(cx, e)));
  return all;
}

std::string map_name(kernel::MapId id) { return fmt::format("t{}", to_int(id)); }

} // namespace

std::string map_parameters(const CContext &cx) {
  std::string text;
  for (std::size_t i = 0; i < cx.kernel.maps.size(); ++i)
    text += fmt::format(", {} {}", tensor_of(cx).map_type,
                        map_name(kernel::MapId{static_cast<int>(i)}));
  return text;
}

std::string fetch_maps_text(const CContext &cx) {
  std::string text;
  for (std::size_t i = 0; i < cx.kernel.maps.size(); ++i)
    text += " " + fmt::format(fmt::runtime(tensor_of(cx).fetch_map),
                              map_name(kernel::MapId{static_cast<int>(i)}));
  return text.empty() ? text : fmt::format("  if (lane == 0) {{{} }}\n", text);
}

std::string cluster_attribute(const CContext &cx) {
  return cx.kernel.cluster == 1
             ? std::string()
             : " " + fmt::format(fmt::runtime(tensor_of(cx).cluster), cx.kernel.cluster);
}

std::string cluster_barrier_text(const CContext &cx) {
  return std::string(tensor_of(cx).cluster_barrier);
}

std::string mbarrier_text(CContext &cx, const kernel::Mbarrier &node) {
  return tensor_of(cx).mbarrier(
      {.op = node.op,
       .at = pointer(cx, node.at),
       .value = node.value == nullptr ? "" : bare(expression(cx, node.value)),
       .rank = node.rank == nullptr ? "" : bare(expression(cx, node.rank)),
       .for_cluster = node.for_cluster});
}

std::string pointer_of_rank(CContext &cx, const std::string &pointer, kernel::ExprRef rank) {
  return fmt::format(fmt::runtime(tensor_of(cx).of_rank), pointer, bare(expression(cx, rank)));
}

std::string tensor_copy_text(CContext &cx, const kernel::TensorCopy &node) {
  return tensor_of(cx).copy(
      {.map = map_name(node.map),
       .to = pointer(cx, node.to),
       .at = texts(cx, node.at),
       .offsets = texts(cx, node.offsets),
       .signals = pointer(cx, node.signals),
       .ranks = node.ranks == nullptr ? "" : bare(expression(cx, node.ranks))});
}

std::string tensor_store_text(CContext &cx, const kernel::TensorStore &node) {
  return tensor_of(cx).store(map_name(node.map), cx.kernel[node.map].is_im2col(),
                             texts(cx, node.at), pointer(cx, node.from));
}

std::string store_sync_text(const CContext &cx, const kernel::StoreSync &node) {
  return tensor_of(cx).store_sync(node);
}

std::string wgmma_text(CContext &cx, const kernel::Wgmma &node) {
  const std::int64_t size = size_bytes(node.op->a.type);
  WgmmaText text{.op = *node.op,
                 .acc = accumulator_names(cx, node.acc, node.op->d),
                 .a = pointer(cx, node.a),
                 .b = pointer(cx, node.b),
                 .a_row_bytes = node.a_row_bytes,
                 .b_row_bytes = node.b_row_bytes,
                 .a_panel_bytes = node.a_panel * size,
                 .b_panel_bytes = node.b_panel * size,
                 .a_lines_bytes = node.a_lines * size,
                 .b_lines_bytes = node.b_lines * size,
                 .accumulate = "1"};
  if (node.accumulate != nullptr)
    text.accumulate = expression(cx, node.accumulate);
  return tensor_of(cx).wgmma(text);
}

std::string wgmma_sync_text(const CContext &cx, const kernel::WgmmaSync &node) {
  return tensor_of(cx).wgmma_sync(node);
}

std::string register_limit_text(const CContext &cx, const kernel::RegisterLimit &node) {
  return tensor_of(cx).register_limit(node);
}

TensorView view_of(const kernel::Kernel &kernel, const kernel::TensorMap &map) {
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

} // namespace tilefuse::emit
