// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

#include <gtest/gtest.h>

#include "base/hash.h"

namespace tilefuse {
namespace {

TEST(Error, TextNamesPlaceMessageAndNotes) {
  const Error error(ErrorCode::Shape, "3 channels, need 4", "a.tile:1:2", {"pad the input"});
  EXPECT_STREQ(error.what(), "a.tile:1:2: error: 3 channels, need 4\nnote: pad the input");
  EXPECT_EQ(error.code(), ErrorCode::Shape);
}

TEST(Error, PlaceMayBeEmpty) { EXPECT_STREQ(Error(ErrorCode::Io, "gone").what(), "error: gone"); }

TEST(Hash, IsThatOfXxh3AndDependsOnEveryByte) {
  EXPECT_EQ(content_hash(""), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(content_hash("tilefuse").size(), 32U);
  EXPECT_NE(content_hash(std::string(1000, 'a')), content_hash(std::string(999, 'a') + 'b'));
}

} // namespace
} // namespace tilefuse
