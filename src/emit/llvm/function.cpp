// SPDX-License-Identifier: Apache-2.0
#include "emit/llvm/function.h"

#include <unordered_map>
#include <variant>

#include <fmt/format.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

#include "base/error.h"
#include "emit/llvm/memory.h"
#include "emit/llvm/scalar_ops.h"

namespace tilefuse::emit::native {
namespace {

constexpr std::int64_t kScratchAlign = 64;
constexpr std::int64_t kMaxUnroll = 1 << 16;
constexpr std::int64_t kMaxRegisters = 1 << 12;

// The entry fetches each argument's pointer; the body follows the kernel's statements.
class FunctionBuilder {
 public:
  FunctionBuilder(const kernel::Kernel& kernel, llvm::Module& module)
      : kernel_(kernel), module_(module), ir_(module.getContext()) {}

  void build(const std::string& symbol) {
    create_body();
    bind_buffers();
    emit(kernel_.body);
    ir_.CreateRetVoid();
    promote_registers();
    create_entry(symbol);
  }

 private:
  // Functions.
  void create_body();
  void create_entry(const std::string& symbol);
  void bind_buffers();
  void bind_registers(const kernel::Buffer& buffer, std::vector<llvm::AllocaInst*>& values);
  void promote_registers();

  // Expressions.
  Index index(kernel::ExprRef expr);
  llvm::Value* value(kernel::ExprRef expr);
  llvm::Value* visit(kernel::ExprRef expr);
  Index int_scalar(kernel::ExprRef expr, const kernel::Scalar& scalar);
  llvm::Value* node(const kernel::Expr& expr, const kernel::Const& constant);
  llvm::Value* node(const kernel::Expr& expr, const kernel::VarRef& ref);
  llvm::Value* node(const kernel::Expr& expr, const kernel::BlockIndex&);
  llvm::Value* node(const kernel::Expr& expr, const kernel::LaneIndex&);
  llvm::Value* node(const kernel::Expr& expr, const kernel::Scalar& scalar);
  llvm::Value* node(const kernel::Expr& expr, const kernel::Fma& fma);
  llvm::Value* node(const kernel::Expr& expr, const kernel::Cast& cast);
  llvm::Value* node(const kernel::Expr& expr, const kernel::Broadcast& broadcast);
  llvm::Value* node(const kernel::Expr& expr, const kernel::Load& load);

  // Statements.
  void emit(kernel::StmtRef stmt);
  void node(const kernel::Block& block);
  void node(const kernel::Let& let);
  void node(const kernel::For& loop);
  void node(const kernel::If& branch);
  void node(const kernel::Store& store);
  void node(const kernel::Barrier&) {}
  void node(const kernel::Prefetch& prefetch);
  void repeat(const kernel::For& loop, std::int64_t begin, std::int64_t end);
  void iterate(const kernel::For& loop, const Index& begin, const Index& end);

  Access access(kernel::BufferId buffer, const kernel::Type& type, kernel::ExprRef at);
  llvm::AllocaInst* register_slot(kernel::BufferId buffer, kernel::ExprRef at);
  Index& slot(kernel::VarId var) { return variables_[static_cast<std::size_t>(to_int(var))]; }
  llvm::BasicBlock* new_block(const char* name) {
    return llvm::BasicBlock::Create(module_.getContext(), name, body_);
  }

  const kernel::Kernel& kernel_;
  llvm::Module& module_;
  Ir ir_;
  llvm::Function* body_ = nullptr;
  llvm::Value* block_ = nullptr;
  std::vector<Index> variables_;                           // by variable; values of other types have constant 0
  std::unordered_map<kernel::ExprRef, Index> known_;       // shared nodes of the statement at hand
  std::vector<llvm::Value*> bases_;                        // by buffer; null for registers
  std::vector<std::vector<llvm::AllocaInst*>> registers_;  // by buffer, then value
};

// ---- functions

void FunctionBuilder::create_body() {
  std::vector<llvm::Type*> parameters;
  for (const kernel::Buffer& buffer : kernel_.buffers)
    if (buffer.space == kernel::Space::Global) parameters.push_back(ir_.getPtrTy());
  parameters.push_back(ir_.getInt64Ty());
  parameters.push_back(ir_.getPtrTy());
  auto* type = llvm::FunctionType::get(ir_.getVoidTy(), parameters, false);
  body_ = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, "body", module_);
  for (llvm::Argument& argument : body_->args())
    if (argument.getType()->isPointerTy()) argument.addAttr(llvm::Attribute::NoAlias);
  block_ = body_->getArg(static_cast<unsigned>(parameters.size() - 2));
  ir_.SetInsertPoint(new_block("entry"));
  variables_.resize(kernel_.variables.size());
}

void FunctionBuilder::create_entry(const std::string& symbol) {
  auto* type = llvm::FunctionType::get(
      ir_.getVoidTy(), {ir_.getPtrTy(), ir_.getInt64Ty(), ir_.getPtrTy()}, false);
  auto* entry = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, symbol, module_);
  ir_.SetInsertPoint(llvm::BasicBlock::Create(module_.getContext(), "entry", entry));
  std::vector<llvm::Value*> values;
  for (unsigned i = 0; i + 2 < body_->arg_size(); ++i)
    values.push_back(ir_.CreateLoad(
        ir_.getPtrTy(), ir_.CreateConstInBoundsGEP1_64(ir_.getPtrTy(), entry->getArg(0), i)));
  values.push_back(entry->getArg(1));
  values.push_back(entry->getArg(2));
  ir_.CreateCall(body_, values);
  ir_.CreateRetVoid();
}

