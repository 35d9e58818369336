// SPDX-License-Identifier: Apache-2.0
#include "emit/c/c_memory.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/index.h"
#include "emit/c/c_align.h"
#include "emit/c/c_context.h"
#include "emit/c/c_expr.h"
#include "emit/c/c_matrix.h"
#include "emit/c/c_names.h"
#include "emit/c/c_words.h"
#include "kernel/build.h"
#include "target/dtype_traits.h"

namespace tilefuse::emit {
namespace {

using kernel::Space;
using kernel::Type;

std::string register_text(CContext &cx, kernel::BufferId id, kernel::ExprRef index) {
  std::int64_t value = 0;
  if (cx.split[at(id)] && kernel::is_constant(index, &value))
    return register_name(cx, id, value);
  return fmt::format("{}[{}]", buffer_name(cx, id), bare(expression(cx, index)));
}

// A register value, or a vector of several.
std::string register_value(CContext &cx, const Type &type, const kernel::Load &load) {
  if (cx.fragments[at(load.buffer)])
    throw Error(ErrorCode::Unsupported, "a matrix fragment is read as a value");
  if (cx.kernel[load.buffer].type == type)
    return register_text(cx, load.buffer, load.index);
  std::int64_t first = 0;
  TILEFUSE_CHECK(kernel::is_constant(load.index, &first), "registers gathered at a variable index");
  std::string lanes;
  for (int lane = 0; lane < type.lanes; ++lane)
    lanes += fmt::format("{}{}", lane == 0 ? "" : ", ",
                         register_name(cx, load.buffer, first + lane * load.lane_stride));
  return cx.language.compose(value_type(cx, type), lanes);
}

// A vector into registers of one lane each.
std::string scattered_registers(CContext &cx, const kernel::Store &store,
                                const std::string &value) {
  std::int64_t first = 0;
  TILEFUSE_CHECK(kernel::is_constant(store.index, &first),
                 "registers scattered at a variable index");
  std::string text =
      fmt::format("{{ const {} t = {};", value_type(cx, store.value->type), bare(value));
  for (int lane = 0; lane < store.value->type.lanes; ++lane)
    text += fmt::format(" {} = {};", register_name(cx, store.buffer, first + lane),
                        cx.language.lane("t", lane));
  return text + " }";
}

// What has a word's size into a fragment.
std::string fragment_store(CContext &cx, const kernel::Store &store, const std::string &value) {
  const Words to = fragment_words(cx, {store.buffer, store.index}, 1);
  TILEFUSE_CHECK(to.size() == 1, "a fragment is written in other parts than words");
  return fmt::format("{} = {};", to.front(), cx.language.word(store.value->type, bare(value)));
}

// A store of bfloat16 reads its value several times: it gets a name first.
std::string bfloat_store(const CContext &cx, const Type &type, const std::string &base,
                         const std::string &index, const std::string &value) {
  return fmt::format("{{ const {} t = {}; {}; }}", value_type(cx, type), bare(value),
                     cx.language.store(DType::BF16, type.lanes, base, index, "t"));
}

// What a memory element takes: {I32, 1} may be held wider.
std::string stored_value(const CContext &cx, const Type &type, std::string value) {
  return cx.wide && type.elem == DType::I32 && type.lanes == 1 ? "(int)" + value : value;
}

// An element of memory. Processors' compilers fold a constant into the address when it is added to
// a pointer, and not when it is added to an int before that.
std::string element_text(CContext &cx, DType elem, const kernel::Load &load) {
  const std::string base = buffer_name(cx, load.buffer);
  const auto *sum = std::get_if<kernel::Scalar>(&load.index->node);
  if (!cx.vector_target || sum == nullptr || sum->op != ScalarOp::Add)
    return cx.language.load(elem, 1, base, bare(expression(cx, load.index)));
  std::int64_t constant = 0;
  const bool ends_so = kernel::is_constant(sum->args[1], &constant);
  const kernel::ExprRef rest = ends_so ? sum->args[0] : load.index;
  return cx.language.load(elem, 1, fmt::format("({})", offset(base, bare(expression(cx, rest)))),
                          integer_literal(cx, constant));
}

// A scalar or an aligned vector under a condition; empty where it is selected as any value is.
std::string conditional_text(CContext &cx, const Type &type, const kernel::Load &load,
                             const std::string &condition) {
  const kernel::Buffer &buffer = cx.kernel[load.buffer];
  if (buffer.space != Space::Global || buffer.written)
    return {};
  return cx.language.conditional_load(cx,
                                      {buffer,
                                       {buffer.type.elem, type.lanes},
                                       buffer_name(cx, load.buffer),
                                       bare(expression(cx, load.index))},
                                      condition, fill_literal(cx, type, load.fill));
}

// A whole vector under a condition, or unconditionally; empty where elements differ.
std::string aligned_load(CContext &cx, const kernel::Buffer &buffer, const Type &type,
                         const kernel::Load &load) {
  const kernel::ExprRef condition =
      load.valid == nullptr ? nullptr : all_or_none(load.valid, type.lanes);
  if (load.valid != nullptr && condition == nullptr)
    return {};
  if (!is_aligned(cx, type, load))
    return {};
  if (condition != nullptr)
    if (std::string text = conditional_text(cx, type, load, bare(expression(cx, condition)));
        !text.empty())
      return text;
  const std::string vector = cx.language.wide_load(cx, {buffer,
                                                        {buffer.type.elem, type.lanes},
                                                        buffer_name(cx, load.buffer),
                                                        bare(expression(cx, load.index))});
  if (condition == nullptr)
    return vector;
  return cx.language.select(1, expression(cx, condition), vector, literal(cx, type, load.fill));
}

std::string aligned_store(CContext &cx, const kernel::Buffer &buffer, const kernel::Store &store,
                          const std::string &value) {
  const Type &type = store.value->type;
  const kernel::ExprRef condition =
      store.valid == nullptr ? nullptr : all_or_none(store.valid, type.lanes);
  if (store.valid != nullptr && condition == nullptr)
    return {};
  const kernel::Load at{
      .buffer = store.buffer, .index = store.index, .lane_stride = store.lane_stride};
  if (!is_aligned(cx, type, at))
    return {};
  const std::string text =
      cx.language.wide_store(
          cx, {buffer, type, buffer_name(cx, store.buffer), bare(expression(cx, store.index))},
          bare(value)) +
      ";";
  return condition == nullptr ? text
                              : fmt::format("if ({}) {}", bare(expression(cx, condition)), text);
}

// Of another block of the cluster.
std::string remote_load(CContext &cx, const Type &type, const kernel::Load &load) {
  const std::string here = offset(buffer_name(cx, load.buffer), bare(expression(cx, load.index)));
  const std::string there = cx.language.pointer_of_rank(here, bare(expression(cx, load.rank)));
  const std::string first = integer_literal(cx, 0);
  const kernel::Buffer &buffer = cx.kernel[load.buffer];
  return type.lanes > 1 && is_aligned(cx, type, load)
             ? cx.language.wide_load(cx, {buffer, type, there, first})
             : cx.language.load(type.elem, type.lanes, there, first);
}

} // namespace

std::string load_text(CContext &cx, const Type &type, const kernel::Load &load) {
  const kernel::Buffer &buffer = cx.kernel[load.buffer];
  if (buffer.space == Space::Register)
    return register_value(cx, type, load);
  const DType elem = buffer.type.elem;
  if (load.rank != nullptr)
    return remote_load(cx, type, load);
  if (type.lanes == 1) {
    const std::string scalar = element_text(cx, elem, load);
    if (load.valid == nullptr)
      return scalar;
    const std::string condition = expression(cx, load.valid) + " > 0";
    if (std::string text = conditional_text(cx, type, load, condition); !text.empty())
      return text;
    return cx.language.select(1, condition, scalar, fill_literal(cx, type, load.fill));
  }
  const std::string base = buffer_name(cx, load.buffer);
  const std::string index = bare(expression(cx, load.index));
  if (std::string whole = aligned_load(cx, buffer, type, load); !whole.empty())
    return whole;
  if (load.lane_stride != 1 || load.valid != nullptr)
    return cx.language.guarded_load(cx, type, load);
  return cx.language.load(elem, type.lanes, base, index);
}

std::string store_text(CContext &cx, const kernel::Store &store) {
  const kernel::Buffer &buffer = cx.kernel[store.buffer];
  if (const kernel::VarRef *words = stored_words(cx, store))
    return cx.language.store_words(cx, store, words->var);
  const Type &type = store.value->type;
  const std::string value = expression(cx, store.value);
  if (cx.fragments[at(store.buffer)])
    return fragment_store(cx, store, value);
  if (buffer.space == Space::Register && buffer.type.lanes != type.lanes)
    return scattered_registers(cx, store, value);
  if (buffer.space == Space::Register)
    return fmt::format("{} = {};", register_text(cx, store.buffer, store.index), bare(value));
  const std::string base = buffer_name(cx, store.buffer);
  const std::string index = bare(expression(cx, store.index));
  if (type.lanes > 1)
    if (std::string whole = aligned_store(cx, buffer, store, value); !whole.empty())
      return whole;
  const bool is_bfloat = buffer.type.elem == DType::BF16;
  if (is_bfloat && store.valid == nullptr && (type.lanes == 1 || store.lane_stride == 1))
    return bfloat_store(cx, type, base, index, value);
  if (type.lanes == 1) {
    const std::string scalar =
        cx.language.store(buffer.type.elem, 1, base, index, stored_value(cx, type, value));
    if (store.valid == nullptr)
      return scalar + ";";
    return fmt::format("if ({} > 0) {};", expression(cx, store.valid), scalar);
  }
  if (store.lane_stride != 1 || store.valid != nullptr)
    return cx.language.guarded_store(cx, store, value);
  return cx.language.plain_store(cx, {buffer, type, base, index}, value) + ";";
}

} // namespace tilefuse::emit
