// SPDX-License-Identifier: Apache-2.0
// Tuning records in the compiler's terms: which record belongs to a kernel on a device, and whether
// it can be used. A record is used when it is of this device and this version of the code
// generator, was verified, and its schedule is legal; any other is a place for tuning to start.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "poly/group.h"
#include "runtime/device.h"
#include "runtime/store/record_store.h"
#include "schedule/schedule.h"
#include "search/network/kept_choices.h"

namespace tilefuse::model {

std::string group_key(const poly::Group &group);
// What a device is, as far as times depend on it: name, driver, instruction set, units.
std::string device_key(const runtime::Device &device);

// A schedule that was good elsewhere.
struct StartingPoint {
  schedule::Schedule schedule;
  std::string from; // device, or what is different about the record
};

struct Recorded {
  std::optional<schedule::Schedule> tuned;
  std::optional<runtime::TuningRecord> own; // of this device, usable or not
  std::vector<StartingPoint> starts;        // legal ones
  std::string ignored; // why the device's own record is not used; empty when it is or there is none
};

// The same records give the same answer.
Recorded find_recorded(runtime::RecordStore &records, const poly::Group &group,
                       const runtime::Device &device);

inline constexpr std::string_view kTuned = "tuned on this device";

// What a kernel is compiled with, and who says so: kTuned, "model", or "model; starting point from
// DEVICE" where tuning would begin with another device's record.
struct Choice {
  schedule::Schedule schedule;
  std::string by;
};

// By a record of this device, else by the cost model. `ignored` gets the reason when there is a
// record of this device that is not used. Without records it is always the model. The model's
// choice is taken over from `kept`, or added to it.
Choice choose_schedule(runtime::RecordStore *records, const poly::Group &group,
                       const runtime::Device &device, std::string *ignored,
                       search::KeptChoices *kept = nullptr);

// A schedule's text from outside: nothing when it is not one for this group, or not legal. `why`
// gets the reason.
std::optional<schedule::Schedule> legal_schedule(const poly::Group &group, std::string_view text,
                                                 const Target &target, std::string *why);

} // namespace tilefuse::model
