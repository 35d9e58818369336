// SPDX-License-Identifier: Apache-2.0
// What tests of the library share: a device, small functions, models of the repository.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "paths.h"
#include "tilefuse/tilefuse.hpp"

namespace tilefuse::testing {

inline constexpr const char *kScale = "function scale(X[N]; F) -> (Y) { Y = F * X; }";
inline constexpr const char *kReverse =
    "function reverse(X[N]) -> (Y) { Y[i : N] = +(X[N - 1 - i]); }";
inline const std::string kGlyphs = TILEFUSE_SOURCE_DIR "/examples/glyphs/model.onnx";

// One thread of the cpu; what it logs goes to `told`.
inline Device cpu(std::vector<std::string> *told = nullptr, const Options &options = {}) {
  Options all{{"threads", "1"}};
  all.insert(options.begin(), options.end());
  const Log log = [told](tf_log_level, const std::string &text) {
    if (told != nullptr)
      told->push_back(text);
  };
  return Device("cpu", all, {log});
}

using Session = tilefuse::Run; // ::testing::Test has a member Run

// 0, 1, 2, …
inline std::vector<float> ramp(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(i);
  return values;
}

inline Tensor vector_of(std::vector<float> &values) {
  return view(values.data(), {static_cast<std::int64_t>(values.size())});
}

// The error of something that must throw one.
template <class Function> std::string failure(tf_status status, const Function &function) {
  try {
    function();
  } catch (const Error &error) {
    EXPECT_EQ(error.status(), status) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

} // namespace tilefuse::testing
