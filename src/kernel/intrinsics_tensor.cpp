// SPDX-License-Identifier: Apache-2.0
// Intrinsics of tensor copies, mbarriers and wgmma. Limits are those of TMA and of sm_90 registers.
#include <algorithm>

#include <fmt/format.h>

#include "base/words.h"
#include "kernel/build.h"
#include "kernel/intrinsics.h"
#include "kernel/rules.h"

namespace tilefuse::kernel {
namespace {

constexpr std::int64_t kChunkBytes = 16;
constexpr std::int64_t kSwizzleRows = 8;
constexpr int kMaxPending = 7;
constexpr int kLeastRegisters = 24;
constexpr int kMostRegisters = 240;
constexpr std::int64_t kMostLines = (1 << 18) - kChunkBytes; // bytes that a descriptor holds
constexpr std::int64_t kMaxArrivals = (1 << 20) - 1;
constexpr std::int64_t kMaxDistance = std::int64_t{1} << 40; // elements, in the text

constexpr auto kMbarrierOps = words<MbarrierOp>({{MbarrierOp::Init, "mbarrier_init"},
                                                 {MbarrierOp::Arrive, "mbarrier_arrive"},
                                                 {MbarrierOp::Expect, "mbarrier_expect"},
                                                 {MbarrierOp::Wait, "mbarrier_wait"}});
constexpr auto kStoreSteps = words<StoreStep>({{StoreStep::Fence, "store_fence"},
                                               {StoreStep::Commit, "store_commit"},
                                               {StoreStep::Wait, "store_wait"}});
constexpr auto kWgmmaSteps = words<WgmmaStep>({{WgmmaStep::Fence, "wgmma_fence"},
                                               {WgmmaStep::Commit, "wgmma_commit"},
                                               {WgmmaStep::Wait, "wgmma_wait"}});

bool is_within(std::int64_t value, std::int64_t low, std::int64_t high) {
  return value >= low && value <= high;
}

bool are_ints(const std::vector<ExprRef> &list) {
  return std::all_of(list.begin(), list.end(), [](ExprRef e) { return e->type == kInt; });
}

Operands mbarrier_operands(Mbarrier &mbarrier) {
  Operands list = {{.at = element_of(mbarrier.at), .effect = Effect::Updates}};
  if (mbarrier.op != MbarrierOp::Arrive)
    list.push_back({.at = ExprOperand{&mbarrier.value}, .what = "the value of an mbarrier"});
  list.push_back({.at = ExprOperand{&mbarrier.rank},
                  .word = "rank",
                  .what = "the rank of a block",
                  .may_lack = true});
  list.push_back({.at = &mbarrier.for_cluster, .word = "cluster", .may_lack = true});
  return list;
}

std::string mbarrier_rule(const Kernel &kernel, const Mbarrier &mbarrier) {
  if (std::string broken = local_rule(kernel, mbarrier.at, DType::I64, "mbarrier"); !broken.empty())
    return broken;
  const bool has_value = mbarrier.value != nullptr;
  if (has_value != (mbarrier.op != MbarrierOp::Arrive) ||
      (has_value && mbarrier.value->type != kInt))
    return "mbarrier needs an i32 value, and none to arrive";
  std::int64_t count = 0;
  if (mbarrier.op == MbarrierOp::Init &&
      (!is_constant(mbarrier.value, &count) || !is_within(count, 1, kMaxArrivals)))
    return fmt::format("mbarrier_init needs a constant of 1 to {} arrivals", kMaxArrivals);
  if (mbarrier.for_cluster && (kernel.cluster < 2 || (mbarrier.op != MbarrierOp::Arrive &&
                                                      mbarrier.op != MbarrierOp::Wait)))
    return "only an arrival and a wait order what blocks of a cluster do";
  if (mbarrier.rank == nullptr)
    return {};
  return mbarrier.op == MbarrierOp::Arrive
             ? cluster_rule(kernel, mbarrier.rank, 0, kernel.cluster - 1, "the rank of an mbarrier")
             : "a rank of a block is for arriving at its mbarrier";
}

Operands tensor_copy_operands(TensorCopy &copy) {
  return {
      {.at = element_of(copy.to), .effect = Effect::Writes},
      {.at = &copy.map, .word = "=", .effect = Effect::Reads, .counted = AccessKind::AsyncRead},
      {.at = ListOperand{&copy.at}, .what = "a coordinate"},
      {.at = ListOperand{&copy.offsets}, .word = "offsets", .what = "an offset", .may_lack = true},
      {.at = element_of(copy.signals), .word = "signals", .effect = Effect::Updates},
      {.at = ExprOperand{&copy.ranks},
       .word = "ranks",
       .what = "the ranks of blocks",
       .may_lack = true}};
}

std::string tensor_copy_rule(const Kernel &kernel, const TensorCopy &copy) {
  if (to_int(copy.map) < 0 || static_cast<std::size_t>(to_int(copy.map)) >= kernel.maps.size())
    return "tensor_copy of a map that is not there";
  const TensorMap &map = kernel[copy.map];
  for (const std::string &broken :
       {local_rule(kernel, copy.to, kernel[map.tensor].type.elem, "tensor_copy"),
        local_rule(kernel, copy.signals, DType::I64, "tensor_copy")})
    if (!broken.empty())
      return broken;
  const std::size_t offsets = map.is_im2col() ? map.dims.size() - 2 : 0;
  if (copy.at.size() != map.dims.size() || copy.offsets.size() != offsets || !are_ints(copy.at) ||
      !are_ints(copy.offsets))
    return fmt::format("tensor_copy of {} needs {} coordinates and {} offsets of i32", map.name,
                       map.dims.size(), offsets);
  if (copy.ranks == nullptr)
    return {};
  const std::int64_t all = (std::int64_t{1} << kernel.cluster) - 1;
  return cluster_rule(kernel, copy.ranks, 1, all, "the mask of ranks of a tensor_copy");
}

Operands tensor_store_operands(TensorStore &store) {
  return {{.at = &store.map, .effect = Effect::Writes, .counted = AccessKind::Store},
          {.at = ListOperand{&store.at}, .what = "a coordinate"},
          {.at = element_of(store.from), .word = "=", .effect = Effect::Reads}};
}

std::string tensor_store_rule(const Kernel &kernel, const TensorStore &store) {
  if (to_int(store.map) < 0 || static_cast<std::size_t>(to_int(store.map)) >= kernel.maps.size())
    return "tensor_store to a map that is not there";
  const TensorMap &map = kernel[store.map];
  if (!kernel[map.tensor].written)
    return fmt::format("tensor_store needs a map of a buffer that is written; got {}", map.name);
  if (std::string broken =
          local_rule(kernel, store.from, kernel[map.tensor].type.elem, "tensor_store");
      !broken.empty())
    return broken;
  return store.at.size() == map.dims.size() && are_ints(store.at)
             ? std::string()
             : fmt::format("tensor_store to {} needs {} coordinates of i32", map.name,
                           map.dims.size());
}

// Of a step that waits.
Operands pending_operand(bool is_wait, int &pending) {
  if (!is_wait)
    return {};
  return {{.at = NumberOperand{&pending, 0, kMaxPending}, .what = "groups under way"}};
}

Operands store_sync_operands(StoreSync &sync) {
  return pending_operand(sync.step == StoreStep::Wait, sync.pending);
}

std::string store_sync_rule(const Kernel &, const StoreSync &sync) {
  return is_within(sync.pending, 0, kMaxPending)
             ? std::string()
             : fmt::format("store_wait needs 0 to {} groups; got {}", kMaxPending, sync.pending);
}

// One of the instructions of the table.
std::vector<Wgmma> wgmma_forms() {
  std::vector<Wgmma> forms;
  for (const CoreOp &op : core_ops())
    forms.push_back({.op = &op});
  return forms;
}

std::string wgmma_word(const Wgmma &wgmma) { return fmt::format("wgmma.{}", wgmma.op->name); }

Operands wgmma_operands(Wgmma &wgmma) {
  static const CoreOp none;
  const CoreOp &op = wgmma.op == nullptr ? none : *wgmma.op;
  const auto distance = [](std::int64_t &elems, std::string_view word, std::string_view what) {
    return Operand{
        .at = NumberOperand{&elems, 1, kMaxDistance}, .word = word, .what = what, .may_lack = true};
  };
  return {
      {.at = element_of(wgmma.acc, op.d.bytes()), .effect = Effect::Updates},
      {.at = element_of(wgmma.a, op.a.bytes()),
       .word = "+=",
       .effect = Effect::Reads,
       .counted = AccessKind::LoadMatrix},
      {.at = element_of(wgmma.b),
       .word = "*",
       .effect = Effect::Reads,
       .counted = AccessKind::LoadMatrix},
      {.at = NumberOperand{&wgmma.a_row_bytes, 32, 128}, .word = "rows", .what = "bytes of a row"},
      {.at = NumberOperand{&wgmma.b_row_bytes, 32, 128, &wgmma.a_row_bytes},
       .what = "bytes of a row",
       .may_lack = true},
      distance(wgmma.a_panel, "a_panel", "a panel"),
      distance(wgmma.b_panel, "b_panel", "a panel"),
      distance(wgmma.a_lines, "a_lines", "lines"),
      distance(wgmma.b_lines, "b_lines", "lines"),
      {.at = ExprOperand{&wgmma.accumulate, false}, .word = "when", .may_lack = true}};
}

// How an operand of wgmma of elements of `size` bytes lies.
std::string laid_rule(int row_bytes, std::int64_t panel, std::int64_t lines, std::int64_t size) {
  if (row_bytes != 32 && row_bytes != 64 && row_bytes != 128)
    return fmt::format("wgmma needs rows of 32, 64 or 128 bytes; got {}", row_bytes);
  if (panel < 0 || (panel != 0 && size != 2))
    return "a turned operand of wgmma needs a type of 2 bytes";
  const bool are_apart = is_within(lines * size, kSwizzleRows * row_bytes, kMostLines) &&
                         lines * size % row_bytes == 0;
  return lines == 0 || (panel == 0 && are_apart)
             ? std::string()
             : fmt::format("lines of wgmma are whole rows, {} to {} bytes apart; got {} elements",
                           kSwizzleRows * row_bytes, kMostLines, lines);
}

// Of a's place: a fragment in registers, or local memory.
std::string a_rule(const Kernel &kernel, const Wgmma &wgmma) {
  const Fragment &a = wgmma.op->a;
  const std::optional<RegisterRef> fragment = fragment_of(kernel, wgmma);
  if (!fragment)
    return local_rule(kernel, wgmma.a, a.type, "wgmma");
  if (wgmma.a_panel != 0 || wgmma.a_lines != 0)
    return "a fragment has neither panels nor lines";
  return register_rule(kernel, *fragment, {a.type, a.values()});
}

std::string wgmma_rule(const Kernel &kernel, const Wgmma &wgmma) {
  if (wgmma.op == nullptr || !is_wgmma(*wgmma.op))
    return "wgmma needs a row of the table of core instructions of four warps";
  const CoreOp &op = *wgmma.op;
  for (const std::string &broken :
       {register_rule(kernel, wgmma.acc, {op.d.type, op.d.values()}), a_rule(kernel, wgmma),
        local_rule(kernel, wgmma.b, op.b.type, "wgmma")})
    if (!broken.empty())
      return fmt::format("wgmma.{}: {}", op.name, broken);
  for (const std::string &broken :
       {laid_rule(wgmma.a_row_bytes, wgmma.a_panel, wgmma.a_lines, size_bytes(op.a.type)),
        laid_rule(wgmma.b_row_bytes, wgmma.b_panel, wgmma.b_lines, size_bytes(op.b.type))})
    if (!broken.empty())
      return broken;
  if (wgmma.accumulate != nullptr && wgmma.accumulate->type != Type{DType::Bool, 1})
    return "wgmma accumulates under one bool";
  return {};
}

void fold_wgmma(Wgmma &wgmma) {
  std::int64_t accumulates = 0;
  if (wgmma.accumulate != nullptr && is_constant(wgmma.accumulate, &accumulates) &&
      accumulates != 0)
    wgmma.accumulate = nullptr;
}

Operands wgmma_sync_operands(WgmmaSync &sync) {
  return pending_operand(sync.step == WgmmaStep::Wait, sync.pending);
}

std::string wgmma_sync_rule(const Kernel &, const WgmmaSync &sync) {
  return is_within(sync.pending, 0, kMaxPending)
             ? std::string()
             : fmt::format("wgmma_wait needs 0 to {} groups; got {}", kMaxPending, sync.pending);
}

std::string register_limit_word(const RegisterLimit &limit) {
  return limit.more ? "registers_more" : "registers_less";
}

Operands register_limit_operands(RegisterLimit &limit) {
  return {
      {.at = NumberOperand{&limit.count, kLeastRegisters, kMostRegisters}, .what = "registers"}};
}

std::string register_limit_rule(const Kernel &, const RegisterLimit &limit) {
  return is_within(limit.count, kLeastRegisters, kMostRegisters) && limit.count % 8 == 0
             ? std::string()
             : fmt::format("registers_{} needs a multiple of 8 from {} to {}; got {}",
                           limit.more ? "more" : "less", kLeastRegisters, kMostRegisters,
                           limit.count);
}

} // namespace

std::vector<IntrinsicRow> tensor_intrinsics() {
  return {
      RowOf<Mbarrier>{
          .name = "mbarrier_",
          .called = "mbarrier",
          .forms = {{.op = MbarrierOp::Init},
                    {.op = MbarrierOp::Arrive},
                    {.op = MbarrierOp::Expect},
                    {.op = MbarrierOp::Wait}},
          .word = [](const Mbarrier &node) { return std::string(kMbarrierOps[node.op]); },
          .operands = mbarrier_operands,
          .rule = mbarrier_rule,
      },
      RowOf<TensorCopy>{
          .name = "tensor_copy",
          .called = "tensor_copy",
          .counted = InstructionKind::AsyncCopy,
          .operands = tensor_copy_operands,
          .rule = tensor_copy_rule,
      },
      RowOf<TensorStore>{
          .name = "tensor_store",
          .called = "tensor_store",
          .counted = InstructionKind::AsyncCopy,
          .operands = tensor_store_operands,
          .rule = tensor_store_rule,
      },
      RowOf<StoreSync>{
          .name = "store_",
          .called = "tensor_store",
          .forms = {{StoreStep::Fence}, {StoreStep::Commit}, {StoreStep::Wait}},
          .word = [](const StoreSync &node) { return std::string(kStoreSteps[node.step]); },
          .operands = store_sync_operands,
          .rule = store_sync_rule,
      },
      RowOf<Wgmma>{
          .name = "wgmma.",
          .called = "wgmma",
          .scope = Scope::Warpgroup,
          .counted = InstructionKind::Mma,
          .unknown = "there is no core instruction '{1}'",
          .forms = wgmma_forms(),
          .word = wgmma_word,
          .operands = wgmma_operands,
          .rule = wgmma_rule,
          .fold = fold_wgmma,
      },
      RowOf<WgmmaSync>{
          .name = "wgmma_",
          .called = "wgmma",
          .scope = Scope::Warp,
          .forms = {{WgmmaStep::Fence}, {WgmmaStep::Commit}, {WgmmaStep::Wait}},
          .word = [](const WgmmaSync &node) { return std::string(kWgmmaSteps[node.step]); },
          .operands = wgmma_sync_operands,
          .rule = wgmma_sync_rule,
      },
      RowOf<RegisterLimit>{
          .name = "registers_",
          .called = "a limit of registers",
          .scope = Scope::Warpgroup,
          .forms = {{.more = false}, {.more = true}},
          .word = register_limit_word,
          .operands = register_limit_operands,
          .rule = register_limit_rule,
      },
  };
}

} // namespace tilefuse::kernel
