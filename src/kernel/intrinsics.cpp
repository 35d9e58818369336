// SPDX-License-Identifier: Apache-2.0
#include "kernel/intrinsics.h"

#include <unordered_map>

#include <fmt/format.h>

#include "base/error.h"

namespace tilefuse::kernel {
namespace {

constexpr std::size_t kKinds = std::variant_size_v<Intrinsic>;

// By the number of the kind.
std::vector<IntrinsicRow> all_rows() {
  std::vector<IntrinsicRow> rows(kKinds);
  for (std::vector<IntrinsicRow> part : {warp_intrinsics(), tensor_intrinsics(), rows_intrinsics()})
    for (IntrinsicRow &row : part)
      rows[row.forms.front().index()] = std::move(row);
  for (const IntrinsicRow &row : rows)
    TILEFUSE_CHECK(!row.name.empty(), "an intrinsic without a row");
  return rows;
}

const std::vector<IntrinsicRow> &rows() {
  static const std::vector<IntrinsicRow> table = all_rows();
  return table;
}

std::unordered_map<std::string, const Intrinsic *> all_words() {
  std::unordered_map<std::string, const Intrinsic *> words;
  for (const IntrinsicRow &row : rows())
    for (const Intrinsic &form : row.forms)
      words.emplace(row.word(form), &form);
  return words;
}

} // namespace

std::int64_t NumberOperand::value() const {
  return std::visit([](const auto *number) -> std::int64_t { return *number; }, at);
}

void NumberOperand::set(std::int64_t value) const {
  if (int *const *narrow = std::get_if<int *>(&at))
    **narrow = static_cast<int>(value);
  else
    *std::get<std::int64_t *>(at) = value;
}

const IntrinsicRow &row_of(const Intrinsic &node) { return rows()[node.index()]; }

Operands operands(Intrinsic &node) { return row_of(node).operands(node); }

Operands operands(const Intrinsic &node) { return operands(const_cast<Intrinsic &>(node)); }

std::int64_t register_values(const Kernel &kernel, const ElementOperand &operand) {
  const Buffer &buffer = kernel[*operand.buffer];
  if (buffer.space == Space::Register && operand.values > 0)
    return operand.values;
  return buffer.space == Space::Register
             ? operand.bytes / (size_bytes(buffer.type.elem) * buffer.type.lanes)
             : 0;
}

const Intrinsic *find_intrinsic(std::string_view word) {
  static const std::unordered_map<std::string, const Intrinsic *> words = all_words();
  const auto found = words.find(std::string(word));
  return found == words.end() ? nullptr : found->second;
}

std::string unknown_intrinsic(std::string_view word) {
  for (const IntrinsicRow &row : rows())
    if (!row.unknown.empty() && word.starts_with(row.name))
      return fmt::format(fmt::runtime(row.unknown), word, word.substr(row.name.size()));
  return {};
}

} // namespace tilefuse::kernel
