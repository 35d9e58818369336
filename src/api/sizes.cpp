// SPDX-License-Identifier: Apache-2.0
#include "api/sizes.h"

#include <charconv>
#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/scanner.h"

namespace tilefuse::api {
namespace {

using Named = std::pair<std::string, std::vector<std::int64_t>>;

[[noreturn]] void fail(const std::string &text, const char *need) {
  throw Error(ErrorCode::Syntax, fmt::format("got {}, need {}", tilefuse::quoted(text), need));
}

// "name=1,2,3"; a name may hold '=' itself.
Named parse(const std::string &text, const char *need) {
  const std::size_t split = text.rfind('=');
  if (split == std::string::npos || split == 0)
    fail(text, need);
  Named named{text.substr(0, split), {}};
  const char *at = text.data() + split + 1;
  const char *end = text.data() + text.size();
  for (;; ++at) {
    std::int64_t value = 0;
    const auto [stop, failure] = std::from_chars(at, end, value);
    if (failure != std::errc() || (stop != end && *stop != ','))
      fail(text, need);
    named.second.push_back(value);
    at = stop;
    if (at == end)
      return named;
  }
}

} // namespace

void add_dim(onnx_import::Options &sizes, const std::string &text) {
  constexpr const char *kNeed = "a dimension's name and size, height=320";
  const auto [name, values] = parse(text, kNeed);
  if (values.size() != 1)
    fail(text, kNeed);
  sizes.dims[name] = values[0];
}

void add_shape(onnx_import::Options &sizes, const std::string &text) {
  const auto [name, values] = parse(text, "an input's name and sizes, images=1,3,320,320");
  sizes.input_shapes[name] = values;
}

void add_values(onnx_import::Options &sizes, const std::string &text) {
  const auto [name, values] = parse(text, "an input's name and integers, sizes=640,640");
  sizes.input_values[name] = values;
}

} // namespace tilefuse::api
