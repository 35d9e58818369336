// SPDX-License-Identifier: Apache-2.0
#include "recipe_options.h"

#include <algorithm>
#include <array>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/error.h"

namespace tilefuse::tool {
namespace {

constexpr std::array kOfEngines = {"--device",   "--threads", "--cache",
                                   "--no-cache", "--records", "--no-records",
                                   "--json",     "--csv",     "--wide"};

} // namespace

void check_recipe_options(const CLI::App &verb, std::span<const char *const> known) {
  const auto is_one_of = [](const CLI::Option &option, std::span<const char *const> names) {
    return std::any_of(names.begin(), names.end(),
                       [&](const char *name) { return option.check_name(name); });
  };
  for (const CLI::Option *option : verb.get_options())
    if (option->count() > 0 && !option->get_positional() && !is_one_of(*option, kOfEngines) &&
        !is_one_of(*option, known))
      throw Error(ErrorCode::Unsupported,
                  fmt::format("{} is of models; what a recipe trains stands in the recipe",
                              option->get_name()));
}

} // namespace tilefuse::tool
