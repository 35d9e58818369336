// SPDX-License-Identifier: Apache-2.0
#include "emit/llvm/function_builder.h"

#include <fmt/format.h>
#include <llvm/IR/Dominators.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

#include "base/error.h"
#include "emit/llvm/scratch_layout.h"

namespace tilefuse::emit::native {
namespace {

constexpr std::int64_t kMaxRegisters = 1 << 12;

} // namespace

void FunctionBuilder::create_body() {
  std::vector<llvm::Type *> parameters;
  for (const kernel::Buffer &buffer : kernel_.buffers)
    if (buffer.space == kernel::Space::Global)
      parameters.push_back(ir_.getPtrTy());
  parameters.push_back(ir_.getInt64Ty());
  parameters.push_back(ir_.getPtrTy());
  auto *type = llvm::FunctionType::get(ir_.getVoidTy(), parameters, false);
  body_ = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, "body", module_);
  for (llvm::Argument &argument : body_->args())
    if (argument.getType()->isPointerTy())
      argument.addAttr(llvm::Attribute::NoAlias);
  block_ = body_->getArg(static_cast<unsigned>(parameters.size() - 2));
  ir_.SetInsertPoint(new_block("entry"));
  variables_.resize(kernel_.variables.size());
}

void FunctionBuilder::create_entry(const std::string &symbol) {
  auto *type = llvm::FunctionType::get(ir_.getVoidTy(),
                                       {ir_.getPtrTy(), ir_.getInt64Ty(), ir_.getPtrTy()}, false);
  auto *entry = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, symbol, module_);
  ir_.SetInsertPoint(llvm::BasicBlock::Create(module_.getContext(), "entry", entry));
  std::vector<llvm::Value *> values;
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
  llvm::Value *scratch_base = body_->getArg(static_cast<unsigned>(body_->arg_size() - 1));
  bases_.assign(kernel_.buffers.size(), nullptr);
  registers_.resize(kernel_.buffers.size());
  unsigned argument = 0;
  for (std::size_t i = 0; i < kernel_.buffers.size(); ++i) {
    const kernel::Buffer &buffer = kernel_.buffers[i];
    switch (buffer.space) {
    case kernel::Space::Global:
      bases_[i] = body_->getArg(argument++);
      break;
    case kernel::Space::Local:
      bases_[i] = ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), scratch_base,
                                                 static_cast<std::uint64_t>(scratch.offsets[i]));
      break;
    case kernel::Space::Register:
      bind_registers(buffer, registers_[i]);
      break;
    }
  }
}

void FunctionBuilder::bind_registers(const kernel::Buffer &buffer,
                                     std::vector<llvm::AllocaInst *> &values) {
  if (buffer.elems < 0 || buffer.elems > kMaxRegisters)
    throw Error(ErrorCode::Limit,
                fmt::format("register buffer '{}' has {} values; at most {} are possible",
                            buffer.name, buffer.elems, kMaxRegisters));
  if (buffer.rows > 0)
    return;
  for (std::int64_t i = 0; i < buffer.elems; ++i)
    values.push_back(ir_.CreateAlloca(value_type(ir_, buffer.type), nullptr, buffer.name));
}

void FunctionBuilder::promote_registers() {
  std::vector<llvm::AllocaInst *> values;
  for (const auto &buffer : registers_)
    values.insert(values.end(), buffer.begin(), buffer.end());
  if (values.empty())
    return;
  llvm::DominatorTree tree(*body_);
  llvm::PromoteMemToReg(values, tree);
}

} // namespace tilefuse::emit::native
