// SPDX-License-Identifier: Apache-2.0
// Content hash for cache keys: XXH3, 128 bits, as 32 lower-case hex digits. Not cryptographic.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace tilefuse {

std::string content_hash(std::string_view bytes);

// The same of bytes that come in pieces.
class ContentHash {
public:
  ContentHash();
  ~ContentHash();
  void add(std::string_view bytes);
  std::string digits() const; // of all that was added so far

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace tilefuse