void FunctionBuilder::bind_buffers() {
  const ScratchLayout scratch = layout_scratch(kernel_);
  llvm::Value* scratch_base = body_->getArg(static_cast<unsigned>(body_->arg_size() - 1));
  bases_.assign(kernel_.buffers.size(), nullptr);
  registers_.resize(kernel_.buffers.size());
  unsigned argument = 0;
  for (std::size_t i = 0; i < kernel_.buffers.size(); ++i) {
    const kernel::Buffer& buffer = kernel_.buffers[i];
    switch (buffer.space) {
      case kernel::Space::Global: bases_[i] = body_->getArg(argument++); break;
      case kernel::Space::Local:
        bases_[i] = ir_.CreateConstInBoundsGEP1_64(
            ir_.getInt8Ty(), scratch_base, static_cast<std::uint64_t>(scratch.offsets[i]));
        break;
      case kernel::Space::Register: bind_registers(buffer, registers_[i]); break;
    }
  }
}

void FunctionBuilder::bind_registers(const kernel::Buffer& buffer,
                                     std::vector<llvm::AllocaInst*>& values) {
  if (buffer.elems < 0 || buffer.elems > kMaxRegisters)
    throw Error(ErrorCode::Limit,
                fmt::format("register buffer '{}' has {} values; at most {} are possible",
                            buffer.name, buffer.elems, kMaxRegisters));
  for (std::int64_t i = 0; i < buffer.elems; ++i)
    values.push_back(ir_.CreateAlloca(value_type(ir_, buffer.type), nullptr, buffer.name));
}

void FunctionBuilder::promote_registers() {
  std::vector<llvm::AllocaInst*> values;
  for (const auto& buffer : registers_) values.insert(values.end(), buffer.begin(), buffer.end());
  if (values.empty()) return;
  llvm::DominatorTree tree(*body_);
  llvm::PromoteMemToReg(values, tree);
}

// ---- expressions

// Sums, differences and constant multiples of index arithmetic keep their constant part apart.
Index FunctionBuilder::int_scalar(kernel::ExprRef expr, const kernel::Scalar& scalar) {
  switch (scalar.op) {
    case ScalarOp::Add: return add(ir_, index(scalar.args[0]), index(scalar.args[1]));
    case ScalarOp::Sub: return subtract(ir_, index(scalar.args[0]), index(scalar.args[1]));
    case ScalarOp::Mul: return multiply(ir_, index(scalar.args[0]), index(scalar.args[1]));
    default: return split(visit(expr));
  }
}

Index FunctionBuilder::index(kernel::ExprRef expr) {
  if (!is_int(expr->type))
    throw Error(ErrorCode::Unsupported, "an index of the kernel is not a 32-bit integer scalar");
  if (const auto* ref = std::get_if<kernel::VarRef>(&expr->node)) return slot(ref->var);
  if (const auto known = known_.find(expr); known != known_.end()) return known->second;
  const auto* scalar = std::get_if<kernel::Scalar>(&expr->node);
  const Index result = scalar != nullptr ? int_scalar(expr, *scalar) : split(visit(expr));
  known_.emplace(expr, result);
  return result;
}

llvm::Value* FunctionBuilder::value(kernel::ExprRef expr) {
  if (is_int(expr->type)) return whole(ir_, index(expr));
  if (const auto known = known_.find(expr); known != known_.end()) return known->second.dynamic;
  llvm::Value* result = visit(expr);
  known_.emplace(expr, Index{result, 0});
  return result;
}

llvm::Value* FunctionBuilder::visit(kernel::ExprRef expr) {
  return std::visit([&](const auto& inner) { return node(*expr, inner); }, expr->node);
}

llvm::Value* FunctionBuilder::node(const kernel::Expr& expr, const kernel::Const& number) {
  return constant(ir_, expr.type, number.value);
}

llvm::Value* FunctionBuilder::node(const kernel::Expr&, const kernel::VarRef& ref) {
  return whole(ir_, slot(ref.var));
}

