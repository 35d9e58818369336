// SPDX-License-Identifier: Apache-2.0
#include "kernel/simulation/recorder.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "base/index.h"
#include "kernel/intrinsics.h"

namespace tilefuse::kernel::simulation {
namespace {

constexpr std::int64_t kMaxRequest = 16;
constexpr std::size_t kTileRows = 8;
constexpr std::size_t kMostTraced = 64; // warps

bool is_special(ScalarOp op) {
  return !is_one_of(op, {ScalarOp::Neg, ScalarOp::Abs, ScalarOp::Add, ScalarOp::Sub, ScalarOp::Mul,
                         ScalarOp::Div, ScalarOp::Max, ScalarOp::Min});
}

InstructionKind kind_of_scalar(const Op &op) {
  if (op.code == Code::Select || row(op.scalar).is_comparison)
    return InstructionKind::Logic;
  if (!is_float(op.elem))
    return InstructionKind::Integer;
  return is_special(op.scalar) ? InstructionKind::SpecialFunction
                               : InstructionKind::FloatArithmetic;
}

std::optional<InstructionKind> kind_of(const Kernel &kernel, const Program &program, const Op &op) {
  const auto is_local = [&] { return kernel.buffers[at(op.buffer)].space == Space::Local; };
  switch (op.code) {
  case Code::Apply:
  case Code::Select:
    return kind_of_scalar(op);
  case Code::Fma:
    return InstructionKind::Fma;
  case Code::Dot:
    return InstructionKind::Integer;
  case Code::Convert:
    return InstructionKind::Convert;
  case Code::Load:
  case Code::LoadOfRank:
    return is_local() ? InstructionKind::LoadLocal : InstructionKind::LoadGlobal;
  case Code::Store:
    return is_local() ? InstructionKind::StoreLocal : InstructionKind::StoreGlobal;
  case Code::LoopTest:
  case Code::IfBegin:
    return InstructionKind::Branch;
  case Code::Barrier:
    return InstructionKind::Barrier;
  case Code::Intrinsic:
    return row_of(std::get<Intrinsic>(program.lines[at(op.line)]->node)).counted;
  default:
    return std::nullopt;
  }
}

bool is_store(AccessKind kind) {
  return kind == AccessKind::Store || kind == AccessKind::AsyncWrite;
}

} // namespace

Recorder::Recorder(const Kernel &kernel, const Program &program, std::int64_t banks,
                   std::int64_t sector_bytes, BankTrace *trace)
    : kernel_(kernel), program_(program), banks_(banks), sector_bytes_(sector_bytes),
      accesses_(program.accesses), footprints_(kernel.buffers.size()),
      executed_(program.ops.size()), items_(program.ops.size()), trace_(trace),
      seen_(program.accesses.size()) {
  if (trace_ != nullptr)
    trace_->assign(program.accesses.size(), {});
  for (std::size_t i = 0; i < footprints_.size(); ++i) {
    const Buffer &buffer = kernel.buffers[i];
    const std::int64_t bytes = buffer.elems * size_bytes(buffer.type.elem);
    if (buffer.space == Space::Global)
      footprints_[i].last.resize(
          static_cast<std::size_t>((bytes + sector_bytes - 1) / sector_bytes * kernel.cluster));
  }
}

void Recorder::start_cluster() { ++clusters_; }

// The widest piece up to 16 bytes that divides every work-item's vector and its address.
std::int64_t Recorder::piece_bytes(const WarpAccess &access, std::int64_t elem_bytes) const {
  if (access.stride != 1)
    return elem_bytes;
  std::int64_t all = access.lanes * elem_bytes;
  for (std::size_t i = 0; i < access.first.size(); ++i) {
    if (access.first[i] == kInactive)
      continue;
    if (access.count[i] != access.lanes)
      return elem_bytes;
    all = std::gcd(all, access.first[i] * elem_bytes);
  }
  std::int64_t piece = elem_bytes;
  while (piece < kMaxRequest && all % (2 * piece) == 0)
    piece *= 2;
  return piece;
}

std::vector<BankPhase> *Recorder::trace_of(int number) {
  if (trace_ == nullptr || clusters_ != 1 || rank_ != 0 || warp_ >= kMostTraced)
    return nullptr;
  const std::uint64_t bit = std::uint64_t{1} << warp_;
  const bool is_first = (seen_[at(number)] & bit) == 0;
  seen_[at(number)] |= bit;
  return is_first ? &(*trace_)[at(number)] : nullptr;
}

void Recorder::access(int number, const WarpAccess &access) {
  AccessCounts &counts = accesses_[at(number)];
  const std::int64_t size = size_bytes(kernel_[counts.buffer].type.elem);
  const std::int64_t bytes = piece_bytes(access, size);
  const auto step = static_cast<int>(bytes / size);
  std::size_t phase = 0;
  ++counts.executed;
  traced_ = trace_of(number);
  for (int lane = 0; lane < access.lanes; lane += step) {
    addresses_.clear();
    std::int64_t touched = 0;
    for (std::size_t i = 0; i < access.first.size(); ++i) {
      const bool is_active = access.first[i] != kInactive && lane < access.count[i];
      addresses_.push_back(is_active ? (access.first[i] + lane * access.stride) * size : kInactive);
      touched += is_active ? step : 0;
    }
    counts.elements += touched;
    counts.bytes += touched * size;
    if (touched > 0)
      request(counts, bytes, phase);
  }
}

void Recorder::request(AccessCounts &counts, std::int64_t bytes, std::size_t &phase) {
  ++counts.requests;
  if (kernel_[counts.buffer].space == Space::Global)
    note_sectors(counts, bytes);
  else
    note_banks(counts, bytes, phase);
}

void Recorder::note_banks(AccessCounts &counts, std::int64_t bytes, std::size_t &phase) {
  if (banks_ == 0)
    return;
  if (traced_ != nullptr)
    trace_phases({bytes, addresses_}, banks_, {warp_, phase, {}}, *traced_);
  phase += add_phases({bytes, addresses_}, banks_, phase, counts.phases);
}

void Recorder::note_sectors(AccessCounts &counts, std::int64_t bytes) {
  find_sectors({bytes, addresses_}, sector_bytes_, sectors_);
  counts.sectors += static_cast<std::int64_t>(sectors_.touched.size());
  counts.sectors_needed += sectors_.needed;
  Footprint &footprint = footprints_[at(counts.buffer)];
  const auto ranks = static_cast<std::size_t>(kernel_.cluster);
  for (const std::int64_t sector : sectors_.touched) {
    const std::span<std::int64_t> last(&footprint.last[static_cast<std::size_t>(sector) * ranks],
                                       ranks);
    const bool is_new = std::all_of(last.begin(), last.end(), [](auto one) { return one == 0; });
    footprint.of_grid += is_new ? 1 : 0;
    footprint.of_blocks += last[rank_] != clusters_ ? 1 : 0;
    last[rank_] = clusters_;
  }
}

void Recorder::matrix(int number, std::span<const std::int64_t> rows) {
  AccessCounts &counts = accesses_[at(number)];
  const std::int64_t size = size_bytes(kernel_[counts.buffer].type.elem);
  const auto row_count = static_cast<std::int64_t>(rows.size());
  ++counts.executed;
  ++counts.requests;
  counts.bytes += row_count * kMaxRequest;
  counts.elements += row_count * kMaxRequest / size;
  std::size_t phase = 0;
  traced_ = trace_of(number);
  for (std::size_t first = 0; first < rows.size(); first += kTileRows) {
    addresses_.clear();
    for (const std::int64_t row : rows.subspan(first, kTileRows))
      addresses_.push_back(row * size);
    note_banks(counts, kMaxRequest, phase);
  }
}

void Recorder::add_instructions(Counts &counts) const {
  for (std::size_t i = 0; i < program_.ops.size(); ++i) {
    const Op &op = program_.ops[i];
    const auto kind = kind_of(kernel_, program_, op);
    if (!kind)
      continue;
    InstructionCounts &to = counts.instructions[at(*kind)];
    to.executed += executed_[i];
    to.lanes += items_[i] * op.lanes;
  }
}

void Recorder::add_buffers(Counts &counts) const {
  std::vector<std::size_t> number(kernel_.buffers.size());
  for (std::size_t i = 0; i < kernel_.buffers.size(); ++i) {
    const Buffer &buffer = kernel_.buffers[i];
    number[i] = counts.buffers.size();
    if (buffer.space == Space::Register)
      continue;
    BufferCounts of;
    of.id = BufferId{static_cast<int>(i)};
    of.name = buffer.name;
    of.space = buffer.space;
    of.block_sector_bytes = footprints_[i].of_blocks * sector_bytes_;
    of.grid_sector_bytes = footprints_[i].of_grid * sector_bytes_;
    counts.buffers.push_back(std::move(of));
  }
  for (const AccessCounts &access : accesses_) {
    BufferCounts &of = counts.buffers[number[at(access.buffer)]];
    (is_store(access.kind) ? of.stores : of.loads) += access.elements;
    (is_store(access.kind) ? of.stored_bytes : of.loaded_bytes) += access.bytes;
    of.sectors += access.sectors;
    of.sectors_needed += access.sectors_needed;
  }
}

Counts Recorder::take() {
  Counts counts;
  counts.blocks = clusters_ * kernel_.cluster;
  counts.barriers = barriers_;
  add_instructions(counts);
  add_buffers(counts);
  counts.accesses = std::move(accesses_);
  return counts;
}

} // namespace tilefuse::kernel::simulation
