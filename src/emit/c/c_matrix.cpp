// SPDX-License-Identifier: Apache-2.0
#include "emit/c/c_matrix.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/index.h"
#include "emit/c/c_names.h"
#include "kernel/build.h"
#include "kernel/rules.h"
#include "kernel/walk.h"

namespace tilefuse::emit {
namespace {

constexpr std::int64_t kWordBytes = 4;

std::int64_t words_of(const kernel::Type &type) {
  return type.lanes * size_bytes(type.elem) / kWordBytes;
}

std::int64_t constant_index(kernel::ExprRef index) {
  std::int64_t value = 0;
  TILEFUSE_CHECK(kernel::is_constant(index, &value), "a fragment's index is not constant");
  return value;
}

} // namespace

Words fragment_words(const CContext &cx, const kernel::RegisterRef &ref, std::int64_t count) {
  const std::int64_t first = constant_index(ref.index);
  Words list;
  for (std::int64_t i = first; i < first + count; ++i)
    for (std::int64_t w = 0; w < words_of(cx.kernel[ref.buffer].type); ++w)
      list.push_back(fmt::format("{}_{}", register_name(cx, ref.buffer, i), w));
  return list;
}

Words accumulator_names(const CContext &cx, const kernel::RegisterRef &ref,
                        const Fragment &fragment) {
  const std::int64_t first = constant_index(ref.index);
  const bool is_split = cx.kernel[ref.buffer].type.lanes == 1;
  Words list;
  for (int i = 0; i < fragment.values(); ++i)
    list.push_back(is_split ? register_name(cx, ref.buffer, first + i)
                            : cx.language.lane(register_name(cx, ref.buffer, first), i));
  return list;
}

std::vector<bool> fragment_buffers(const kernel::Kernel &kernel) {
  std::vector<bool> found(kernel.buffers.size());
  const auto note = [&](kernel::BufferId id) { found[at(id)] = true; };
  kernel::for_each_stmt(kernel.body, [&](kernel::StmtRef stmt) {
    if (const auto *load = kernel::get_intrinsic<kernel::LoadMatrix>(stmt))
      note(load->to.buffer);
    if (const auto *mma = kernel::get_intrinsic<kernel::Mma>(stmt)) {
      note(mma->a.buffer);
      note(mma->b.buffer);
    }
    if (const auto *wgmma = kernel::get_intrinsic<kernel::Wgmma>(stmt))
      if (const auto fragment = fragment_of(kernel, *wgmma))
        note(fragment->buffer);
  });
  return found;
}

std::string declare_words(const CContext &cx, kernel::BufferId id) {
  const kernel::Buffer &buffer = cx.kernel[id];
  std::string text;
  for (std::int64_t i = 0; i < buffer.elems; ++i)
    for (std::int64_t w = 0; w < words_of(buffer.type); ++w)
      text += fmt::format("  uint {}_{};\n", register_name(cx, id, i), w);
  return text;
}

} // namespace tilefuse::emit
