// SPDX-License-Identifier: Apache-2.0
// Faults of kernels with wgmma.
#include "fuzz/fault.h"
#include "fuzz/mutations.h"
#include "kernel/rules.h"

namespace tilefuse::fuzz {
namespace {

constexpr std::int64_t kChunkBytes = 16;

// An operation of the mbarriers, done otherwise.
template <MbarrierOp Which> struct MbarrierFault : Fault {
  using Fault::Fault;
  virtual StmtRef wrong(const Mbarrier &node) = 0;
  StmtRef stmt(StmtRef from) override {
    const auto *node = as<Mbarrier>(from);
    if (!node || node->op != Which)
      return Fault::stmt(from);
    take();
    return wrong(*node);
  }
  StmtRef with(const Mbarrier &node, ExprRef value) {
    return to().mbarrier({node.op, {node.at.buffer, expr(node.at.index)}, value});
  }
};

struct NoWaits : MbarrierFault<MbarrierOp::Wait> {
  using MbarrierFault::MbarrierFault;
  StmtRef wrong(const Mbarrier &) override { return to().block({}); }
};

struct OtherParity : MbarrierFault<MbarrierOp::Wait> {
  using MbarrierFault::MbarrierFault;
  StmtRef wrong(const Mbarrier &node) override {
    return with(node, to().sub(to().integer(1), expr(node.value)));
  }
};

struct NoArrivals : MbarrierFault<MbarrierOp::Arrive> {
  using MbarrierFault::MbarrierFault;
  StmtRef wrong(const Mbarrier &) override { return to().block({}); }
};

struct FewerBytes : MbarrierFault<MbarrierOp::Expect> {
  using MbarrierFault::MbarrierFault;
  StmtRef wrong(const Mbarrier &node) override {
    return with(node, to().sub(expr(node.value), to().integer(kChunkBytes)));
  }
};

struct MoreArrivals : MbarrierFault<MbarrierOp::Init> {
  using MbarrierFault::MbarrierFault;
  StmtRef wrong(const Mbarrier &node) override {
    return with(node, to().add(expr(node.value), to().integer(1)));
  }
};

struct CopyFault : Fault {
  using Fault::Fault;
  virtual void spoil(TensorCopy &copy) = 0;
  StmtRef stmt(StmtRef from) override {
    const auto *node = as<TensorCopy>(from);
    if (!node)
      return Fault::stmt(from);
    TensorCopy copy = *node;
    copy.to.index = expr(copy.to.index);
    copy.signals.index = expr(copy.signals.index);
    for (ExprRef &at : copy.at)
      at = expr(at);
    for (ExprRef &offset : copy.offsets)
      offset = expr(offset);
    copy.ranks = expr(copy.ranks);
    spoil(copy);
    return to().tensor_copy(std::move(copy));
  }
};

struct OneBuffer : CopyFault {
  using CopyFault::CopyFault;
  void spoil(TensorCopy &copy) override {
    take();
    copy.to.index = to().integer(0);
  }
};

struct NextRow : CopyFault {
  using CopyFault::CopyFault;
  void spoil(TensorCopy &copy) override {
    if (from()[copy.map].is_im2col())
      return;
    take();
    copy.at[1] = to().add(copy.at[1], to().integer(1));
  }
};

struct NoTaps : CopyFault {
  using CopyFault::CopyFault;
  void spoil(TensorCopy &copy) override {
    for (ExprRef &offset : copy.offsets) {
      if (is_constant(offset))
        continue;
      take();
      offset = to().integer(0);
    }
  }
};

struct WgmmaFault : Fault {
  using Fault::Fault;
  virtual void spoil(Wgmma &wgmma) = 0;
  StmtRef stmt(StmtRef from) override {
    const auto *node = as<Wgmma>(from);
    if (!node)
      return Fault::stmt(from);
    Wgmma wgmma = *node;
    for (ExprRef *index : {&wgmma.acc.index, &wgmma.a.index, &wgmma.b.index, &wgmma.accumulate})
      *index = expr(*index);
    spoil(wgmma);
    return to().wgmma(wgmma);
  }
};

struct NeverNew : WgmmaFault {
  using WgmmaFault::WgmmaFault;
  void spoil(Wgmma &wgmma) override {
    if (wgmma.accumulate)
      take();
    wgmma.accumulate = nullptr;
  }
};

struct AlwaysNew : WgmmaFault {
  using WgmmaFault::WgmmaFault;
  void spoil(Wgmma &wgmma) override {
    if (!wgmma.accumulate)
      take();
    wgmma.accumulate = to().scalar(ScalarOp::Lt, {to().integer(0), to().block()});
  }
};

struct OneStepOfDepth : WgmmaFault {
  using WgmmaFault::WgmmaFault;
  void spoil(Wgmma &wgmma) override {
    take();
    wgmma.b.index = to().mul(to().div(wgmma.b.index, to().integer(1024)), to().integer(1024));
  }
};

// Where registers hold a.
struct OneFragment : WgmmaFault {
  using WgmmaFault::WgmmaFault;
  void spoil(Wgmma &wgmma) override {
    std::int64_t first = 0;
    if (!fragment_of(from(), wgmma) || !is_constant(wgmma.a.index, &first) || first == 0)
      return;
    take();
    wgmma.a.index = to().integer(0);
  }
};

struct FartherLines : WgmmaFault {
  using WgmmaFault::WgmmaFault;
  void spoil(Wgmma &wgmma) override {
    for (auto [lines, row] :
         {std::pair{&wgmma.a_lines, wgmma.a_row_bytes}, {&wgmma.b_lines, wgmma.b_row_bytes}})
      if (*lines != 0) {
        take();
        *lines += row / size_bytes(wgmma.op->a.type);
      }
  }
};

struct LateWait : Fault {
  using Fault::Fault;
  StmtRef stmt(StmtRef from) override {
    const auto *node = as<WgmmaSync>(from);
    if (!node || node->step != WgmmaStep::Wait)
      return Fault::stmt(from);
    take();
    return to().wgmma_sync({WgmmaStep::Wait, node->pending + 1});
  }
};

struct NoWarpBarriers : Fault {
  using Fault::Fault;
  StmtRef stmt(StmtRef from) override {
    const auto *node = as<Barrier>(from);
    if (!node || !node->is_of_warp())
      return Fault::stmt(from);
    take();
    return nullptr;
  }
};

// One of the roles goes on at once.
template <int Which> struct TooEarly : Fault {
  using Fault::Fault;
  StmtRef stmt(StmtRef from) override {
    if (!as<AwaitEarlier>(from) || seen_++ != Which)
      return Fault::stmt(from);
    take();
    return to().block({});
  }

private:
  int seen_ = 0;
};

// A step of tensor stores that is left out.
template <StoreStep Which> struct NoStoreStep : Fault {
  using Fault::Fault;
  StmtRef stmt(StmtRef from) override {
    const auto *node = as<StoreSync>(from);
    if (!node || node->step != Which)
      return Fault::stmt(from);
    take();
    return to().block({});
  }
};

struct LateStoreWait : Fault {
  using Fault::Fault;
  StmtRef stmt(StmtRef from) override {
    const auto *node = as<StoreSync>(from);
    if (!node || node->step != StoreStep::Wait)
      return Fault::stmt(from);
    take();
    return to().store_sync({StoreStep::Wait, node->pending + 1});
  }
};

struct OtherColumn : Fault {
  using Fault::Fault;
  StmtRef stmt(StmtRef from) override {
    const auto *node = as<TensorStore>(from);
    if (!node)
      return Fault::stmt(from);
    take();
    TensorStore store = *node;
    store.from.index = expr(store.from.index);
    for (ExprRef &at : store.at)
      at = expr(at);
    store.at[0] = to().add(store.at[0], to().integer(kChunkBytes));
    return to().tensor_store(std::move(store));
  }
};

// Of clusters.
struct OnlyOwnArrivals : MbarrierFault<MbarrierOp::Arrive> {
  using MbarrierFault::MbarrierFault;
  StmtRef wrong(const Mbarrier &node) override {
    Mbarrier own{.op = node.op, .at = {node.at.buffer, expr(node.at.index)}};
    if (node.rank != nullptr)
      own.rank = to().mod(to().block(), to().integer(from().cluster));
    return to().mbarrier(own);
  }
};

struct OnlyOwnCopies : CopyFault {
  using CopyFault::CopyFault;
  void spoil(TensorCopy &copy) override {
    if (copy.ranks == nullptr)
      return;
    take();
    copy.ranks = nullptr;
  }
};

struct CopiesToOthers : CopyFault {
  using CopyFault::CopyFault;
  void spoil(TensorCopy &copy) override {
    if (copy.ranks != nullptr || from().cluster == 1)
      return;
    take();
    copy.ranks = to().integer((1 << from().cluster) - 1);
  }
};

struct OneSlice : CopyFault {
  using CopyFault::CopyFault;
  void spoil(TensorCopy &copy) override {
    if (copy.ranks == nullptr)
      return;
    take();
    copy.to.index = to().mul(to().div(copy.to.index, to().integer(kSlice)), to().integer(kSlice));
  }
  static constexpr std::int64_t kSlice = 8192;
};

struct ClusterBarrierFault : Fault {
  using Fault::Fault;
  virtual bool is_place(int number) const = 0;
  StmtRef stmt(StmtRef from) override {
    const auto *node = as<Barrier>(from);
    if (!node || !node->is_of_cluster() || !is_place(seen_++))
      return Fault::stmt(from);
    take();
    return to().barrier();
  }

private:
  int seen_ = 0;
};

struct NoClusterAtStart : ClusterBarrierFault {
  using ClusterBarrierFault::ClusterBarrierFault;
  bool is_place(int number) const override { return number == 0; }
};

struct NoClusterAtEnd : ClusterBarrierFault {
  using ClusterBarrierFault::ClusterBarrierFault;
  bool is_place(int number) const override { return number == 1; }
};

// Of maps in the ring: their stores are unconditional.
struct PaddingMapped : Fault {
  using Fault::Fault;
  StmtRef stmt(StmtRef from) override {
    const auto *node = as<Store>(from);
    if (!node || !node->valid || this->from()[node->buffer].space != kernel::Space::Local)
      return Fault::stmt(from);
    take();
    return to().store(node->buffer, expr(node->index), expr(node->value), node->lane_stride);
  }
};

// The second of two waits, that for what is mapped, left out.
struct UnmappedMultiplied : Fault {
  using Fault::Fault;
  StmtRef stmt(StmtRef from) override {
    const auto *node = as<Mbarrier>(from);
    const bool is_wait = node && node->op == MbarrierOp::Wait;
    const bool is_second = is_wait && was_wait_;
    was_wait_ = is_wait;
    if (!is_second)
      return Fault::stmt(from);
    take();
    return to().block({});
  }

private:
  bool was_wait_ = false;
};

// Every step is each group's.
struct AllMap : Fault {
  using Fault::Fault;
  StmtRef stmt(StmtRef from) override {
    const auto *node = as<Store>(from);
    if (!node || this->from()[node->buffer].name != "transform_turn")
      return Fault::stmt(from);
    take();
    return to().store(node->buffer, expr(node->index), to().integer(0));
  }
};

std::optional<Kernel> mapped_without_fence(const Kernel &kernel) {
  const bool stores = plant<NoStoreStep<StoreStep::Commit>>(kernel).has_value();
  return stores ? std::nullopt : plant<NoStoreStep<StoreStep::Fence>>(kernel);
}

template <typename SomeFault> std::optional<Kernel> planted(const Kernel &kernel) {
  return plant<SomeFault>(kernel);
}

} // namespace

const std::vector<Mutation> &wgmma_mutations() {
  static const std::vector<Mutation> all = {
      {"wgmma: no wait for buffers", nullptr, planted<NoWaits>},
      {"wgmma: waits for the other phase", nullptr, planted<OtherParity>},
      {"wgmma: buffers not given back", nullptr, planted<NoArrivals>},
      {"wgmma: fewer bytes expected", nullptr, planted<FewerBytes>},
      {"wgmma: one arrival too many", nullptr, planted<MoreArrivals>},
      {"wgmma: all copies into one buffer", nullptr, planted<OneBuffer>},
      {"wgmma: rows of a box one further", nullptr, planted<NextRow>},
      {"wgmma: taps not moved", nullptr, planted<NoTaps>},
      {"wgmma: accumulator not reset", nullptr, planted<NeverNew>},
      {"wgmma: accumulator reset at each step", nullptr, planted<AlwaysNew>},
      {"wgmma: every step reads one depth", nullptr, planted<OneStepOfDepth>},
      {"wgmma: all multiply by one fragment", nullptr, planted<OneFragment>},
      {"wgmma: lines of a window farther", nullptr, planted<FartherLines>},
      {"wgmma: results read too early", nullptr, planted<LateWait>},
      {"wgmma: exchange without a barrier", nullptr, planted<NoWarpBarriers>},
      {"wgmma: copies before earlier kernels end", nullptr, planted<TooEarly<0>>},
      {"wgmma: stores before earlier kernels end", nullptr, planted<TooEarly<1>>},
      {"cluster: arrives at its own block alone", nullptr, planted<OnlyOwnArrivals>},
      {"cluster: slices to the own block alone", nullptr, planted<OnlyOwnCopies>},
      {"cluster: own tiles to all blocks", nullptr, planted<CopiesToOthers>},
      {"cluster: slices of all into one place", nullptr, planted<OneSlice>},
      {"cluster: begins without the others", nullptr, planted<NoClusterAtStart>},
      {"cluster: ends without the others", nullptr, planted<NoClusterAtEnd>},
      {"wgmma: tensor stores not waited for", nullptr, planted<NoStoreStep<StoreStep::Wait>>},
      {"wgmma: tensor stores without a fence", nullptr, planted<NoStoreStep<StoreStep::Fence>>},
      {"wgmma: tensor stores not committed", nullptr, planted<NoStoreStep<StoreStep::Commit>>},
      {"wgmma: a store's buffer filled too early", nullptr, planted<LateStoreWait>},
      {"wgmma: boxes stored 16 columns on", nullptr, planted<OtherColumn>},
      {"map: padding mapped", nullptr, planted<PaddingMapped>},
      {"map: multiplied before it is mapped", nullptr, planted<UnmappedMultiplied>},
      {"map: every group maps all steps", nullptr, planted<AllMap>},
      {"map: given without a fence", nullptr, mapped_without_fence},
  };
  return all;
}

} // namespace tilefuse::fuzz
