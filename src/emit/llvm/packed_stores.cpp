// SPDX-License-Identifier: Apache-2.0
#include "emit/llvm/packed_stores.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>

#include <llvm/IR/IntrinsicsX86.h>

#include "base/index.h"
#include "kernel/rounding.h"
#include "kernel/walk.h"
#include "target/dtype_traits.h"

namespace tilefuse::emit::native {
namespace {

using kernel::ExprRef;
using kernel::Store;

// An index as multiples of variables and of what else it is made of, and a constant.
struct Place {
  std::map<std::int64_t, std::int64_t> variables;
  std::vector<std::pair<ExprRef, std::int64_t>> others;
  std::int64_t constant = 0;
};

void add(Place &place, ExprRef expr, std::int64_t times) {
  if (const std::optional<double> number = kernel::constant_of(expr)) {
    place.constant += times * static_cast<std::int64_t>(*number);
  } else if (const auto *variable = std::get_if<kernel::VarRef>(&expr->node)) {
    place.variables[static_cast<std::int64_t>(variable->var)] += times;
  } else if (const auto *sum = kernel::call_of(expr, ScalarOp::Add)) {
    add(place, sum->args[0], times);
    add(place, sum->args[1], times);
  } else if (const auto *difference = kernel::call_of(expr, ScalarOp::Sub)) {
    add(place, difference->args[0], times);
    add(place, difference->args[1], -times);
  } else if (const auto *product = kernel::call_of(expr, ScalarOp::Mul);
             product && kernel::constant_of(product->args[1])) {
    add(place, product->args[0],
        times * static_cast<std::int64_t>(*kernel::constant_of(product->args[1])));
  } else {
    place.others.emplace_back(expr, times);
  }
}

bool have_equal_terms(const Place &a, const Place &b) {
  const auto is_same_term = [](const auto &x, const auto &y) {
    return x.second == y.second && kernel::is_same(x.first, y.first);
  };
  return a.variables == b.variables && std::equal(a.others.begin(), a.others.end(),
                                                  b.others.begin(), b.others.end(), is_same_term);
}

bool reads(ExprRef expr, kernel::BufferId buffer) {
  bool found = false;
  kernel::for_each_expr(expr, [&](ExprRef each) {
    const auto *load = std::get_if<kernel::Load>(&each->node);
    found = found || (load != nullptr && load->buffer == buffer);
  });
  return found;
}

const Store *store_of(kernel::StmtRef stmt) {
  return stmt == nullptr ? nullptr : std::get_if<Store>(&stmt->node);
}

std::optional<RoundedCast> rounded_bytes(const Store &store) {
  const auto *cast = std::get_if<kernel::Cast>(&store.value->node);
  const kernel::Type &type = store.value->type;
  return cast != nullptr && is_byte(type.elem) ? rounded_cast(type, *cast) : std::nullopt;
}

bool is_packable(const kernel::Kernel &kernel, const Store &store, int lanes) {
  const kernel::Type &type = store.value->type;
  return store.valid == nullptr && store.lane_stride == 1 &&
         kernel[store.buffer].space != kernel::Space::Register &&
         (type.lanes == 8 || type.lanes == 16) && type.lanes <= lanes && rounded_bytes(store) &&
         !reads(store.value, store.buffer);
}

struct Placed {
  PackedStore packed;
  Place place;
  bool is_taken = false;
};

std::vector<Placed> by_place(std::span<const kernel::StmtRef> stmts) {
  std::vector<Placed> all;
  for (const kernel::StmtRef stmt : stmts) {
    const Store *store = store_of(stmt);
    all.push_back({{store, *rounded_bytes(*store)}, {}});
    add(all.back().place, store->index, 1);
  }
  std::stable_sort(all.begin(), all.end(), [](const Placed &a, const Placed &b) {
    return a.place.constant < b.place.constant;
  });
  return all;
}

// `b` goes on where `a` ends.
bool goes_on(const Placed &a, const Placed &b) {
  const RoundedCast &x = a.packed.rounded, &y = b.packed.rounded;
  const kernel::Type &type = a.packed.store->value->type;
  return !b.is_taken && b.place.constant == a.place.constant + type.lanes &&
         type == b.packed.store->value->type && x.low == y.low && x.high == y.high &&
         x.offset == y.offset && have_equal_terms(a.place, b.place);
}

// As the processor does it: what no word holds, and what is no number, is the least word.
llvm::Value *to_words(Ir &ir, int lanes, llvm::Value *value) {
  if (lanes == 8)
    return ir.CreateIntrinsic(llvm::Intrinsic::x86_avx_cvt_ps2dq_256, {}, {value});
  constexpr std::uint32_t kCurrentRounding = 4;
  llvm::Type *words = llvm::FixedVectorType::get(ir.getInt32Ty(), 16);
  return ir.CreateIntrinsic(
      llvm::Intrinsic::x86_avx512_mask_cvtps2dq_512, {},
      {value, llvm::PoisonValue::get(words), ir.getInt16(0xffff), ir.getInt32(kCurrentRounding)});
}

// Whole numbers that packing turns into the bytes of `rounded`: it bounds them below by itself where that is
// the bound of no number, too.
llvm::Value *words_of(Ir &ir, const kernel::Type &to, const RoundedCast &rounded,
                      llvm::Value *value) {
  if (lowest(to.elem) != 0 || rounded.low + rounded.offset != 0 || rounded.offset < 0)
    return emit_rounded_words(ir, to, rounded, value);
  llvm::Value *high = llvm::ConstantFP::get(value->getType(), rounded.high);
  llvm::Value *held = ir.CreateSelect(ir.CreateFCmpOGT(value, high), high, value);
  llvm::Value *words = to_words(ir, to.lanes, held);
  if (rounded.offset == 0)
    return words;
  return ir.CreateAdd(words, llvm::ConstantInt::getSigned(
                                 words->getType(), static_cast<std::int64_t>(rounded.offset)));
}

llvm::Value *pack_words(Ir &ir, int lanes, llvm::Value *a, llvm::Value *b) {
  return ir.CreateIntrinsic(lanes == 8 ? llvm::Intrinsic::x86_avx2_packssdw
                                       : llvm::Intrinsic::x86_avx512_packssdw_512,
                            {}, {a, b});
}

llvm::Value *pack_bytes(Ir &ir, const kernel::Type &to, llvm::Value *a, llvm::Value *b) {
  const bool is_signed = to.elem == DType::I8;
  const auto narrow =
      is_signed ? llvm::Intrinsic::x86_avx2_packsswb : llvm::Intrinsic::x86_avx2_packuswb;
  const auto wide = is_signed ? llvm::Intrinsic::x86_avx512_packsswb_512
                              : llvm::Intrinsic::x86_avx512_packuswb_512;
  return ir.CreateIntrinsic(to.lanes == 8 ? narrow : wide, {}, {a, b});
}

} // namespace

std::size_t count_packable(const kernel::Kernel &kernel, std::span<const kernel::StmtRef> stmts,
                           int lanes) {
  std::size_t count = 0;
  for (const kernel::StmtRef stmt : stmts) {
    const Store *store = store_of(stmt);
    if (store == nullptr || store->buffer != store_of(stmts.front())->buffer ||
        !is_packable(kernel, *store, lanes))
      break;
    ++count;
  }
  return count;
}

std::vector<std::vector<PackedStore>> packed_groups(std::span<const kernel::StmtRef> stmts) {
  constexpr std::size_t kMost = 4;
  std::vector<Placed> all = by_place(stmts);
  std::vector<std::vector<PackedStore>> groups;
  for (Placed &first : all) {
    if (first.is_taken)
      continue;
    std::vector<PackedStore> group{first.packed};
    const Placed *last = &first;
    for (Placed &next : all) {
      if (group.size() == kMost || !goes_on(*last, next))
        continue;
      next.is_taken = true;
      group.push_back(next.packed);
      last = &next;
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

// Packing works on 128 bits each: of every vector four bytes of each 128 bits come out side by side.
llvm::Value *emit_packed(Ir &ir, const kernel::Type &to, const RoundedCast &rounded,
                         std::span<llvm::Value *const> values) {
  std::vector<llvm::Value *> words;
  for (llvm::Value *value : values)
    words.push_back(words_of(ir, to, rounded, value));
  const auto pair = [&](std::size_t k) {
    return pack_words(ir, to.lanes, words[k], words[std::min(k + 1, words.size() - 1)]);
  };
  llvm::Value *first = pair(0);
  llvm::Value *packed = pack_bytes(ir, to, first, words.size() > 2 ? pair(2) : first);
  const int parts = to.lanes / 4; // of 128 bits
  std::vector<int> order;
  for (int k = 0; k < static_cast<int>(words.size()); ++k)
    for (int part = 0; part < parts; ++part)
      order.push_back(4 * part + k);
  llvm::Type *fours = llvm::FixedVectorType::get(ir.getInt32Ty(), static_cast<unsigned>(to.lanes));
  llvm::Value *sorted = ir.CreateShuffleVector(ir.CreateBitCast(packed, fours), order);
  return ir.CreateBitCast(
      sorted, llvm::FixedVectorType::get(ir.getInt8Ty(), static_cast<unsigned>(to.lanes) *
                                                             static_cast<unsigned>(values.size())));
}

} // namespace tilefuse::emit::native
