// SPDX-License-Identifier: Apache-2.0
#include "model/tune/records.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/hash.h"
#include "lower/pipeline.h"
#include "schedule/legal.h"
#include "schedule/members.h"
#include "search/forms/copies.h"
#include "search/groups.h"
#include "search/pick.h"

namespace tilefuse::model {
namespace {

using runtime::TuningRecord;

std::string unusable(const TuningRecord &record) {
  if (!record.is_verified)
    return "it was not verified";
  return record.code == lower::code_version() ? "" : "it is of another version of tilefuse";
}

} // namespace

std::string group_key(const poly::Group &group) { return content_hash(poly::to_text(group)); }

std::string device_key(const runtime::Device &device) {
  const Target &target = device.target();
  return content_hash(fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}", device.name(), device.driver(),
                                  target.backend, target.isa, to_string(target.lanes),
                                  target.vector_f32, target.compute_units));
}

std::optional<schedule::Schedule> legal_schedule(const poly::Group &group, std::string_view text,
                                                 const Target &target, std::string *why) {
  try {
    schedule::Schedule schedule = schedule::parse_schedule(group, text, "record");
    std::optional<std::string> reason = schedule::illegal(group, schedule, target);
    if (!reason)
      return schedule;
    *why = std::move(*reason);
  } catch (const Error &error) {
    *why = error.message();
  }
  return std::nullopt;
}

Recorded find_recorded(runtime::RecordStore &records, const poly::Group &group,
                       const runtime::Device &device) {
  Recorded found;
  const std::string key = device_key(device);
  for (TuningRecord &record : records.of_group(group_key(group))) {
    std::string why;
    std::optional<schedule::Schedule> schedule =
        legal_schedule(group, record.schedule, device.target(), &why);
    const bool is_own = record.device == key;
    if (schedule && is_own)
      why = unusable(record);
    // Another version's schedules need not say how work-items copy, which would be slowly.
    if (schedule && record.code != lower::code_version() && poly::is_alone(group))
      search::assign_copies(group.anchor, *schedule, device.target());
    if (schedule && is_own && why.empty())
      found.tuned = std::move(schedule);
    else if (schedule)
      found.starts.push_back({std::move(*schedule), is_own ? why : record.device_name});
    if (is_own) {
      found.ignored = why;
      found.own = std::move(record);
    }
  }
  return found;
}

Choice choose_schedule(runtime::RecordStore *records, const poly::Group &group,
                       const runtime::Device &device, std::string *ignored,
                       search::KeptChoices *kept) {
  Recorded recorded;
  if (records != nullptr)
    recorded = find_recorded(*records, group, device);
  if (recorded.tuned)
    return {std::move(*recorded.tuned), std::string(kTuned)};
  *ignored = recorded.ignored;
  std::string by = "model";
  if (!recorded.starts.empty() && recorded.ignored.empty())
    by += "; starting point from " + recorded.starts.front().from;
  const auto search = [&] { return search::pick(group, device.target()); };
  return {kept == nullptr ? search() : kept->schedule(search::kPick, group, search), by};
}

} // namespace tilefuse::model
