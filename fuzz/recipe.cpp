// SPDX-License-Identifier: Apache-2.0
// Text → recipe: what is read is written as a text that reads back as the same recipe. The first line is also taken as
// one of the command line's assignments.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "train/recipe.h"

namespace {

using namespace tilefuse;

void check_text(const train::Recipe &recipe) {
  TILEFUSE_CHECK(train::parse_recipe(train::to_text(recipe), "/again") == recipe,
                 "a recipe's text reads back differently");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char *>(data), size);
  try {
    train::Recipe recipe;
    train::set(recipe, text.substr(0, text.find('\n')));
    check_text(recipe);
  } catch (const Error &) {
  }
  try {
    check_text(train::parse_recipe(text, "/folder/fuzz.toml"));
  } catch (const Error &) {
  }
  return 0;
}
