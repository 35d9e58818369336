// SPDX-License-Identifier: Apache-2.0
// Operands that stream through registers: while one body of the innermost loop over reduced points
// computes, the values of later bodies are under way.
//
//   pipeline 1 registers 3
//
//   r[0] = K(0); r[1] = K(1)
//   for c in steps of 3 {
//     r[2] = K(c + 2); compute with r[0]
//     if (c + 3 < end) r[0] = K(c + 3); compute with r[1]
//     if (c + 4 < end) r[1] = K(c + 4); compute with r[2]
//   }
//
// The loop is the innermost one that is not unrolled; what is unrolled inside it belongs to its
// body. Each r[i] holds every value of the operand that a body uses.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "nest/nest.h"
#include "schedule/schedule.h"

namespace tilefuse::schedule {

// Bodies that all streamed inputs are held for; 0: none streams.
int stream_registers(const Schedule &schedule);
// The reduced index along which inputs stream: the innermost that is looped over, if any.
std::optional<IndexId> stream_index(const nest::Nest &nest, const Schedule &schedule);
// Whether a loop over reduced index `index` stands in the body.
bool is_in_body(const nest::Nest &nest, const Schedule &schedule, IndexId index);
// Values of an input that a work-item (or a vector's lanes together) uses in a body.
std::int64_t body_values(const nest::Nest &nest, const Schedule &schedule, int input);

// Why inputs cannot stream as `schedule` says, or nothing.
std::optional<std::string> wrong_stream(const nest::Nest &nest, const Schedule &schedule);

} // namespace tilefuse::schedule
