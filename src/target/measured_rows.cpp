// SPDX-License-Identifier: Apache-2.0
#include "target/measured_rows.h"

#include <cstdlib>
#include <variant>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/scanner.h"

namespace tilefuse {
namespace {

constexpr std::size_t kShownHash = 8; // digits

std::string in_environment(const char *name) {
  const char *value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

// A member as a TOML value; empty where it says nothing.
struct Print {
  const Target &target;
  std::string operator()(std::string Target::*m) const {
    return (target.*m).empty() ? std::string() : quoted(target.*m);
  }
  std::string operator()(LaneKind Target::*m) const {
    return quoted(std::string(to_string(target.*m)));
  }
  std::string operator()(bool Target::*m) const { return target.*m ? "true" : "false"; }
  std::string operator()(double Target::*m) const { return fmt::format("{:.6g}", target.*m); }
  std::string operator()(Features Target::*m) const {
    std::string list;
    for (int i = 0; i < kFeatures; ++i)
      if (const auto feature = static_cast<Feature>(i); (target.*m).contains(feature))
        list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", to_string(feature));
    return "[" + list + "]";
  }
  std::string operator()(std::vector<DotRate> Target::*m) const {
    std::string list;
    for (const DotRate &dot : target.*m)
      list += fmt::format("{}\"{}\" = {:.6g}", list.empty() ? "" : ", ", dot.op->name,
                          dot.gops_per_unit);
    return list.empty() ? std::string() : "{ " + list + " }";
  }
  template <class T> std::string operator()(T Target::*m) const {
    return fmt::format("{}", target.*m);
  }
};

} // namespace

std::string measured_folder() {
  if (const std::string folder = in_environment("TILEFUSE_DEVICES"); !folder.empty())
    return folder;
  if (const std::string config = in_environment("XDG_CONFIG_HOME"); !config.empty())
    return config + "/tilefuse/devices";
  const std::string home = in_environment("HOME");
  return home.empty() ? std::string() : home + "/.config/tilefuse/devices";
}

Target with_measurements(Target target, const std::string &device,
                         std::span<const MeasuredRow> rows) {
  for (const MeasuredRow &row : rows) {
    if (row.device != device || row.target.backend != target.backend ||
        row.target.lanes != target.lanes)
      continue;
    set_peak(target, row.target.gflops_per_unit);
    target.gbytes_per_s = row.target.gbytes_per_s;
    target.launch_us = row.target.launch_us;
    target.rates_like = row.target.rates_like;
    target.rates = row.target.rates;
  }
  return target;
}

void set_peak(Target &target, double gflops_per_unit) {
  for (DotRate &dot : target.dots)
    dot.gops_per_unit *= gflops_per_unit / target.gflops_per_unit;
  target.gflops_per_unit = gflops_per_unit;
}

std::string measured_name(const Target &target, const std::string &device) {
  return fmt::format("{}_measured_{}", target.name, content_hash(device).substr(0, kShownHash));
}

std::string to_toml(const MeasuredRow &row, const Rates &like) {
  std::string text = fmt::format("# Written by tilefuse doctor --calibrate.\nmeasured_on = {}\n",
                                 quoted(row.device));
  for (const TargetField &field : target_fields())
    if (const std::string value = std::visit(Print{row.target}, field.member); !value.empty())
      text += fmt::format("{} = {}\n", field.key, value);
  std::string rates;
  for (const RateField &rate : rate_fields())
    if (row.target.rates.*rate.member != like.*rate.member)
      rates += fmt::format("{} = {:.6g}\n", rate.key, row.target.rates.*rate.member);
  return rates.empty() ? text : text + "\n[rates]\n" + rates;
}

} // namespace tilefuse
