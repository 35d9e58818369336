// SPDX-License-Identifier: Apache-2.0
#include "cost/plaidml/plaidml_settings.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "base/embedded.h"
#include "base/error.h"

namespace tilefuse::cost::plaidml {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 40;
constexpr std::string_view kUseGlobal = "use_global";

// A whole number of the file, and what it may be.
struct Field {
  std::string_view key;
  std::int64_t Settings::*value;
  std::int64_t lowest;
  std::int64_t highest;
  bool is_power_of_two;
  bool is_optional;
  std::string_view need;

  bool allows(std::int64_t number) const {
    return number >= lowest && number <= highest &&
           (!is_power_of_two || std::has_single_bit(static_cast<std::uint64_t>(number)));
  }
};

constexpr std::array<Field, 7> kFields = {{
    {"threads", &Settings::threads, 1, 512, true, false, "a power of two from 1 to 512"},
    {"mem_width", &Settings::mem_width, 8, 4096, true, false, "a power of two from 8 to 4096"},
    {"max_mem", &Settings::max_mem, 1024, kMost, false, false, "an integer from 1024 to 2^40"},
    {"max_regs", &Settings::max_regs, 1, kMost, false, false, "an integer from 1 to 2^40"},
    {"goal_groups", &Settings::goal_groups, 1, kMost, false, false, "an integer from 1 to 2^40"},
    {"goal_flops_per_byte", &Settings::goal_flops_per_byte, 1, kMost, false, false,
     "an integer from 1 to 2^40"},
    {"vec_size", &Settings::vec_size, 1, 64, true, true, "a power of two from 1 to 64"},
}};

[[noreturn]] void fail(const std::string &file, const toml::source_region &at,
                       std::string message) {
  throw Error(ErrorCode::Io, std::move(message),
              fmt::format("{}:{}:{}", file, at.begin.line, at.begin.column));
}

[[noreturn]] void fail_need(const std::string &file, const toml::node &node, std::string_view key,
                            std::string_view need) {
  fail(file, node.source(), fmt::format("key '{}' needs {}", key, need));
}

void assign(Settings &settings, const toml::key &key, const toml::node &node,
            const std::string &file) {
  if (key.str() == kUseGlobal) {
    const auto value = node.value_exact<bool>();
    if (!value)
      fail_need(file, node, key.str(), "true or false");
    settings.use_global = *value;
    return;
  }
  const auto field = std::find_if(kFields.begin(), kFields.end(),
                                  [&](const Field &each) { return each.key == key.str(); });
  if (field == kFields.end())
    fail(file, key.source(), fmt::format("unknown key '{}'", key.str()));
  const auto value = node.value_exact<std::int64_t>();
  if (!value || !field->allows(*value))
    fail_need(file, node, key.str(), field->need);
  settings.*field->value = *value;
}

toml::table parse(std::string_view text, const std::string &file) {
  try {
    return toml::parse(text, file);
  } catch (const toml::parse_error &error) {
    fail(file, error.source(), std::string(error.description()));
  }
}

} // namespace

std::optional<Settings> stock_settings(const std::string &name) {
  for (const EmbeddedFile &file : embedded_files("devices/plaidml"))
    if (file.path == "devices/plaidml/" + name + ".toml")
      return parse_settings(file.text, std::string(file.path));
  return std::nullopt;
}

Settings parse_settings(std::string_view text, const std::string &file) {
  const toml::table table = parse(text, file);
  Settings settings;
  for (const auto &[key, node] : table)
    assign(settings, key, node, file);
  for (const Field &field : kFields)
    if (!field.is_optional && !table.contains(field.key))
      throw Error(ErrorCode::Io, fmt::format("key '{}' is missing", field.key), file + ":1:1");
  return settings;
}

Settings default_settings(const Target &target) {
  Settings settings;
  settings.max_mem = std::max(settings.max_mem, target.local_bytes);
  settings.goal_groups = 4 * std::int64_t{target.compute_units};
  settings.use_global = target.lanes == LaneKind::Vector;
  return settings;
}

} // namespace tilefuse::cost::plaidml
