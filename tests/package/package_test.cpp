// SPDX-License-Identifier: Apache-2.0
#include "package/package.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace tilefuse {
namespace {

Package sample() {
  Package package;
  package.name = "conv \"a\"";
  package.symbol = "conv_a";
  package.format = CodeFormat::ElfObject;
  package.code = std::string("\0\xFF code", 7);
  package.blocks = std::int64_t{1} << 40;
  package.block_size = 64;
  package.scratch_bytes = 4096;
  package.counts = 12;
  package.args = {{1024, false}, {std::int64_t{1} << 33, true}};
  package.flops = 1.5e9;
  package.bytes = 0.1;
  return package;
}

TEST(Package, BinaryFormComesBack) {
  EXPECT_EQ(deserialize(serialize(sample())), sample());
  EXPECT_EQ(deserialize(serialize(Package{})), Package{});
}

TEST(Package, EveryFormatComesBack) {
  for (const CodeFormat format :
       {CodeFormat::OpenclSource, CodeFormat::OpenclBinary, CodeFormat::ElfObject,
        CodeFormat::CudaSource, CodeFormat::CudaBinary}) {
    Package package = sample();
    package.format = format;
    EXPECT_EQ(deserialize(serialize(package)), package);
  }
}

TEST(Package, EveryDamagedByteIsFound) {
  const std::string good = serialize(sample());
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const int flip : {1, 0x80, 0xFF}) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ flip);
      EXPECT_THROW(deserialize(bad), Error) << i;
    }
  }
}

TEST(Package, EveryTruncationAndAppendixIsFound) {
  const std::string good = serialize(sample());
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_THROW(deserialize(good.substr(0, size)), Error) << size;
  EXPECT_THROW(deserialize(good + '\0'), Error);
}

TEST(Package, TextShowsTheRecipeAndSource) {
  Package package = sample();
  package.name = "conv";
  package.format = CodeFormat::OpenclSource;
  package.code = "__kernel void conv_a() {}\n";
  EXPECT_EQ(to_text(package),
            "package conv\n  symbol conv_a\n  format opencl_source\n  code_bytes "
            "26\n  blocks 1099511627776\n"
            "  block_size 64\n  scratch_bytes 4096\n  flops 1500000000\n  bytes "
            "0.1\n  arg 0 bytes 1024 read\n"
            "  arg 1 bytes 8589934592 written\n  counts 12\n\n__kernel void conv_a() {}\n");
  EXPECT_EQ(to_text(sample()).find("code\n"), std::string::npos);
}

} // namespace
} // namespace tilefuse
