// SPDX-License-Identifier: Apache-2.0
#include "ort/settings.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <memory>
#include <set>

#include <nlohmann/json.hpp>

#include "ort/calls.h"

namespace tilefuse::ort {
namespace {

// Of compiling, those that onnxruntime decides or that mean nothing here.
const std::set<std::string> kNotHere = {"batch", "gradient", "kept"};

struct ReleasePairs {
  void operator()(c::KeyValuePairs *pairs) const { api().ReleaseKeyValuePairs(pairs); }
};

// The library's options by name: "device" or "compile".
std::map<std::string, std::string> library_options() {
  char *json = nullptr;
  tilefuse::check(tf_options(&json));
  std::map<std::string, std::string> options;
  for (const auto &row : nlohmann::json::parse(detail::take(json))) {
    const std::string name = row.at("name");
    if (!name.ends_with('.') && !kNotHere.contains(name))
      options[name] = row.at("of");
  }
  return options;
}

std::size_t number(const std::string &key, const std::string &value) {
  std::size_t result = 0;
  const char *end = value.data() + value.size();
  const auto [stop, failure] = std::from_chars(value.data(), end, result);
  if (failure != std::errc() || stop != end)
    throw Refused("option " + key + " is '" + value + "', need a number from 0 on");
  return result;
}

// What stands before the names of our options.
std::string prefix() {
  std::string text = std::string("ep.") + kProvider + ".";
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return text;
}

} // namespace

Settings to_settings(const Options &options) {
  const std::map<std::string, std::string> known = library_options();
  Settings settings;
  for (const auto &[key, value] : options) {
    const auto found = known.find(key);
    if (key == "device")
      settings.device = value;
    else if (key == "cache_folder")
      settings.device_options["cache"] = value + "/kernels.sqlite";
    else if (key == "min_nodes")
      settings.least_nodes = number(key, value);
    else if (found != known.end())
      (found->second == "device" ? settings.device_options : settings.compile_options)[key] = value;
    else {
      std::string names = "device, cache_folder, min_nodes";
      for (const auto &[name, of] : known)
        names += ", " + name;
      throw Refused("there is no option '" + key + "'; options are " + names);
    }
  }
  return settings;
}

Settings read_settings(const c::SessionOptions *session) {
  c::KeyValuePairs *entries = nullptr;
  check(api().GetSessionOptionsConfigEntries(session, &entries));
  const std::unique_ptr<c::KeyValuePairs, ReleasePairs> owner(entries);
  const char *const *keys = nullptr;
  const char *const *values = nullptr;
  std::size_t count = 0;
  api().GetKeyValuePairs(entries, &keys, &values, &count);
  const std::string ours = prefix();
  Options options;
  for (std::size_t i = 0; i < count; ++i)
    if (const std::string key = keys[i]; key.starts_with(ours))
      options[key.substr(ours.size())] = values[i];
  return to_settings(options);
}

} // namespace tilefuse::ort
