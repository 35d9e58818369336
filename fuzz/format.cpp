// SPDX-License-Identifier: Apache-2.0
// Text → formatter: the tree stays, and a second pass changes nothing.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.h"
#include "tile/format.h"
#include "tile/parser.h"

namespace {

using namespace tilefuse;

std::vector<tile::Function> parse(std::string_view text) {
  tile::Diagnostics diagnostics(text, "fuzz.tile");
  std::vector<tile::Function> functions;
  for (tile::ParsedFunction &parsed : tile::parse_functions(text, "fuzz.tile", diagnostics))
    functions.push_back(std::move(parsed.function));
  TILEFUSE_CHECK(diagnostics.empty(), "a formatted text does not parse");
  return functions;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char *>(data), size);
  std::string once;
  try {
    once = tile::format(text, "fuzz.tile");
  } catch (const Error &) {
    return 0;
  }
  TILEFUSE_CHECK(parse(once) == parse(text), "formatting changes the tree");
  TILEFUSE_CHECK(tile::format(once, "fuzz.tile") == once, "formatting is not done in one pass");
  return 0;
}
