// SPDX-License-Identifier: Apache-2.0
#include "runtime/opencl/opencl_select.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "base/error.h"
#include "runtime/opencl/opencl_platform.h"

namespace tilefuse::runtime {
namespace {

std::string lower(std::string text) {
  for (char &c : text)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::optional<std::size_t> number_of(const std::string &text) {
  std::size_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

// PoCL's platform has a long name that does not hold its short one.
std::string searched_platform(const OpenclDeviceInfo &info) {
  return lower(info.platform_name + (info.is_pocl() ? " pocl" : ""));
}

bool matches(const std::string &part, std::size_t index, const std::string &name) {
  if (part.empty())
    return true;
  if (const auto number = number_of(part))
    return *number == index;
  return name.find(lower(part)) != std::string::npos;
}

int rank(const OpenclDeviceInfo &info) {
  if ((info.type & CL_DEVICE_TYPE_GPU) != 0)
    return 0;
  return (info.type & CL_DEVICE_TYPE_ACCELERATOR) != 0 ? 1 : 2;
}

std::vector<std::string> what_there_is(const std::vector<OpenclDeviceInfo> &devices) {
  if (devices.empty())
    return {"no OpenCL driver offers a device on this machine (PoCL also needs a folder to write: "
            "$POCL_CACHE_DIR or "
            "~/.cache/pocl)"};
  std::vector<std::string> notes;
  for (const OpenclDeviceInfo &info : devices) {
    const std::string why = rejection(info);
    notes.push_back(fmt::format("there is {}: {} ({}){}", info.selector(), info.name,
                                info.platform_name, why.empty() ? "" : ", not usable: " + why));
  }
  return notes;
}

// "opencl:P:D" as its two parts; both may be empty.
std::pair<std::string, std::string> parts_of(const std::string &selector) {
  const std::string head = "opencl";
  if (selector != head && !selector.starts_with(head + ":"))
    throw Error(
        ErrorCode::Device,
        fmt::format("got device '{}', need opencl, opencl:PLATFORM or opencl:PLATFORM:DEVICE",
                    selector));
  const std::string rest = selector.size() > head.size() ? selector.substr(head.size() + 1) : "";
  const std::size_t colon = rest.find(':');
  if (colon == std::string::npos)
    return {rest, ""};
  return {rest.substr(0, colon), rest.substr(colon + 1)};
}

} // namespace

OpenclDeviceInfo select_device(const std::vector<OpenclDeviceInfo> &devices,
                               const std::string &selector) {
  const auto [platform, device] = parts_of(selector);
  const OpenclDeviceInfo *best = nullptr;
  std::string refused;
  for (const OpenclDeviceInfo &info : devices) {
    if (!matches(platform, info.platform_index, searched_platform(info)))
      continue;
    if (!matches(device, info.device_index, lower(info.name)))
      continue;
    const std::string why = rejection(info);
    if (!why.empty())
      refused = fmt::format("{} cannot be used: {}", info.name, why);
    else if (best == nullptr || rank(info) < rank(*best))
      best = &info;
  }
  if (best != nullptr)
    return *best;
  throw Error(ErrorCode::Device,
              refused.empty() ? fmt::format("no OpenCL device matches '{}'", selector) : refused,
              "", what_there_is(devices));
}

} // namespace tilefuse::runtime
