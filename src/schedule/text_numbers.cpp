// SPDX-License-Identifier: Apache-2.0
#include "schedule/text_numbers.h"

#include <fmt/format.h>

#include "base/error.h"

namespace tilefuse::schedule {
namespace {

constexpr std::int64_t kMost = 1 << 16;
constexpr std::int64_t kLargestCluster = 1 << 8; // either way
constexpr std::int64_t kMostRegisters = 255;

std::int64_t between(Scanner &scanner, std::string_view what, std::int64_t least,
                     std::int64_t most) {
  const Token token = scanner.peek();
  const std::int64_t value = scanner.expect_integer(what);
  if (value < least || value > most)
    throw Error(ErrorCode::Limit, fmt::format("{} for {}; need {} to {}", value, what, least, most),
                scanner.where(token));
  return value;
}

} // namespace

int parse_stages(Scanner &scanner) {
  return static_cast<int>(between(scanner, "the stages of a pipe", 1, kMost));
}

int parse_count(Scanner &scanner, std::string_view what) {
  return static_cast<int>(between(scanner, what, 0, kMost));
}

int parse_width(Scanner &scanner) {
  return static_cast<int>(between(scanner, "elements copied at once", 1, kMost));
}

std::int64_t parse_cluster(Scanner &scanner) {
  return between(scanner, "the blocks of a cluster one way", 1, kLargestCluster);
}

int parse_registers(Scanner &scanner) {
  return static_cast<int>(between(scanner, "registers of a work-item", 0, kMostRegisters));
}

} // namespace tilefuse::schedule
