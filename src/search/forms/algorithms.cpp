// SPDX-License-Identifier: Apache-2.0
#include "search/forms/algorithms.h"

#include <fmt/format.h>

#include <array>

#include "base/error.h"
#include "base/index.h"
#include "nest/index.h"
#include "nest/points.h"
#include "program/rewrite/rewrite.h"
#include "schedule/roles.h"
#include "search/forms/copies.h"
#include "search/forms/core_forms.h"
#include "search/forms/fma_forms.h"
#include "search/forms/named_schedule.h"

namespace tilefuse::search {
namespace {

using schedule::Roles;
using schedule::roles_of;

constexpr std::int64_t kFewChannels = 4;
constexpr std::int64_t kFewFilters = 4;

struct Algorithm {
  std::string_view name;
  FormSizes sizes;
  Schedule (*build)(FmaForm &form);
  bool (*fits)(const Roles &roles, const Nest &nest);
  std::string_view need; // what fits() asks for
};

bool has_both(const Roles &roles, const Nest &) {
  return !roles.channels.empty() && !roles.pixels.empty();
}
constexpr std::string_view kBoth = "indices that move the filter alone and the data alone";

const std::array kAlgorithms = {
    Algorithm{"direct",
              {.channel_keep = 8, .pixel_lanes = 128},
              [](FmaForm &form) { return form.direct(false); },
              [](const Roles &roles, const Nest &) { return !roles.pixels.empty(); },
              "an index that moves the data alone"},
    Algorithm{"direct_cached",
              {.channel_keep = 8, .pixel_lanes = 128},
              [](FmaForm &form) { return form.direct(true); },
              has_both,
              kBoth},
    Algorithm{"ilpm",
              {.channel_lanes = 64, .pixel_keep = 7, .row_keep = 2},
              [](FmaForm &form) { return form.ilpm(); },
              has_both,
              kBoth},
    Algorithm{"plaidml",
              {.channel_lanes = 16, .channel_vec = 1, .channel_keep = 4, .pixel_keep = 4},
              [](FmaForm &form) { return form.plaidml(); },
              has_both,
              kBoth},
    Algorithm{"igemm", {}, [](FmaForm &form) { return form.igemm(); }, has_both, kBoth},
    Algorithm{
        "igemm_async", {.ring = 3}, [](FmaForm &form) { return form.igemm(); }, has_both, kBoth},
    Algorithm{"pointwise",
              {.depth = 16},
              [](FmaForm &form) { return form.igemm(); },
              [](const Roles &roles, const Nest &nest) {
                return has_both(roles, nest) && roles.taps.empty();
              },
              "a product without taps"},
    Algorithm{"first_layer",
              {.channel_keep = 1},
              [](FmaForm &form) { return form.first_layer(); },
              [](const Roles &roles, const Nest &nest) {
                return has_both(roles, nest) && !roles.taps.empty() &&
                       points_of(nest, roles.depth) <= kFewChannels;
              },
              "at most 4 input channels"},
    Algorithm{"depthwise",
              {.channel_vec = 1, .pixel_lanes = 128, .pixel_keep = 4},
              [](FmaForm &form) { return form.depthwise(); },
              [](const Roles &roles, const Nest &nest) {
                return !roles.shared.empty() &&
                       (roles.channels.empty() || (points_of(nest, roles.depth) == 1 &&
                                                   points_of(nest, roles.channels) <= kFewFilters));
              },
              "filters that belong to the same channels as the data, at most 4 for each"},
    Algorithm{"cpu", {}, [](FmaForm &form) { return form.cpu(); }, has_both, kBoth},
};

const Algorithm *find(std::string_view name) {
  for (const Algorithm &algorithm : kAlgorithms)
    if (algorithm.name == name)
      return &algorithm;
  return nullptr;
}

const Algorithm &known(std::string_view name) {
  if (const Algorithm *algorithm = find(name))
    return *algorithm;
  throw Error(ErrorCode::Unsupported, fmt::format("there is no algorithm '{}'", name), {},
              {fmt::format("algorithms are {}, {}", fmt::join(algorithm_names(), ", "),
                           fmt::join(program::rewrite_names(), ", "))});
}

// Smaller sizes, for a target or a nest whose tiles the usual ones do not fit. False at the end.
bool shrink(FormSizes &sizes) {
  if (sizes.depth > 1)
    return sizes.depth /= 2, true;
  if (sizes.row_keep > 1)
    return sizes.row_keep /= 2, true;
  if (sizes.pixel_lanes > 1)
    return sizes.pixel_lanes /= 2, true;
  if (sizes.channel_keep > 1)
    return sizes.channel_keep /= 2, true;
  if (sizes.channel_lanes > 1)
    return sizes.channel_lanes /= 2, true;
  if (sizes.pixel_keep > 1)
    return sizes.pixel_keep /= 2, true;
  return false;
}

} // namespace

std::vector<std::string> algorithm_names() {
  std::vector<std::string> names;
  for (const Algorithm &algorithm : kAlgorithms)
    names.emplace_back(algorithm.name);
  for (std::string &name : core_algorithms())
    names.push_back(std::move(name));
  return names;
}

NamedSchedule form(std::string_view name, const Nest &nest, const Target &target,
                   const FormSizes &sizes) {
  const Algorithm &algorithm = known(name);
  const std::optional<Roles> roles = roles_of(nest);
  if (!roles)
    return {{}, fmt::format("{} needs a sum of products of two inputs", name)};
  if (!algorithm.fits(*roles, nest))
    return {{}, fmt::format("{} needs {}", name, algorithm.need)};
  return {form(name, nest, target, form_start(nest, *roles), sizes), {}};
}

std::optional<Schedule> form(std::string_view name, const Nest &nest, const Target &target,
                             const FormStart &start, const FormSizes &sizes) {
  const Algorithm &algorithm = known(name);
  if (!algorithm.fits(start.roles, nest))
    return std::nullopt;
  FmaForm builder(nest, target, start, sizes);
  Schedule schedule = algorithm.build(builder);
  schedule.name = algorithm.name;
  return schedule;
}

NamedSchedule named_schedule(std::string_view name, const Nest &nest, const Target &target) {
  const std::vector<std::string> of_cores = core_algorithms();
  if (std::find(of_cores.begin(), of_cores.end(), name) != of_cores.end())
    return named_core_schedule(name, nest, target);
  FormSizes sizes = known(name).sizes;
  std::optional<std::string> first;
  for (;;) {
    NamedSchedule named = form(name, nest, target, sizes);
    if (!named.schedule)
      return named;
    const std::optional<std::string> reason = assign_copies(nest, *named.schedule, target);
    if (!reason)
      return named;
    if (!first)
      first = reason;
    if (!shrink(sizes))
      return misfit(name, *first);
  }
}

} // namespace tilefuse::search
