// SPDX-License-Identifier: Apache-2.0
#include "ort/settings.h"

#include <gtest/gtest.h>

#include "ort/calls.h"

namespace tilefuse::ort {
namespace {

TEST(Settings, AreTheLibrarysByKind) {
  const Settings settings = to_settings({{"device", "cuda:1"},
                                         {"threads", "2"},
                                         {"cache_folder", "/tmp/kept"},
                                         {"precision", "f16"},
                                         {"min_nodes", "3"}});
  EXPECT_EQ(settings.device, "cuda:1");
  EXPECT_EQ(settings.device_options,
            (Options{{"threads", "2"}, {"cache", "/tmp/kept/kernels.sqlite"}}));
  EXPECT_EQ(settings.compile_options, (Options{{"precision", "f16"}}));
  EXPECT_EQ(settings.least_nodes, 3U);
}

std::string refusal(const Options &options) {
  try {
    to_settings(options);
  } catch (const Refused &refused) {
    return refused.what();
  }
  return "";
}

TEST(Settings, SayWhatThereIs) {
  const std::string text = refusal({{"precison", "f16"}});
  EXPECT_NE(text.find("there is no option 'precison'"), std::string::npos) << text;
  EXPECT_NE(text.find("precision"), std::string::npos) << text;
  EXPECT_NE(text.find("min_nodes"), std::string::npos) << text;
  EXPECT_NE(refusal({{"gradient", "*"}}), "");
  EXPECT_NE(refusal({{"min_nodes", "few"}}), "");
}

} // namespace
} // namespace tilefuse::ort
