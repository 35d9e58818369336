// SPDX-License-Identifier: Apache-2.0
#include "emit/llvm/memory.h"

#include <vector>

#include <llvm/IR/Module.h>

namespace tilefuse::emit::native {
namespace {

std::int64_t wrapping_multiply(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

std::int64_t wrapping_add(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

llvm::Align element_align(DType elem) {
  return llvm::Align(static_cast<std::uint64_t>(size_bytes(elem)));
}

bool has_masked_access(DType elem) { return size_bytes(elem) >= 4; }

kernel::Type one_lane(const Access &access) { return {access.type.elem, 1}; }

llvm::Value *raw_load(Ir &ir, const Access &access, llvm::Value *at, int lanes) {
  const DType elem = access.type.elem;
  return ir.CreateAlignedLoad(memory_type(ir, elem, lanes), at, element_align(elem));
}

llvm::Value *is_lane_valid(Ir &ir, const Access &access, int lane) {
  return ir.CreateICmpSGT(access.valid, ir.getInt64(static_cast<std::uint64_t>(lane)));
}

// lane < valid, for every lane; exact for any 64-bit count.
llvm::Value *lane_mask(Ir &ir, const Access &access) {
  const int lanes = access.type.lanes;
  llvm::Value *top = ir.getInt64(static_cast<std::uint64_t>(lanes));
  llvm::Value *clipped =
      ir.CreateBinaryIntrinsic(llvm::Intrinsic::smax, ir.getInt64(0),
                               ir.CreateBinaryIntrinsic(llvm::Intrinsic::smin, access.valid, top));
  std::vector<llvm::Constant *> ids;
  for (int lane = 0; lane < lanes; ++lane)
    ids.push_back(ir.getInt32(static_cast<std::uint32_t>(lane)));
  llvm::Value *count = splat(ir, ir.CreateTrunc(clipped, ir.getInt32Ty()), lanes);
  return ir.CreateICmpSLT(llvm::ConstantVector::get(ids), count);
}

// A read-only element in memory that holds `fill`.
llvm::Value *fill_slot(Ir &ir, const kernel::Type &type, double fill) {
  llvm::Module &module = *ir.GetInsertBlock()->getModule();
  llvm::Constant *value = memory_constant(ir, type, fill);
  auto *slot = new llvm::GlobalVariable(module, value->getType(), true,
                                        llvm::GlobalValue::PrivateLinkage, value, "fill");
  slot->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
  return slot;
}

// Lanes one by one; `slot` is read instead of an invalid lane.
llvm::Value *gather(Ir &ir, const Access &access, llvm::Value *slot) {
  const int lanes = access.type.lanes;
  llvm::Value *result = nullptr;
  if (lanes > 1)
    result = llvm::PoisonValue::get(memory_type(ir, access.type.elem, lanes));
  for (int lane = 0; lane < lanes; ++lane) {
    llvm::Value *at = address(ir, access, wrapping_multiply(lane, access.stride));
    if (access.valid != nullptr)
      at = ir.CreateSelect(is_lane_valid(ir, access, lane), at, slot);
    llvm::Value *element = raw_load(ir, access, at, 1);
    if (lanes == 1)
      return element;
    result = ir.CreateInsertElement(result, element, static_cast<std::uint64_t>(lane));
  }
  return result;
}

// Every second element: two whole vectors that together end on the last one, and a shuffle.
llvm::Value *load_pairs(Ir &ir, const Access &access) {
  const int lanes = access.type.lanes;
  llvm::Value *low = raw_load(ir, access, address(ir, access), lanes);
  llvm::Value *high = raw_load(ir, access, address(ir, access, lanes - 1), lanes);
  std::vector<int> mask;
  for (int lane = 0; lane < lanes; ++lane)
    mask.push_back(2 * lane < lanes ? 2 * lane : 2 * lane + 1);
  return ir.CreateShuffleVector(low, high, mask);
}

struct Branches {
  llvm::BasicBlock *then_block;
  llvm::BasicBlock *else_block;
  llvm::BasicBlock *join;
};

Branches branch_on(Ir &ir, llvm::Value *condition) {
  llvm::Function *function = ir.GetInsertBlock()->getParent();
  llvm::LLVMContext &context = ir.getContext();
  const Branches blocks{llvm::BasicBlock::Create(context, "then", function),
                        llvm::BasicBlock::Create(context, "else", function),
                        llvm::BasicBlock::Create(context, "join", function)};
  ir.CreateCondBr(condition, blocks.then_block, blocks.else_block);
  return blocks;
}

llvm::Value *are_all_valid(Ir &ir, const Access &access) {
  return ir.CreateICmpSGE(access.valid, ir.getInt64(static_cast<std::uint64_t>(access.type.lanes)));
}

llvm::Value *load_by_branch(Ir &ir, const Access &access, llvm::Value *slot) {
  const Branches blocks = branch_on(ir, are_all_valid(ir, access));
  ir.SetInsertPoint(blocks.then_block);
  llvm::Value *full = raw_load(ir, access, address(ir, access), access.type.lanes);
  ir.CreateBr(blocks.join);
  ir.SetInsertPoint(blocks.else_block);
  llvm::Value *partial = gather(ir, access, slot);
  ir.CreateBr(blocks.join);
  ir.SetInsertPoint(blocks.join);
  llvm::PHINode *phi = ir.CreatePHI(full->getType(), 2);
  phi->addIncoming(full, blocks.then_block);
  phi->addIncoming(partial, blocks.else_block);
  return phi;
}

llvm::Value *load_memory(Ir &ir, const Access &access, double fill) {
  const kernel::Type &type = access.type;
  if (access.valid == nullptr) {
    if (access.stride == 1 || type.lanes == 1)
      return raw_load(ir, access, address(ir, access), type.lanes);
    if (access.stride == 0)
      return splat(ir, raw_load(ir, access, address(ir, access), 1), type.lanes);
    return access.stride == 2 ? load_pairs(ir, access) : gather(ir, access, nullptr);
  }
  if (type.lanes > 1 && access.stride == 1 && has_masked_access(type.elem))
    return ir.CreateMaskedLoad(memory_type(ir, type.elem, type.lanes), address(ir, access),
                               element_align(type.elem), lane_mask(ir, access),
                               memory_constant(ir, type, fill));
  llvm::Value *slot = fill_slot(ir, one_lane(access), fill);
  const bool is_wide = type.lanes > 1 && access.stride == 1;
  return is_wide ? load_by_branch(ir, access, slot) : gather(ir, access, slot);
}

void store_lane(Ir &ir, const Access &access, llvm::Value *value, int lane) {
  llvm::Value *element = access.type.lanes == 1
                             ? value
                             : ir.CreateExtractElement(value, static_cast<std::uint64_t>(lane));
  ir.CreateAlignedStore(element, address(ir, access, wrapping_multiply(lane, access.stride)),
                        element_align(access.type.elem));
}

// Valid lanes are a prefix: each is stored behind the test of its own number, and the first invalid
// one ends it.
void scatter(Ir &ir, const Access &access, llvm::Value *value) {
  llvm::Function *function = ir.GetInsertBlock()->getParent();
  llvm::BasicBlock *done = nullptr;
  if (access.valid != nullptr)
    done = llvm::BasicBlock::Create(ir.getContext(), "stored", function);
  for (int lane = 0; lane < access.type.lanes; ++lane) {
    if (done != nullptr) {
      auto *next = llvm::BasicBlock::Create(ir.getContext(), "lane", function, done);
      ir.CreateCondBr(is_lane_valid(ir, access, lane), next, done);
      ir.SetInsertPoint(next);
    }
    store_lane(ir, access, value, lane);
  }
  if (done == nullptr)
    return;
  ir.CreateBr(done);
  ir.SetInsertPoint(done);
}

void store_whole(Ir &ir, const Access &access, llvm::Value *value) {
  ir.CreateAlignedStore(value, address(ir, access), element_align(access.type.elem));
}

void store_by_branch(Ir &ir, const Access &access, llvm::Value *value) {
  const Branches blocks = branch_on(ir, are_all_valid(ir, access));
  ir.SetInsertPoint(blocks.then_block);
  store_whole(ir, access, value);
  ir.CreateBr(blocks.join);
  ir.SetInsertPoint(blocks.else_block);
  scatter(ir, access, value);
  ir.CreateBr(blocks.join);
  ir.SetInsertPoint(blocks.join);
}

enum class Validity { All, None, Unknown };

Validity known_validity(const Access &access) {
  if (access.valid == nullptr)
    return Validity::All;
  const auto *count = llvm::dyn_cast<llvm::ConstantInt>(access.valid);
  if (count == nullptr)
    return Validity::Unknown;
  if (count->getSExtValue() >= access.type.lanes)
    return Validity::All;
  return count->getSExtValue() <= 0 ? Validity::None : Validity::Unknown;
}

} // namespace

llvm::Value *whole(Ir &ir, const Index &index) {
  llvm::Value *constant = ir.getInt64(static_cast<std::uint64_t>(index.constant));
  if (index.dynamic == nullptr)
    return constant;
  return index.constant == 0 ? index.dynamic : ir.CreateAdd(index.dynamic, constant);
}

Index split(llvm::Value *value) {
  const auto *number = llvm::dyn_cast<llvm::ConstantInt>(value);
  if (number != nullptr)
    return {nullptr, number->getSExtValue()};
  return {value, 0};
}

Index add(Ir &ir, const Index &a, const Index &b) {
  const std::int64_t constant = wrapping_add(a.constant, b.constant);
  if (a.dynamic == nullptr)
    return {b.dynamic, constant};
  if (b.dynamic == nullptr)
    return {a.dynamic, constant};
  return {ir.CreateAdd(a.dynamic, b.dynamic), constant};
}

Index subtract(Ir &ir, const Index &a, const Index &b) {
  const std::int64_t constant = wrapping_add(a.constant, wrapping_multiply(-1, b.constant));
  if (b.dynamic == nullptr)
    return {a.dynamic, constant};
  llvm::Value *left = a.dynamic == nullptr ? ir.getInt64(0) : a.dynamic;
  return {ir.CreateSub(left, b.dynamic), constant};
}

Index multiply(Ir &ir, const Index &a, const Index &b) {
  if (a.dynamic != nullptr && b.dynamic != nullptr)
    return split(ir.CreateMul(whole(ir, a), whole(ir, b)));
  const Index &varying = a.dynamic != nullptr ? a : b;
  const std::int64_t factor = a.dynamic != nullptr ? b.constant : a.constant;
  const std::int64_t constant = wrapping_multiply(varying.constant, factor);
  if (varying.dynamic == nullptr || factor == 0)
    return {nullptr, constant};
  if (factor == 1)
    return varying;
  return {ir.CreateMul(varying.dynamic, ir.getInt64(static_cast<std::uint64_t>(factor))), constant};
}

llvm::Value *address(Ir &ir, const Access &access, std::int64_t offset) {
  llvm::Type *element = memory_type(ir, access.type.elem, 1);
  llvm::Value *at = access.base;
  if (access.index.dynamic != nullptr)
    at = ir.CreateGEP(element, at, access.index.dynamic);
  const std::int64_t constant = wrapping_add(access.index.constant, offset);
  if (constant == 0)
    return at;
  return ir.CreateGEP(element, at, ir.getInt64(static_cast<std::uint64_t>(constant)));
}

llvm::Value *emit_load(Ir &ir, const Access &access, double fill) {
  Access known = access;
  switch (known_validity(access)) {
  case Validity::None:
    return constant(ir, access.type, fill);
  case Validity::All:
    known.valid = nullptr;
    break;
  case Validity::Unknown:
    break;
  }
  return from_memory(ir, access.type, load_memory(ir, known, fill));
}

void emit_store(Ir &ir, const Access &access, llvm::Value *value) {
  const Validity validity = known_validity(access);
  if (validity == Validity::None)
    return;
  Access known = access;
  if (validity == Validity::All)
    known.valid = nullptr;
  const kernel::Type &type = access.type;
  value = to_memory(ir, type, value);
  const bool is_wide = type.lanes > 1 && access.stride == 1;
  if (!is_wide)
    return scatter(ir, known, value);
  if (known.valid == nullptr)
    return store_whole(ir, known, value);
  if (!has_masked_access(type.elem))
    return store_by_branch(ir, known, value);
  ir.CreateMaskedStore(value, address(ir, known), element_align(type.elem), lane_mask(ir, known));
}

void transpose(Ir &ir, std::vector<llvm::Value *> &rows) {
  const int count = static_cast<int>(rows.size());
  for (int half = count / 2; half > 0; half /= 2) {
    std::vector<int> low,
        high; // lanes of a pair of rows: of the upper one, and behind them the other's
    for (int lane = 0; lane < count; ++lane) {
      const bool is_high = (lane & half) != 0;
      low.push_back(is_high ? count + lane - half : lane);
      high.push_back(is_high ? count + lane : lane + half);
    }
    for (int row = 0; row < count; ++row) {
      if ((row & half) != 0)
        continue;
      llvm::Value *&upper = rows[static_cast<std::size_t>(row)];
      llvm::Value *&lower = rows[static_cast<std::size_t>(row + half)];
      llvm::Value *turned = ir.CreateShuffleVector(upper, lower, low);
      lower = ir.CreateShuffleVector(upper, lower, high);
      upper = turned;
    }
  }
}

} // namespace tilefuse::emit::native
