// SPDX-License-Identifier: Apache-2.0
// Text → parser → check → binder → verifier; the program's text reads back as it was printed.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.h"
#include "programs.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  using namespace tilefuse;
  const std::string_view text(reinterpret_cast<const char *>(data), size);
  fuzz::for_each_program(text, [](program::Program &program) {
    program::verify(program); // what the binder makes of a text is a program, or refused above
    const std::string printed = program::to_text(program);
    TILEFUSE_CHECK(program::to_text(program::parse_program(printed)) == printed,
                   "a program's text reads back as another program");
  });
  return 0;
}
