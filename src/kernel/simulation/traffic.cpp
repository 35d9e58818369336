// SPDX-License-Identifier: Apache-2.0
#include "kernel/simulation/traffic.h"

#include <algorithm>
#include <array>

#include "base/index.h"

namespace tilefuse::kernel::simulation {
namespace {

constexpr std::int64_t kWord = 4;
constexpr std::size_t kMaxWarp = 64;
constexpr std::size_t kMaxWords = kMaxWarp * 4;

// Distinct values of a short list, ascending.
template <std::size_t N> class Distinct {
public:
  void add(std::int64_t value) {
    is_sorted_ = is_sorted_ && (size_ == 0 || values_[size_ - 1] <= value);
    if (size_ == 0 || values_[size_ - 1] != value)
      values_[size_++] = value;
  }
  std::span<const std::int64_t> get() {
    if (!is_sorted_) {
      std::sort(values_.begin(), values_.begin() + static_cast<std::ptrdiff_t>(size_));
      const auto *end =
          std::unique(values_.begin(), values_.begin() + static_cast<std::ptrdiff_t>(size_));
      size_ = static_cast<std::size_t>(end - values_.begin());
    }
    return std::span(values_).first(size_);
  }

private:
  std::array<std::int64_t, N> values_;
  std::size_t size_ = 0;
  bool is_sorted_ = true;
};

// Those that a phase touches.
Distinct<kMaxWords> words_of(const Request &phase) {
  Distinct<kMaxWords> words;
  for (const std::int64_t address : phase.addresses) {
    if (address == kInactive)
      continue;
    for (std::int64_t word = address / kWord; word * kWord < address + phase.bytes; ++word)
      words.add(word);
  }
  return words;
}

using BankWords = std::array<std::uint16_t, kMaxWords>;
BankWords by_bank(std::span<const std::int64_t> words, std::int64_t banks) {
  BankWords of_bank{};
  for (const std::int64_t word : words)
    ++of_bank[at(word % banks)];
  return of_bank;
}

// Calls `body` with the number of each phase of a request and its part of the addresses; gives how
// many they are.
template <class Body>
std::size_t for_phases(const Request &request, std::int64_t banks, const Body &body) {
  const auto step = static_cast<std::size_t>(
      std::max<std::int64_t>(1, banks * kWord / std::max(kWord, request.bytes)));
  const std::size_t count = (request.addresses.size() + step - 1) / step;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t begin = i * step;
    body(i, Request{request.bytes, request.addresses.subspan(
                                       begin, std::min(step, request.addresses.size() - begin))});
  }
  return count;
}

} // namespace

std::int64_t wavefronts(const Request &phase, std::int64_t banks) {
  Distinct<kMaxWords> words = words_of(phase);
  const auto list = words.get();
  if (list.empty())
    return 0;
  if (list.back() - list.front() < banks)
    return 1;
  const BankWords of_bank = by_bank(list, banks);
  return *std::max_element(of_bank.begin(), of_bank.end());
}

std::size_t add_phases(const Request &request, std::int64_t banks, std::size_t first,
                       std::vector<PhaseCounts> &phases) {
  return for_phases(request, banks, [&](std::size_t i, const Request &phase) {
    if (phases.size() <= first + i)
      phases.resize(first + i + 1);
    const std::int64_t cost = wavefronts(phase, banks);
    phases[first + i].phases += cost > 0 ? 1 : 0;
    phases[first + i].wavefronts += cost;
  });
}

void trace_phases(const Request &request, std::int64_t banks, const BankPhase &first,
                  std::vector<BankPhase> &trace) {
  for_phases(request, banks, [&](std::size_t i, const Request &phase) {
    Distinct<kMaxWords> words = words_of(phase);
    const auto list = words.get();
    if (list.empty())
      return;
    const BankWords of_bank = by_bank(list, banks);
    trace.push_back({first.warp, first.phase + i, {of_bank.begin(), of_bank.begin() + banks}});
  });
}

void find_sectors(const Request &request, std::int64_t sector_bytes, Sectors &result) {
  Distinct<kMaxWarp> addresses;
  for (const std::int64_t address : request.addresses)
    if (address != kInactive)
      addresses.add(address);
  result.touched.clear();
  std::int64_t bytes = 0;
  std::int64_t past = 0; // of the bytes counted so far
  for (const std::int64_t address : addresses.get()) {
    const std::int64_t end = address + request.bytes;
    bytes += end - std::max(past, address);
    past = end;
    for (std::int64_t sector = address / sector_bytes; sector * sector_bytes < end; ++sector)
      if (result.touched.empty() || result.touched.back() < sector)
        result.touched.push_back(sector);
  }
  result.needed = (bytes + sector_bytes - 1) / sector_bytes;
}

} // namespace tilefuse::kernel::simulation
