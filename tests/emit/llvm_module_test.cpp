// SPDX-License-Identifier: Apache-2.0
// A module of another build is refused with the reason, and nothing of it is called.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "emit/emitter.h"
#include "emit/llvm/llvm_module.h"

namespace tilefuse::emit {
namespace {

// In a process of its own, since a module is opened once.
void say_why_not(const char *kind) {
  setenv("TILEFUSE_LIB", (std::string(TILEFUSE_MODULES) + "/" + kind).c_str(), 1);
  std::string why;
  const bool is_there = make_llvm_emitter(&why) != nullptr;
  std::fputs(why.c_str(), stderr);
  std::exit(is_there ? 1 : 0);
}

TEST(LlvmModule, OfBeforeTheInterfaceWasSaidIsRefused) {
  EXPECT_EXIT(say_why_not("old"), ::testing::ExitedWithCode(0),
              "old/tilefuse_llvm.so belongs to another version .* its interface is none, need ");
}

TEST(LlvmModule, OfAnotherBuildIsRefused) {
  EXPECT_EXIT(say_why_not("stale"), ::testing::ExitedWithCode(0),
              "its interface is 0123456789abcdef, need [0-9a-f]+; install both from one build");
}

} // namespace
} // namespace tilefuse::emit
