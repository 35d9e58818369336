// SPDX-License-Identifier: Apache-2.0
// The table of intrinsics: one row per kind of node, which is all that text, walks, checks and
// counts know of it. Rows stand in intrinsics_warp.cpp, intrinsics_tensor.cpp and
// intrinsics_rows.cpp, each with its rule. To add one:
//
//   kernel/nodes.h                  its node, and its name among those of Intrinsic
//   kernel/intrinsics_*.cpp         its row and rule
//   kernel/simulation/warp*.{h,cpp} what a warp does
//   emit/c/cuda_*.cpp               what a back end writes
//
// A statement's text is a word, then its operands in order, each behind a word of its own:
//
//   tensor_copy data[0] = t0[c, 0] offsets [s, r] signals bars[0]
//   word        element  map list  list           element
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "kernel/counts.h"
#include "kernel/nodes.h"

namespace tilefuse::kernel {

// Who executes an intrinsic together; a Warpgroup is four warps.
enum class Scope { WorkItem, Warp, Warpgroup };

// What is done to an operand's memory.
enum class Effect { None, Reads, Writes, Updates };

// "s0[i]". Of a Register buffer, `bytes` of each work-item from there on, or so many `values`.
struct ElementOperand {
  BufferId *buffer = nullptr;
  ExprRef *index = nullptr;
  std::int64_t bytes = 0;
  std::int64_t values = 0;
};
// "s0[i .. 4 valid v]": elements next to each other.
struct RunOperand {
  BufferId *buffer = nullptr;
  ExprRef *index = nullptr;
  int *elems = nullptr;
  ExprRef *valid = nullptr;
};
struct ExprOperand {
  ExprRef *at = nullptr;
  bool is_int = true;
};
// A whole number within bounds; where it is left out, it is `otherwise`, or 0.
struct NumberOperand {
  std::variant<int *, std::int64_t *> at;
  std::int64_t low = 0;
  std::int64_t high = 0;
  const int *otherwise = nullptr;

  std::int64_t value() const;
  void set(std::int64_t value) const;
  std::int64_t absent() const { return otherwise == nullptr ? 0 : *otherwise; }
};
// "[x, y]".
struct ListOperand {
  std::vector<ExprRef> *at = nullptr;
};

// One operand of a node, where the node holds it.
struct Operand {
  std::variant<ElementOperand, RunOperand, ExprOperand, ListOperand, NumberOperand, MapId *, bool *>
      at;
  std::string_view word{};             // in front of it
  std::string_view what{};             // it is called in errors
  bool may_lack = false;               // it may be left out, and its word with it
  Effect effect = Effect::None;        // on its memory
  std::optional<AccessKind> counted{}; // as an access of this kind
};
using Operands = std::vector<Operand>;

// What is the same for all nodes of a kind.
struct IntrinsicRow {
  std::string_view name;   // with which its words begin
  std::string_view called; // in messages
  Scope scope{};
  std::optional<InstructionKind> counted{}; // as an instruction of this kind
  // Format string of the error for another word that begins so, given the word and what follows the
  // name; empty: such words are free.
  std::string_view unknown{};
  std::vector<Intrinsic> forms; // one per word, with what the word says
  std::function<std::string(const Intrinsic &)> word;
  std::function<Operands(Intrinsic &)> operands;
  std::function<std::string(const Kernel &, const Intrinsic &)> rule; // broken, or empty
  std::function<void(Intrinsic &)> fold; // drops what constants make needless
};

// The row of a node's kind.
const IntrinsicRow &row_of(const Intrinsic &node);

// A node's operands, in the order of its text; those of a constant node are only read.
Operands operands(Intrinsic &node);
Operands operands(const Intrinsic &node);

// Values of a Register buffer that an operand takes up; 0 of other buffers.
std::int64_t register_values(const Kernel &kernel, const ElementOperand &operand);

// The form with that word; null for other words.
const Intrinsic *find_intrinsic(std::string_view word);
// Why a word is none, where it begins as one; else empty.
std::string unknown_intrinsic(std::string_view word);

// The rows of a part of the table.
std::vector<IntrinsicRow> warp_intrinsics();
std::vector<IntrinsicRow> tensor_intrinsics();
std::vector<IntrinsicRow> rows_intrinsics();

// A row of the table for nodes of a kind.
template <class Node> struct RowOf {
  std::string_view name;
  std::string_view called;
  Scope scope = Scope::WorkItem;
  std::optional<InstructionKind> counted{};
  std::string_view unknown{};
  std::vector<Node> forms = {Node{}};
  std::string (*word)(const Node &) = nullptr; // null: the name
  Operands (*operands)(Node &) = nullptr;      // null: none
  std::string (*rule)(const Kernel &, const Node &) = nullptr;
  void (*fold)(Node &) = nullptr;

  operator IntrinsicRow() const {
    IntrinsicRow row{.name = name,
                     .called = called,
                     .scope = scope,
                     .counted = counted,
                     .unknown = unknown,
                     .forms = {forms.begin(), forms.end()}};
    row.word = [name = name, word = word](const Intrinsic &node) {
      return word == nullptr ? std::string(name) : word(std::get<Node>(node));
    };
    row.operands = [operands = operands](Intrinsic &node) {
      return operands == nullptr ? Operands{} : operands(std::get<Node>(node));
    };
    row.rule = [rule = rule](const Kernel &kernel, const Intrinsic &node) {
      return rule == nullptr ? std::string() : rule(kernel, std::get<Node>(node));
    };
    row.fold = [fold = fold](Intrinsic &node) {
      if (fold != nullptr)
        fold(std::get<Node>(node));
    };
    return row;
  }
};

// The element that a reference names.
template <class Ref> ElementOperand element_of(Ref &ref, std::int64_t bytes = 0) {
  return {&ref.buffer, &ref.index, bytes};
}

} // namespace tilefuse::kernel
