// SPDX-License-Identifier: Apache-2.0
// Tuning records as JSON lines, to be carried from machine to machine:
//
//   {"format":"tilefuse-record-1","group":"…","device":"…","device_name":"AMD EPYC (2 threads,
//   AVX2)","driver":"…","code":"…","kernel":"conv_f32_…","schedule":"schedule nest vector\n …",
//   "seconds":1.5e-05,"model_seconds":2e-05,"verified":true,"date":"2026-11-21T23:59:00Z"}
//
// One object a line, of strings, numbers and booleans; fields that are not known are left alone.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/store/record_store.h"

namespace tilefuse::model {

std::string to_json_lines(std::span<const runtime::TuningRecord> records);
// Error{Syntax} names line and column. Blank lines are skipped.
std::vector<runtime::TuningRecord> parse_json_lines(std::string_view text, const std::string &file);

} // namespace tilefuse::model
