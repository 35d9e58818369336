// SPDX-License-Identifier: Apache-2.0
// The table of a recipe's keys: one row per key, with the place of its value and what it may be. Reading, writing,
// comparing and the command line's --set go through it; a new key is a member of Recipe and a row here.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "train/recipe_value.h"

namespace tilefuse::train {

using KeyValue = std::variant<bool *, int *, std::int64_t *, std::uint64_t *, double *,
                              std::vector<double> *, std::string *, std::vector<std::string> *>;

// What numbers may be; lists of numbers each.
struct KeyRange {
  double low = 0;
  double high = std::numeric_limits<double>::max();
  bool below_high = false; // `high` itself is none of them
};

struct RecipeKey {
  std::string_view name; // "optimizer.rate"
  KeyValue (*value)(Recipe &recipe);
  KeyRange range = {};
  std::string_view words = ""; // "sgd|adamw": what a text may be; empty: any
  bool is_path = false;        // perhaps behind "KIND:"

  std::string_view section() const; // "optimizer"; empty for the first keys
  std::string_view leaf() const;    // "rate"
};

// Section by section.
std::span<const RecipeKey> recipe_keys();
// Null when there is none of that name.
const RecipeKey *find_key(std::string_view name);
// The key or section whose name is nearest to one that is neither.
std::string_view nearest_name(std::string_view name);

// Error{Syntax} at `where` when the value of a key is out of its range or none of its words.
void check_value(const RecipeKey &key, Recipe &recipe, const std::string &where);
// As TOML; what a text of the value must look like: "a whole number of at least 1".
std::string value_text(const RecipeKey &key, const Recipe &recipe);
std::string need_text(const RecipeKey &key);

} // namespace tilefuse::train
