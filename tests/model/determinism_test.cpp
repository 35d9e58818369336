// SPDX-License-Identifier: Apache-2.0
// The same model gives the same bytes: on one thread and on many, and every time.
#include <gtest/gtest.h>

#include <sched.h>

#include <thread>

#include "model/compile.h"
#include "onnx/import.h"
#include "paths.h"
#include "runtime/cpu/cpu_device.h"
#include "tile/tile.h"

namespace tilefuse {
namespace {

program::Program glyphs() {
  return onnx_import::import_model(TILEFUSE_SOURCE_DIR "/examples/glyphs/model.onnx",
                                   tile::read_library(TILEFUSE_SOURCE_DIR "/ops"), {});
}

// All packages of the model for the CPU, built on `threads` threads.
std::vector<std::string> packages(int threads) {
  std::vector<std::string> bytes;
  std::thread worker([&] {
    cpu_set_t allowed;
    sched_getaffinity(0, sizeof allowed, &allowed);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&allowed) > threads; ++cpu)
      CPU_CLR(cpu, &allowed);
    sched_setaffinity(0, sizeof allowed, &allowed);
    const auto device = runtime::make_cpu_device(1);
    runtime::KernelCache cache("", [](const std::string &) {});
    for (const Package &package : model::compile(glyphs(), *device, cache, {}).packages)
      bytes.push_back(serialize(package));
  });
  worker.join();
  return bytes;
}

TEST(Determinism, PackagesAreTheSameOnOneThreadAndMany) {
  const std::vector<std::string> one = packages(1);
  const std::vector<std::string> many = packages(64);
  EXPECT_GT(one.size(), 2u);
  EXPECT_EQ(one, many);
  EXPECT_EQ(many, packages(64));
}

} // namespace
} // namespace tilefuse
