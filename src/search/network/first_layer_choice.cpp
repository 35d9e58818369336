// SPDX-License-Identifier: Apache-2.0
#include "search/network/first_layer_choice.h"

#include <array>
#include <vector>

#include "nest/fold/fold.h"
#include "program/drop_dead.h"
#include "program/rewrite/first_layer.h"
#include "search/network/program_price.h"

namespace tilefuse::search {
namespace {

constexpr double kGain = 0.9; // of the time of the plain form, that the other must reach

} // namespace

program::Program lay_out_first_layers(const program::Program &program, const Target &target,
                                      KeptChoices &kept) {
  const auto is_faster = [&](const program::Program &plain, const program::Program &widened) {
    const std::vector<double> seconds = predicted_seconds(std::array{plain, widened}, target, kept);
    return seconds[1] < kGain * seconds[0];
  };
  const program::WidenedFirstLayers widened = program::widen_first_layers(program, is_faster);
  if (widened.layers == 0)
    return program;
  return program::drop_dead(nest::fold_constants(widened.program)); // filters stored once more
}

} // namespace tilefuse::search
