// SPDX-License-Identifier: Apache-2.0
#include "ort/wire.h"

#include <gtest/gtest.h>

namespace tilefuse::ort {
namespace {

using namespace std::string_literals;

TEST(Wire, Integers) {
  Message message;
  message.add_int(1, 150);
  message.add_int(20, -1);
  EXPECT_EQ(message.bytes(), "\x08\x96\x01\xa0\x01"s + "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s);
}

TEST(Wire, TextsAndMessages) {
  Message inner;
  inner.add_bytes(2, "testing");
  EXPECT_EQ(inner.bytes(), "\x12\x07testing"s);
  Message outer;
  outer.add(3, inner);
  EXPECT_EQ(outer.bytes(), "\x1a\x09\x12\x07testing"s);
}

TEST(Wire, Floats) {
  Message message;
  message.add_float(2, 1.0F);
  EXPECT_EQ(message.bytes(), "\x15\x00\x00\x80\x3f"s);
}

} // namespace
} // namespace tilefuse::ort
