// SPDX-License-Identifier: Apache-2.0
#include "search/network/first_layer_choice.h"

#include "cost/group_model.h"
#include "nest/fold/fold.h"
#include "poly/post_ops.h"
#include "program/drop_dead.h"
#include "program/rewrite/first_layer.h"
#include "program/storage/storage.h"
#include "search/groups.h"
#include "search/network/split_groups.h"
#include "search/split.h"

namespace tilefuse::search {
namespace {

constexpr double kGain = 0.9; // of the time of the plain form, that the other must reach

} // namespace

double predicted_seconds(const program::Program &program, const Target &target) {
  program::StoredProgram stored = program::assign_storage(program);
  double seconds = 0;
  for (const poly::PlacedGroup &placed :
       split_groups(poly::make_groups(stored), stored, target, {}))
    seconds += search::following_seconds(
        cost::predict(placed.group, search::pick(placed.group, target), target), target);
  return seconds;
}

program::Program lay_out_first_layers(const program::Program &program, const Target &target) {
  const auto is_faster = [&](const program::Program &plain, const program::Program &widened) {
    return predicted_seconds(widened, target) < kGain * predicted_seconds(plain, target);
  };
  const program::WidenedFirstLayers widened = program::widen_first_layers(program, is_faster);
  if (widened.layers == 0)
    return program;
  return program::drop_dead(nest::fold_constants(widened.program)); // filters stored once more
}

} // namespace tilefuse::search
