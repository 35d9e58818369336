// SPDX-License-Identifier: Apache-2.0
// How emit_function walks a kernel: the state of one translation. Functions and buffers are in
// function_builder.cpp, statements in function_builder_statements.cpp, registers of rows in
// function_builder_rows.cpp, expressions in function_builder_expressions.cpp.
//
// Index arithmetic stays in two parts (memory.h) through variables and loops, so that the constant
// of `p + 3`, p being `y * 64 + 16`, is 19 at the load. Nodes that one statement uses several times
// are emitted once.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include "base/index.h"
#include "emit/llvm/memory.h"
#include "kernel/nodes.h"

namespace tilefuse::emit::native {

// The entry fetches each argument's pointer; the body follows the kernel's statements.
class FunctionBuilder {
public:
  FunctionBuilder(const kernel::Kernel &kernel, llvm::Module &module)
      : kernel_(kernel), module_(module), ir_(module.getContext()) {}

  void build(const std::string &symbol) {
    create_body();
    bind_buffers();
    begin_rows();
    emit(kernel_.body);
    end_rows();
    ir_.CreateRetVoid();
    promote_registers();
    create_entry(symbol);
  }

private:
  // Functions.
  void create_body();
  void create_entry(const std::string &symbol);
  void bind_buffers();
  void bind_registers(const kernel::Buffer &buffer, std::vector<llvm::AllocaInst *> &values);
  void promote_registers();

  // Expressions.
  Index index(kernel::ExprRef expr);
  llvm::Value *value(kernel::ExprRef expr);
  llvm::Value *visit(kernel::ExprRef expr);
  Index int_scalar(kernel::ExprRef expr, const kernel::Scalar &scalar);
  llvm::Value *node(const kernel::Expr &expr, const kernel::Const &constant);
  llvm::Value *node(const kernel::Expr &expr, const kernel::VarRef &ref);
  llvm::Value *node(const kernel::Expr &expr, const kernel::BlockIndex &);
  llvm::Value *node(const kernel::Expr &expr, const kernel::LaneIndex &);
  llvm::Value *node(const kernel::Expr &expr, const kernel::Scalar &scalar);
  llvm::Value *node(const kernel::Expr &expr, const kernel::Fma &fma);
  llvm::Value *node(const kernel::Expr &expr, const kernel::Dot &dot);
  llvm::Value *node(const kernel::Expr &expr, const kernel::Cast &cast);
  llvm::Value *node(const kernel::Expr &expr, const kernel::Broadcast &broadcast);
  llvm::Value *node(const kernel::Expr &expr, const kernel::Load &load);

  // Statements.
  void emit(kernel::StmtRef stmt);
  void node(const kernel::Block &block);
  void pack(std::span<const kernel::StmtRef> stores);
  void node(const kernel::Let &let);
  void node(const kernel::For &loop);
  void node(const kernel::If &branch);
  void node(const kernel::Store &store);
  void node(const kernel::Barrier &) {}
  void node(const kernel::Prefetch &prefetch);
  void node(const kernel::Intrinsic &intrinsic);
  void turn(const kernel::Transpose &node);
  // Registers of rows (function_builder_rows.cpp): their shapes are told to the matrix unit at the
  // beginning, and taken back at the end; without any, nothing.
  void begin_rows();
  void end_rows();
  void rows(const kernel::RowsZero &node);
  void rows(const kernel::RowsLoad &node);
  void rows(const kernel::RowsStore &node);
  void rows(const kernel::RowsDot &node);
  llvm::Value *row_register(const kernel::RegisterRef &ref);
  // Address and distance in bytes of rows in memory.
  std::vector<llvm::Value *> rows_at(kernel::BufferId buffer, kernel::ExprRef at,
                                     std::int64_t apart);
  [[noreturn]] void refuse(std::string_view what) const;
  void repeat(const kernel::For &loop, std::int64_t begin, std::int64_t end);
  void iterate(const kernel::For &loop, const Index &begin, const Index &end);

  Access access(kernel::BufferId buffer, const kernel::Type &type, kernel::ExprRef at);
  // The register at an index and so many behind.
  llvm::AllocaInst *register_slot(kernel::BufferId buffer, kernel::ExprRef at,
                                  std::int64_t behind = 0);
  llvm::Value *gathered(const kernel::Type &type, const kernel::Load &load);
  void scatter(const kernel::Store &store, llvm::Value *vector);
  Index &slot(kernel::VarId var) { return variables_[at(var)]; }
  llvm::BasicBlock *new_block(const char *name) {
    return llvm::BasicBlock::Create(module_.getContext(), name, body_);
  }

  const kernel::Kernel &kernel_;
  llvm::Module &module_;
  Ir ir_;
  llvm::Function *body_ = nullptr;
  llvm::Value *block_ = nullptr;
  std::vector<Index> variables_; // by variable; values of other types have constant 0
  std::unordered_map<kernel::ExprRef, Index> known_;       // shared nodes of the statement at hand
  std::vector<llvm::Value *> bases_;                       // by buffer; null for registers
  std::vector<std::vector<llvm::AllocaInst *>> registers_; // by buffer, then value
  std::vector<std::int64_t> first_rows_; // by buffer: its first register of rows; empty: none
};

} // namespace tilefuse::emit::native
