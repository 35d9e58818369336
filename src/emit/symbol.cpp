// SPDX-License-Identifier: Apache-2.0
#include "emit/symbol.h"

#include "base/hash.h"
#include "emit/emitter.h"

namespace tilefuse::emit {
namespace {

constexpr std::size_t kMaxSymbol = 63;
constexpr std::size_t kHashDigits = 12;
constexpr std::string_view kPrefix =
    "k_"; // keeps clear of keywords and of the language's own functions

bool is_symbol_char(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; }

} // namespace

std::string symbol_for(const std::string &kernel_name) {
  std::string symbol(kPrefix);
  bool exact = true;
  for (const char c : kernel_name) {
    exact &= is_symbol_char(c);
    symbol += is_symbol_char(c) ? c : '_';
  }
  if (exact && symbol.size() <= kMaxSymbol)
    return symbol;
  symbol.resize(std::min(symbol.size(), kMaxSymbol - kHashDigits - 1));
  return symbol + "_" + content_hash(kernel_name).substr(0, kHashDigits);
}

} // namespace tilefuse::emit