llvm::Value* FunctionBuilder::node(const kernel::Expr&, const kernel::BlockIndex&) { return block_; }

llvm::Value* FunctionBuilder::node(const kernel::Expr&, const kernel::LaneIndex&) {
  return ir_.getInt64(0);
}

llvm::Value* FunctionBuilder::node(const kernel::Expr&, const kernel::Scalar& scalar) {
  std::vector<llvm::Value*> args;
  for (kernel::ExprRef arg : scalar.args) args.push_back(value(arg));
  return emit_scalar(ir_, scalar.op, scalar.args.back()->type, args);
}

llvm::Value* FunctionBuilder::node(const kernel::Expr& expr, const kernel::Fma& fma) {
  if (expr.type.elem != DType::F32 && expr.type.elem != DType::F64)
    throw Error(ErrorCode::Unsupported,
                fmt::format("'fma' has no machine code for {}", to_string(expr.type.elem)));
  llvm::Value* a = value(fma.a);
  llvm::Value* b = value(fma.b);
  llvm::Value* c = value(fma.c);
  return ir_.CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()}, {a, b, c});
}

llvm::Value* FunctionBuilder::node(const kernel::Expr& expr, const kernel::Cast& node) {
  return cast(ir_, node.value->type, expr.type, value(node.value));
}

llvm::Value* FunctionBuilder::node(const kernel::Expr& expr, const kernel::Broadcast& broadcast) {
  llvm::Value* scalar = value(broadcast.value);
  if (is_int(broadcast.value->type) && expr.type.lanes > 1)
    scalar = ir_.CreateTrunc(scalar, ir_.getInt32Ty());
  return splat(ir_, scalar, expr.type.lanes);
}

llvm::Value* FunctionBuilder::node(const kernel::Expr& expr, const kernel::Load& load) {
  if (kernel_[load.buffer].space == kernel::Space::Register)
    return ir_.CreateLoad(value_type(ir_, expr.type), register_slot(load.buffer, load.index));
  Access from = access(load.buffer, expr.type, load.index);
  from.stride = load.lane_stride;
  if (load.valid != nullptr) from.valid = value(load.valid);
  return emit_load(ir_, from, load.fill);
}

Access FunctionBuilder::access(kernel::BufferId buffer, const kernel::Type& type,
                               kernel::ExprRef at) {
  return {.base = bases_[static_cast<std::size_t>(to_int(buffer))],
          .type = {kernel_[buffer].type.elem, type.lanes},
          .index = index(at)};
}

llvm::AllocaInst* FunctionBuilder::register_slot(kernel::BufferId buffer, kernel::ExprRef at) {
  const Index where = index(at);
  const auto& values = registers_[static_cast<std::size_t>(to_int(buffer))];
  const bool in_range =
      where.constant >= 0 && where.constant < static_cast<std::int64_t>(values.size());
  if (where.dynamic != nullptr || !in_range)
    throw Error(ErrorCode::Unsupported,
                fmt::format("an index of register buffer '{}' is not a constant in [0, {})",
                            kernel_[buffer].name, values.size()));
  return values[static_cast<std::size_t>(where.constant)];
}

// ---- statements

void FunctionBuilder::emit(kernel::StmtRef stmt) {
  if (stmt == nullptr) return;
  known_.clear();
  std::visit([&](const auto& inner) { node(inner); }, stmt->node);
}

void FunctionBuilder::node(const kernel::Block& block) {
  for (kernel::StmtRef stmt : block.body) emit(stmt);
}

void FunctionBuilder::node(const kernel::Let& let) {
  slot(let.var) = is_int(let.value->type) ? index(let.value) : Index{value(let.value), 0};
}

void FunctionBuilder::node(const kernel::For& loop) {
  if (loop.step <= 0)
    throw Error(ErrorCode::Unsupported, fmt::format("a loop's step is {}; it must be positive", loop.step));
  const Index begin = index(loop.begin);
  const Index end = index(loop.end);
  if (begin.dynamic != nullptr || end.dynamic != nullptr) return iterate(loop, begin, end);
  if (begin.constant >= end.constant) return;
  const bool is_single = end.constant - begin.constant <= loop.step;
  if (is_single || loop.kind == kernel::ForKind::Unroll)
    return repeat(loop, begin.constant, end.constant);
  iterate(loop, begin, end);
}

void FunctionBuilder::repeat(const kernel::For& loop, std::int64_t begin, std::int64_t end) {
  if ((end - begin) / loop.step > kMaxUnroll)
    throw Error(ErrorCode::Limit, fmt::format("a loop of more than {} steps is to be unrolled", kMaxUnroll));
  for (std::int64_t i = begin; i < end; i += loop.step) {
    slot(loop.var) = {nullptr, i};
    emit(loop.body);
  }
}

