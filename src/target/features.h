// SPDX-License-Identifier: Apache-2.0
// What a device's instruction set and driver offer beside arithmetic, by name. A row of devices/
// lists its features; a device that reports itself leaves out what its generation lacks. No folder
// above target/ compares the name of an architecture or of a backend.
//
//   features = ["async_copies", "matrix_units", "launch_queue"]
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace tilefuse {

enum class Feature {
  AsyncCopies,     // copies from global to local memory run beside arithmetic (cp.async)
  MatrixUnits,     // warps multiply fragments held in registers (ldmatrix, mma)
  WarpgroupMatrix, // four warps multiply matrices in local memory that tensor copies fill (wgmma)
  LaunchQueue,     // launches follow each other without the host in between
  EarlyLaunch,     // a kernel starts while the one before it ends
  PackedRounding,  // one instruction rounds two floats to a type of 16 bits
  PrefetchHints,   // an instruction asks for a line of constants ahead of its use
  EitherLanes,     // kernels with vectors and kernels with work-items both compile
  SharedBlocks,    // threads of this process share a launch's blocks, where they are worth it
  MaskedStores,    // a mask register leaves lanes out of a store
};

inline constexpr int kFeatures = 10;

// A set of features.
class Features {
public:
  constexpr Features() = default;
  constexpr Features(std::initializer_list<Feature> features) {
    for (const Feature feature : features)
      bits_ |= bit(feature);
  }

  constexpr bool contains(Feature feature) const { return (bits_ & bit(feature)) != 0; }
  // Those that are not in the other set.
  constexpr Features without(Features others) const {
    Features left;
    left.bits_ = bits_ & ~others.bits_;
    return left;
  }
  constexpr void insert(Feature feature) { bits_ |= bit(feature); }

  friend bool operator==(const Features &, const Features &) = default;

private:
  static constexpr std::uint32_t bit(Feature feature) { return 1u << static_cast<int>(feature); }
  std::uint32_t bits_ = 0;
};

// "matrix_units".
std::string_view to_string(Feature feature);
// "async_copies matrix_units", in the order of the enumeration.
std::string to_text(Features features);
std::optional<Feature> parse_feature(std::string_view name);

} // namespace tilefuse
