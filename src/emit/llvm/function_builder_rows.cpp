// SPDX-License-Identifier: Apache-2.0
// Registers of rows: the tiles of Intel AMX (Intel 64 and IA-32 Architectures Software Developer's
// Manual, volume 1, chapter 18). A kernel has one configuration of its eight tiles.
#include <array>

#include <fmt/format.h>
#include <llvm/IR/IntrinsicsX86.h>

#include "base/error.h"
#include "emit/llvm/function_builder.h"
#include "kernel/build.h"

namespace tilefuse::emit::native {
namespace {

constexpr std::int64_t kTiles = 8;
constexpr std::size_t kConfiguration = 64; // bytes
constexpr std::size_t kRowBytes = 16;      // where bytes of a row stand in it, two of each tile
constexpr std::size_t kRows = 48;          // where rows stand, one of each

struct Row {
  std::string_view op;
  llvm::Intrinsic::ID intrinsic;
};

constexpr std::array kDots = std::to_array<Row>({
    {"rowdot4.u8.s8.s32", llvm::Intrinsic::x86_tdpbusd},
    {"rowdot4.s8.s8.s32", llvm::Intrinsic::x86_tdpbssd},
    {"rowdot4.s8.u8.s32", llvm::Intrinsic::x86_tdpbsud},
    {"rowdot4.u8.u8.s32", llvm::Intrinsic::x86_tdpbuud},
});

llvm::Intrinsic::ID intrinsic_of(const DotOp &op) {
  for (const Row &row : kDots)
    if (row.op == op.name)
      return row.intrinsic;
  throw Error(ErrorCode::Unsupported, fmt::format("'{}' has no machine code", op.name));
}

} // namespace

void FunctionBuilder::begin_rows() {
  std::array<unsigned char, kConfiguration> bytes{1}; // the palette of eight tiles
  std::int64_t used = 0;
  for (const kernel::Buffer &buffer : kernel_.buffers) {
    first_rows_.push_back(used);
    if (buffer.rows == 0)
      continue;
    if (used + buffer.elems > kTiles)
      throw Error(ErrorCode::Limit, fmt::format("more than {} registers of rows", kTiles));
    const std::int64_t wide = buffer.type.lanes * size_bytes(buffer.type.elem);
    for (; used < first_rows_.back() + buffer.elems; ++used) {
      bytes[kRowBytes + 2 * static_cast<std::size_t>(used)] = static_cast<unsigned char>(wide);
      bytes[kRows + static_cast<std::size_t>(used)] = static_cast<unsigned char>(buffer.rows);
    }
  }
  if (used == 0)
    return first_rows_.clear();
  auto *type = llvm::ArrayType::get(ir_.getInt8Ty(), kConfiguration);
  llvm::AllocaInst *memory = ir_.CreateAlloca(type, nullptr, "shapes");
  memory->setAlignment(llvm::Align(kConfiguration));
  for (std::size_t i = 0; i < kConfiguration; i += 8) {
    std::uint64_t word = 0;
    for (std::size_t byte = 0; byte < 8; ++byte)
      word |= static_cast<std::uint64_t>(bytes[i + byte]) << (8 * byte);
    ir_.CreateStore(ir_.getInt64(word), ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), memory, i));
  }
  ir_.CreateIntrinsic(llvm::Intrinsic::x86_ldtilecfg, {}, {memory});
}

void FunctionBuilder::end_rows() {
  if (!first_rows_.empty())
    ir_.CreateIntrinsic(llvm::Intrinsic::x86_tilerelease, {}, {});
}

llvm::Value *FunctionBuilder::row_register(const kernel::RegisterRef &ref) {
  const Index at = index(ref.index);
  const kernel::Buffer &buffer = kernel_[ref.buffer];
  if (at.dynamic != nullptr || at.constant < 0 || at.constant >= buffer.elems)
    throw Error(ErrorCode::Unsupported,
                fmt::format("an index of register buffer '{}' is not a constant in [0, {})",
                            buffer.name, buffer.elems));
  return ir_.getInt8(
      static_cast<std::uint8_t>(first_rows_[static_cast<std::size_t>(ref.buffer)] + at.constant));
}

std::vector<llvm::Value *> FunctionBuilder::rows_at(kernel::BufferId buffer, kernel::ExprRef at,
                                                    std::int64_t apart) {
  const DType elem = kernel_[buffer].type.elem;
  llvm::Value *first = address(ir_, access(buffer, {elem, 1}, at));
  return {first, ir_.getInt64(static_cast<std::uint64_t>(apart * size_bytes(elem)))};
}

void FunctionBuilder::rows(const kernel::RowsZero &node) {
  ir_.CreateIntrinsic(llvm::Intrinsic::x86_tilezero, {}, {row_register(node.to)});
}

void FunctionBuilder::rows(const kernel::RowsLoad &node) {
  std::vector<llvm::Value *> arguments = rows_at(node.from, node.index, node.apart);
  arguments.insert(arguments.begin(), row_register(node.to));
  ir_.CreateIntrinsic(llvm::Intrinsic::x86_tileloadd64, {}, arguments);
}

void FunctionBuilder::rows(const kernel::RowsStore &node) {
  std::vector<llvm::Value *> arguments = rows_at(node.to, node.index, node.apart);
  arguments.insert(arguments.begin(), row_register(node.from));
  ir_.CreateIntrinsic(llvm::Intrinsic::x86_tilestored64, {}, arguments);
}

void FunctionBuilder::rows(const kernel::RowsDot &node) {
  ir_.CreateIntrinsic(intrinsic_of(*node.op), {},
                      {row_register(node.acc), row_register(node.a), row_register(node.b)});
}

} // namespace tilefuse::emit::native
