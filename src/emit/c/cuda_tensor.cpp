// SPDX-License-Identifier: Apache-2.0
#include "emit/c/cuda_tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "emit/c/cuda_matrix.h"

namespace tilefuse::emit {
namespace {

constexpr int kTurnedStep = 64; // 16-byte units: from 8 rows of k to the next 8

std::string mbarrier(const MbarrierText &node) {
  const std::string_view order = node.for_cluster ? "_cluster" : "";
  switch (node.op) {
  case kernel::MbarrierOp::Init:
    return fmt::format("tf_mbarrier_init(tf_shared({}), {});", node.at, node.value);
  case kernel::MbarrierOp::Arrive:
    if (!node.rank.empty())
      return fmt::format("tf_mbarrier_arrive_at{}(tf_shared({}), {});", order, node.at, node.rank);
    return fmt::format("tf_mbarrier_arrive{}(tf_shared({}));", order, node.at);
  case kernel::MbarrierOp::Expect:
    return fmt::format("tf_mbarrier_expect(tf_shared({}), {});", node.at, node.value);
  case kernel::MbarrierOp::Wait:
    return fmt::format("tf_mbarrier_wait{}(tf_shared({}), {});", order, node.at, node.value);
  }
  internal_error("an mbarrier without a text", __FILE__, __LINE__);
}

std::string copy(const TensorCopyText &node) {
  std::size_t next = 3;
  std::string coordinates;
  std::string inputs;
  for (const std::string &value : node.at) {
    coordinates += fmt::format("{}%{}", coordinates.empty() ? "" : ", ", next++);
    inputs += fmt::format(", \"r\"({})", value);
  }
  std::string shifts;
  for (const std::string &value : node.offsets) {
    shifts += fmt::format("{}%{}", shifts.empty() ? "" : ", ", next++);
    inputs += fmt::format(", \"h\"((ushort)({}))", value);
  }
  if (!shifts.empty())
    shifts = ", {" + shifts + "}";
  std::string mask;
  if (!node.ranks.empty()) {
    mask = fmt::format(", %{}", next);
    inputs += fmt::format(", \"h\"((ushort)({}))", node.ranks);
  }
  const std::string text =
      fmt::format("cp.async.bulk.tensor.{}d.shared::cluster.global.{}.mbarrier::complete_tx::bytes"
                  "{} [%0], [%1, {{{}}}], [%2]{}{};",
                  node.at.size(), node.offsets.empty() ? "tile" : "im2col",
                  mask.empty() ? "" : ".multicast::cluster", coordinates, shifts, mask);
  return fmt::format(
      "asm volatile(\"{}\" :: \"r\"(tf_shared({})), \"l\"(&{}), \"r\"(tf_shared({})){} : "
      "\"memory\");",
      text, node.to, node.map, node.signals, inputs);
}

std::string store(const std::string &map, bool is_im2col, const std::vector<std::string> &at,
                  const std::string &from) {
  std::string coordinates;
  std::string inputs;
  for (std::size_t i = 0; i < at.size(); ++i) {
    coordinates += fmt::format("{}%{}", i == 0 ? "" : ", ", i + 2);
    inputs += fmt::format(", \"r\"({})", at[i]);
  }
  return fmt::format("asm volatile(\"cp.async.bulk.tensor.{}d.global.shared::cta.{}.bulk_group "
                     "[%0, {{{}}}], [%1];\" :: \"l\"(&{}), \"r\"(tf_shared({})){} : \"memory\");",
                     at.size(), is_im2col ? "im2col_no_offs" : "tile", coordinates, map, from,
                     inputs);
}

std::string store_sync(const kernel::StoreSync &node) {
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

// `apart` bytes from 8 rows to the next, 0: no gap. The swizzle is that of the address in local
// memory, wherever the operand starts.
std::string descriptor(const std::string &pointer, int row_bytes, std::int64_t panel_bytes,
                       std::int64_t apart) {
  const int mode = row_bytes == 128 ? 1 : row_bytes == 64 ? 2 : 3;
  const std::int64_t straight = (apart == 0 ? 8 * row_bytes : apart) / 16;
  const std::int64_t step = panel_bytes == 0 ? straight : kTurnedStep;
  return fmt::format("tf_matrix(tf_shared({}), {}, {}, {})", pointer,
                     panel_bytes == 0 ? 1 : panel_bytes / 16, step, mode);
}

// The instruction takes pairs of columns, 8 rows down, then 8 columns on; the table of core
// instructions has a row's values first.
std::size_t register_at(std::size_t i, std::size_t count) {
  return i % 2 + i / 4 * 2 + (i / 2 % 2) * (count / 2);
}

std::string wgmma(const WgmmaText &node) {
  const CoreOp &op = node.op;
  const bool is_real = op.d.type == DType::F32;
  const std::size_t count = node.acc.size();
  std::string registers;
  std::string outputs;
  for (std::size_t i = 0; i < count; ++i) {
    registers += fmt::format("{}%{}", i == 0 ? "" : ", ", i);
    outputs += fmt::format("{}\"{}\"({})", i == 0 ? "" : ", ", is_real ? "+f" : "+r",
                           node.acc[register_at(i, count)]);
  }
  std::string flags = is_real ? ", 1, 1" : "";
  if (size_bytes(op.a.type) == 2)
    flags +=
        fmt::format(", {}, {}", node.a_panel_bytes != 0 ? 1 : 0, node.b_panel_bytes != 0 ? 1 : 0);
  const std::string type = ptx_type(op, op.a.type);
  const std::string text = fmt::format(
      "{{ .reg .pred p; setp.ne.b32 p, %{}, 0; wgmma.mma_async.sync.aligned.m{}n{}k{}.{}.{}.{} "
      "{{{}}}, %{}, %{}, p{}; }}",
      count + 2, op.m, op.n, op.k, is_real ? "f32" : "s32", type, type, registers, count, count + 1,
      flags);
  return fmt::format("asm volatile(\"{}\" : {} : \"l\"({}), \"l\"({}), \"r\"((int)({})));", text,
                     outputs,
                     descriptor(node.a, node.a_row_bytes, node.a_panel_bytes, node.a_lines_bytes),
                     descriptor(node.b, node.b_row_bytes, node.b_panel_bytes, node.b_lines_bytes),
                     node.accumulate);
}

// ptxas 13.0 moves instructions that read the sums in front of a wait for all groups where a wait
// for all but one came before it. They do not pass the end of a basic block: an exit that no launch
// takes, since grids have one dimension.
constexpr const char *kWaitForAll = "asm volatile(\"{ .reg .pred p; wgmma.wait_group.sync.aligned "
                                    "0; setp.ne.u32 p, %0, 1; @p exit; }\" "
                                    ":: \"r\"(gridDim.y) : \"memory\");";

std::string wgmma_sync(const kernel::WgmmaSync &node) {
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

std::string register_limit(const kernel::RegisterLimit &node) {
  return fmt::format("asm volatile(\"setmaxnreg.{}.sync.aligned.u32 {};\");",
                     node.more ? "inc" : "dec", node.count);
}

} // namespace

const TensorDialect kCudaTensor = {
    .map_type = "const __grid_constant__ tf_map",
    .cluster = "__cluster_dims__({}, 1, 1)",
    .cluster_barrier = "tf_cluster_barrier();",
    .fetch_map = "tf_fetch_map(&{});",
    .of_rank = "tf_of_rank({}, {})",
    .mbarrier = mbarrier,
    .copy = copy,
    .store = store,
    .store_sync = store_sync,
    .wgmma = wgmma,
    .wgmma_sync = wgmma_sync,
    .register_limit = register_limit,
};

} // namespace tilefuse::emit
