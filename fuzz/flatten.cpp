// SPDX-License-Identifier: Apache-2.0
// Text → program → storage → nests: bounds, reduce and defract of whatever contraction a text
// holds. Every nest verifies, and its text reads back.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.h"
#include "nest/flatten/flat_statement.h"
#include "nest/flatten/flatten.h"
#include "nest/flatten/merge.h"
#include "programs.h"

namespace {

using namespace tilefuse;

void flatten_all(const program::Program &program) {
  const program::StoredProgram stored = program::assign_storage(program);
  for (const program::Statement &statement : stored.program.statements) {
    try {
      for (const nest::FlatStatement &flat : nest::flatten(stored, statement)) {
        nest::verify(flat.nest);
        TILEFUSE_CHECK(nest::parse_nest(nest::to_text(flat.nest)) == flat.nest,
                       "a nest's text reads back as another nest");
        nest::merge_indices(flat.nest);
      }
    } catch (const Error &) {
    }
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char *>(data), size);
  fuzz::for_each_program(text, [](program::Program &program) { flatten_all(program); });
  return 0;
}
