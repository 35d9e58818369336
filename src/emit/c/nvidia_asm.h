// SPDX-License-Identifier: Apache-2.0
// Inline assembly that CUDA C++ and NVIDIA's OpenCL C share: asynchronous copies, dot products, and
// tickets from compute capability 7.0 on (what lies behind a barrier in front of one is seen by whoever takes a
// later one).
#pragma once

#include <string_view>

#include "emit/c/c_context.h"

namespace tilefuse::emit {

// How a language hands over the operands of a copy, as format strings.
struct NvidiaCopy {
  std::string_view to;     // given a pointer
  std::string_view copied; // given so many elements and so many at most, 0 or more
};
std::string nvidia_copy(CContext &cx, const kernel::AsyncCopy &node, const NvidiaCopy &words);
std::string nvidia_commit();
std::string nvidia_wait(const kernel::AsyncWait &node);

// Four products and a sum by dp4a, from compute capability 6.1 on; `as_word` makes a vector of four
// bytes a word.
std::string nvidia_dot(CContext &cx, const kernel::Dot &node, std::string_view as_word);

std::string nvidia_ticket(CContext &cx, const kernel::Ticket &node);

// What takes a ticket, "s1[0]", and a pointer to the count.
struct TicketText {
  std::string to, count;
};
TicketText ticket_text(CContext &cx, const kernel::Ticket &node);

// "b1 + (index)", as an operand.
std::string pointer_text(CContext &cx, kernel::BufferId id, kernel::ExprRef index);

} // namespace tilefuse::emit
