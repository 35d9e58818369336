// SPDX-License-Identifier: Apache-2.0
#include "emit/c/c_words.h"

#include <cstdint>

#include "base/index.h"
#include "emit/c/c_align.h"
#include "kernel/walk.h"
#include "target/dtype_traits.h"

namespace tilefuse::emit {
namespace {

using kernel::Space;

constexpr int kWordElems = 2;

bool can_be_words(const CContext &cx, const kernel::Let &let) {
  const auto *load = std::get_if<kernel::Load>(&let.value->node);
  const kernel::Type &type = let.value->type;
  return load != nullptr && is_half(type.elem) && type.lanes % kWordElems == 0 &&
         cx.kernel[load->buffer].space == Space::Global && load->fill == 0 &&
         !is_aligned(cx, type, *load);
}

// A store that words are enough for, of a variable; else null.
const kernel::VarRef *moved(const CContext &cx, const kernel::Store &store) {
  const kernel::Buffer &to = cx.kernel[store.buffer];
  const kernel::Load at{
      .buffer = store.buffer, .index = store.index, .lane_stride = store.lane_stride};
  const bool is_as_it_is = to.space == Space::Local && to.type.elem == store.value->type.elem &&
                           store.valid == nullptr && store.value->type.lanes > 1 &&
                           is_aligned(cx, store.value->type, at);
  return is_as_it_is ? std::get_if<kernel::VarRef>(&store.value->node) : nullptr;
}

} // namespace

std::vector<bool> word_variables(const CContext &cx) {
  std::vector<bool> found(cx.kernel.variables.size());
  if (!cx.language.has_words())
    return found;
  std::vector<std::int64_t> others(found.size()); // uses besides such stores
  kernel::for_each_expr(cx.kernel.body, [&](kernel::ExprRef expr) {
    if (const auto *ref = std::get_if<kernel::VarRef>(&expr->node))
      ++others[at(ref->var)];
  });
  kernel::for_each_stmt(cx.kernel.body, [&](kernel::StmtRef stmt) {
    if (const auto *let = std::get_if<kernel::Let>(&stmt->node))
      found[at(let->var)] = can_be_words(cx, *let);
    if (const auto *store = std::get_if<kernel::Store>(&stmt->node))
      if (const kernel::VarRef *ref = moved(cx, *store))
        --others[at(ref->var)];
  });
  for (std::size_t i = 0; i < found.size(); ++i)
    found[i] = found[i] && others[i] == 0;
  return found;
}

const kernel::VarRef *stored_words(const CContext &cx, const kernel::Store &store) {
  const auto *ref = std::get_if<kernel::VarRef>(&store.value->node);
  return ref != nullptr && cx.words_of[at(ref->var)] ? ref : nullptr;
}

} // namespace tilefuse::emit
