// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"

#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <xxhash.h>

namespace tilefuse {
namespace {

std::string digits_of(const XXH128_hash_t &hash) {
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

} // namespace

struct ContentHash::State {
  XXH3_state_t xxh;
};

std::string content_hash(std::string_view bytes) {
  return digits_of(XXH3_128bits(bytes.data(), bytes.size()));
}

ContentHash::ContentHash() : state_(std::make_unique<State>()) { XXH3_128bits_reset(&state_->xxh); }

ContentHash::~ContentHash() = default;

void ContentHash::add(std::string_view bytes) {
  XXH3_128bits_update(&state_->xxh, bytes.data(), bytes.size());
}

std::string ContentHash::digits() const { return digits_of(XXH3_128bits_digest(&state_->xxh)); }

} // namespace tilefuse
