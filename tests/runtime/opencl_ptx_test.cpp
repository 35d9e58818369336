// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "runtime/opencl/opencl_ptx.h"

namespace tilefuse::runtime {
namespace {

constexpr std::string_view kText = R"(.version 8.7
.target sm_90, texmode_independent
.address_size 64

.entry one(
	.param .u64 .ptr .global .align 4 one_param_0
)
.reqntid 256, 1, 1
{
	ret;
}
.entry two()
.reqntid 32, 1, 1
{
	ret;
}
.entry large()
.reqntid 512, 1, 1
{
	ret;
}
)";

TEST(OpenclPtx, EntriesAskForOneBlock) {
  const std::string text = ask_for_one_block(kText);
  EXPECT_NE(text.find(".reqntid 256, 1, 1\n.minnctapersm 1\n{"), std::string::npos) << text;
  EXPECT_NE(text.find(".reqntid 32, 1, 1\n.minnctapersm 1\n{"), std::string::npos) << text;
  EXPECT_NE(text.find(".reqntid 512, 1, 1\n.minnctapersm 1\n{"), std::string::npos) << text;
  std::string back = text;
  for (std::size_t at = 0; (at = back.find("\n.minnctapersm 1")) != std::string::npos;)
    back.erase(at, 16);
  EXPECT_EQ(back, kText);
  EXPECT_EQ(ask_for_one_block(text), text);
}

TEST(OpenclPtx, OtherBinariesStay) {
  for (const std::string_view binary : {"",
                                        "\x7f"
                                        "ELF .reqntid 1, 1, 1\n",
                                        "poclbin .entry .reqntid"})
    EXPECT_EQ(ask_for_one_block(binary), binary);
}

} // namespace
} // namespace tilefuse::runtime