// if (begin < end) do { body; i += step } while (i < end)
void FunctionBuilder::iterate(const kernel::For& loop, const Index& begin, const Index& end) {
  llvm::Value* first = whole(ir_, begin);
  llvm::Value* last = whole(ir_, end);
  llvm::BasicBlock* ahead = new_block("ahead");
  llvm::BasicBlock* body = new_block("loop");
  llvm::BasicBlock* done = new_block("done");
  ir_.CreateCondBr(ir_.CreateICmpSLT(first, last), ahead, done);
  ir_.SetInsertPoint(ahead);
  ir_.CreateBr(body);
  ir_.SetInsertPoint(body);
  llvm::PHINode* counter = ir_.CreatePHI(ir_.getInt64Ty(), 2);
  counter->addIncoming(first, ahead);
  slot(loop.var) = {counter, 0};
  emit(loop.body);
  llvm::Value* next = ir_.CreateNSWAdd(counter, ir_.getInt64(static_cast<std::uint64_t>(loop.step)));
  counter->addIncoming(next, ir_.GetInsertBlock());
  llvm::BasicBlock* exit = new_block("exit");
  llvm::BranchInst* latch = ir_.CreateCondBr(ir_.CreateICmpSLT(next, last), body, exit);
  llvm::LLVMContext& context = module_.getContext();
  auto* option = llvm::MDNode::get(context, llvm::MDString::get(context, "llvm.loop.unroll.disable"));
  llvm::MDNode* marks = llvm::MDNode::getDistinct(context, {nullptr, option});
  marks->replaceOperandWith(0, marks);
  latch->setMetadata(llvm::LLVMContext::MD_loop, marks);
  ir_.SetInsertPoint(exit);
  ir_.CreateBr(done);
  ir_.SetInsertPoint(done);
}

void FunctionBuilder::node(const kernel::If& branch) {
  llvm::Value* condition = to_bool(ir_, branch.condition->type.elem, value(branch.condition));
  if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(condition))
    return emit(known->isZero() ? branch.else_body : branch.then_body);
  llvm::BasicBlock* then_block = new_block("then");
  llvm::BasicBlock* join = new_block("join");
  llvm::BasicBlock* else_block = branch.else_body == nullptr ? join : new_block("else");
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

void FunctionBuilder::node(const kernel::Store& store) {
  llvm::Value* stored = value(store.value);
  if (kernel_[store.buffer].space == kernel::Space::Register) {
    ir_.CreateStore(stored, register_slot(store.buffer, store.index));
    return;
  }
  Access to = access(store.buffer, store.value->type, store.index);
  to.stride = store.lane_stride;
  if (store.valid != nullptr) to.valid = value(store.valid);
  emit_store(ir_, to, stored);
}

void FunctionBuilder::node(const kernel::Prefetch& prefetch) {
  if (kernel_[prefetch.buffer].space == kernel::Space::Register) return;
  const Access line = access(prefetch.buffer, {DType::I32, 1}, prefetch.index);
  ir_.CreateIntrinsic(llvm::Intrinsic::prefetch, {ir_.getPtrTy()},
                      {address(ir_, line), ir_.getInt32(0), ir_.getInt32(3), ir_.getInt32(1)});
}

[[noreturn]] void too_large(const kernel::Buffer& buffer) {
  throw Error(ErrorCode::Limit, fmt::format("buffer '{}' of {} {} elements does not fit 64 bits",
                                            buffer.name, buffer.elems, to_string(buffer.type.elem)));
}

}  // namespace

std::int64_t buffer_bytes(const kernel::Buffer& buffer) {
  std::int64_t bytes = 0;
  if (buffer.elems < 0 ||
      __builtin_mul_overflow(buffer.elems, size_bytes(buffer.type.elem), &bytes))
    too_large(buffer);
  return bytes;
}

ScratchLayout layout_scratch(const kernel::Kernel& kernel) {
  ScratchLayout layout;
  for (const kernel::Buffer& buffer : kernel.buffers) {
    if (buffer.space != kernel::Space::Local) {
      layout.offsets.push_back(0);
      continue;
    }
    layout.offsets.push_back(layout.bytes);
    std::int64_t end = 0;
    if (__builtin_add_overflow(layout.bytes, buffer_bytes(buffer), &end) ||
        __builtin_add_overflow(end, kScratchAlign - 1, &end))
      too_large(buffer);
    layout.bytes = end / kScratchAlign * kScratchAlign;
  }
  return layout;
}

void emit_function(const kernel::Kernel& kernel, const std::string& symbol, llvm::Module& module) {
  if (kernel.block_size != 1)
    throw Error(ErrorCode::Unsupported,
                fmt::format("kernel '{}' has {} work-items per block; machine code runs 1",
                            kernel.name, kernel.block_size));
  FunctionBuilder(kernel, module).build(symbol);
}

}  // namespace tilefuse::emit::native
