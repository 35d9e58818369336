// SPDX-License-Identifier: Apache-2.0
#include "search/network/filter_choice.h"

#include <map>
#include <string>

#include "program/rewrite/store_filters.h"
#include "search/network/first_layer_choice.h"

namespace tilefuse::search {
namespace {

// What names say is the same for equal layers.
std::string text_without_names(program::Program program) {
  for (program::Tensor &tensor : program.tensors)
    tensor.name.clear();
  for (program::Statement &statement : program.statements)
    statement.origin.clear();
  return program::to_text(program);
}

} // namespace

program::Program store_filters(const program::Program &program, const Target &target) {
  std::map<std::string, double> known;
  const auto price = [&](const program::Program &of_product) {
    const auto [found, is_new] = known.emplace(text_without_names(of_product), 0);
    if (is_new)
      found->second = predicted_seconds(of_product, target);
    return found->second;
  };
  return program::store_filters(program, price);
}

} // namespace tilefuse::search
