// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <span>
#include <variant>

#include <fmt/format.h>

#include "base/error.h"
#include "emit/llvm/function_builder.h"
#include "emit/llvm/math.h"
#include "emit/llvm/packed_stores.h"
#include "kernel/intrinsics.h"

namespace tilefuse::emit::native {
namespace {

constexpr std::int64_t kMaxUnroll = 1 << 16;

} // namespace

void FunctionBuilder::emit(kernel::StmtRef stmt) {
  if (stmt == nullptr)
    return;
  known_.clear();
  std::visit([&](const auto &inner) { node(inner); }, stmt->node);
}

void FunctionBuilder::node(const kernel::Block &block) {
  for (std::span<const kernel::StmtRef> rest = block.body; !rest.empty();) {
    const std::size_t packed = count_packable(kernel_, rest, vector_lanes(module_));
    if (packed > 1)
      pack(rest.first(packed));
    else
      emit(rest.front());
    rest = rest.subspan(std::max<std::size_t>(packed, 1));
  }
}

void FunctionBuilder::pack(std::span<const kernel::StmtRef> stores) {
  for (const std::vector<PackedStore> &group : packed_groups(stores)) {
    known_.clear();
    const kernel::Store &first = *group.front().store;
    if (group.size() == 1) {
      node(first);
      continue;
    }
    std::vector<llvm::Value *> values;
    for (const PackedStore &each : group)
      values.push_back(value(each.rounded.value));
    const kernel::Type &type = first.value->type;
    llvm::Value *bytes = emit_packed(ir_, type, group.front().rounded, values);
    const int lanes = type.lanes * static_cast<int>(group.size());
    emit_store(ir_, access(first.buffer, {type.elem, lanes}, first.index), bytes);
  }
}

void FunctionBuilder::node(const kernel::Let &let) {
  slot(let.var) = is_int(let.value->type) ? index(let.value) : Index{value(let.value), 0};
}

void FunctionBuilder::node(const kernel::For &loop) {
  if (loop.step <= 0)
    throw Error(ErrorCode::Unsupported,
                fmt::format("a loop's step is {}; it must be positive", loop.step));
  const Index begin = index(loop.begin);
  const Index end = index(loop.end);
  if (begin.dynamic != nullptr || end.dynamic != nullptr)
    return iterate(loop, begin, end);
  if (begin.constant >= end.constant)
    return;
  const bool is_single = end.constant - begin.constant <= loop.step;
  if (is_single || loop.kind == kernel::ForKind::Unroll)
    return repeat(loop, begin.constant, end.constant);
  iterate(loop, begin, end);
}

void FunctionBuilder::repeat(const kernel::For &loop, std::int64_t begin, std::int64_t end) {
  if ((end - begin) / loop.step > kMaxUnroll)
    throw Error(ErrorCode::Limit,
                fmt::format("a loop of more than {} steps is to be unrolled", kMaxUnroll));
  for (std::int64_t i = begin; i < end; i += loop.step) {
    slot(loop.var) = {nullptr, i};
    emit(loop.body);
  }
}

// if (begin < end) do { body; i += step } while (i < end)
void FunctionBuilder::iterate(const kernel::For &loop, const Index &begin, const Index &end) {
  llvm::Value *first = whole(ir_, begin);
  llvm::Value *last = whole(ir_, end);
  llvm::BasicBlock *ahead = new_block("ahead");
  llvm::BasicBlock *body = new_block("loop");
  llvm::BasicBlock *done = new_block("done");
  ir_.CreateCondBr(ir_.CreateICmpSLT(first, last), ahead, done);
  ir_.SetInsertPoint(ahead);
  ir_.CreateBr(body);
  ir_.SetInsertPoint(body);
  llvm::PHINode *counter = ir_.CreatePHI(ir_.getInt64Ty(), 2);
  counter->addIncoming(first, ahead);
  slot(loop.var) = {counter, 0};
  emit(loop.body);
  llvm::Value *next =
      ir_.CreateNSWAdd(counter, ir_.getInt64(static_cast<std::uint64_t>(loop.step)));
  counter->addIncoming(next, ir_.GetInsertBlock());
  llvm::BasicBlock *exit = new_block("exit");
  llvm::BranchInst *latch = ir_.CreateCondBr(ir_.CreateICmpSLT(next, last), body, exit);
  llvm::LLVMContext &context = module_.getContext();
  auto *option =
      llvm::MDNode::get(context, llvm::MDString::get(context, "llvm.loop.unroll.disable"));
  llvm::MDNode *marks = llvm::MDNode::getDistinct(context, {nullptr, option});
  marks->replaceOperandWith(0, marks);
  latch->setMetadata(llvm::LLVMContext::MD_loop, marks);
  ir_.SetInsertPoint(exit);
  ir_.CreateBr(done);
  ir_.SetInsertPoint(done);
}

void FunctionBuilder::node(const kernel::If &branch) {
  llvm::Value *condition = to_bool(ir_, branch.condition->type.elem, value(branch.condition));
  if (const auto *known = llvm::dyn_cast<llvm::ConstantInt>(condition))
    return emit(known->isZero() ? branch.else_body : branch.then_body);
  llvm::BasicBlock *then_block = new_block("then");
  llvm::BasicBlock *join = new_block("join");
  llvm::BasicBlock *else_block = branch.else_body == nullptr ? join : new_block("else");
  ir_.CreateCondBr(condition, then_block, else_block);
  ir_.SetInsertPoint(then_block);
  emit(branch.then_body);
  ir_.CreateBr(join);
  if (branch.else_body != nullptr) {
    ir_.SetInsertPoint(else_block);
    emit(branch.else_body);
    ir_.CreateBr(join);
  }
  ir_.SetInsertPoint(join);
}

void FunctionBuilder::node(const kernel::Store &store) {
  llvm::Value *stored = value(store.value);
  const kernel::Buffer &buffer = kernel_[store.buffer];
  if (buffer.space == kernel::Space::Register) {
    if (buffer.type.lanes != store.value->type.lanes)
      return scatter(store, stored);
    ir_.CreateStore(stored, register_slot(store.buffer, store.index));
    return;
  }
  Access to = access(store.buffer, store.value->type, store.index);
  to.stride = store.lane_stride;
  if (store.valid != nullptr)
    to.valid = value(store.valid);
  emit_store(ir_, to, stored);
}

// A vector into registers of one lane each, of which integers are as wide as an index.
void FunctionBuilder::scatter(const kernel::Store &store, llvm::Value *vector) {
  if (kernel_[store.buffer].type.lanes != 1)
    throw Error(ErrorCode::Unsupported, "a vector is scattered into registers of several lanes");
  for (int lane = 0; lane < store.value->type.lanes; ++lane) {
    llvm::AllocaInst *to = register_slot(store.buffer, store.index, lane * store.lane_stride);
    llvm::Value *element = ir_.CreateExtractElement(vector, static_cast<std::uint64_t>(lane));
    if (element->getType()->isIntegerTy())
      element = ir_.CreateSExtOrTrunc(element, to->getAllocatedType());
    ir_.CreateStore(element, to);
  }
}

void FunctionBuilder::turn(const kernel::Transpose &node) {
  std::vector<llvm::AllocaInst *> slots;
  std::vector<llvm::Value *> rows;
  for (int row = 0; row < node.rows; ++row) {
    slots.push_back(register_slot(node.square.buffer, node.square.index, row));
    rows.push_back(ir_.CreateLoad(slots.back()->getAllocatedType(), slots.back()));
  }
  transpose(ir_, rows);
  for (std::size_t row = 0; row < rows.size(); ++row)
    ir_.CreateStore(rows[row], slots[row]);
}

// Earlier kernels have always ended.
void FunctionBuilder::node(const kernel::Intrinsic &intrinsic) {
  if (const auto *square = std::get_if<kernel::Transpose>(&intrinsic))
    return turn(*square);
  if (const auto *zero = std::get_if<kernel::RowsZero>(&intrinsic))
    return rows(*zero);
  if (const auto *load = std::get_if<kernel::RowsLoad>(&intrinsic))
    return rows(*load);
  if (const auto *store = std::get_if<kernel::RowsStore>(&intrinsic))
    return rows(*store);
  if (const auto *dot = std::get_if<kernel::RowsDot>(&intrinsic))
    return rows(*dot);
  if (!std::holds_alternative<kernel::AwaitEarlier>(intrinsic))
    refuse(row_of(intrinsic).called);
}

void FunctionBuilder::refuse(std::string_view what) const {
  throw Error(ErrorCode::Unsupported, fmt::format("{} needs a matrix unit or a warp, which a "
                                                  "processor core does not have",
                                                  what));
}

void FunctionBuilder::node(const kernel::Prefetch &prefetch) {
  if (kernel_[prefetch.buffer].space == kernel::Space::Register)
    return;
  const Access line = access(prefetch.buffer, {DType::I32, 1}, prefetch.index);
  ir_.CreateIntrinsic(llvm::Intrinsic::prefetch, {ir_.getPtrTy()},
                      {address(ir_, line), ir_.getInt32(0), ir_.getInt32(3), ir_.getInt32(1)});
}

} // namespace tilefuse::emit::native
