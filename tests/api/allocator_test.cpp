// SPDX-License-Identifier: Apache-2.0
// A device whose memory comes from the caller: all of it, also where the caller has none left.
#include "api_fixture.h"

#include <cstdlib>
#include <map>

namespace tilefuse {
namespace {

using namespace testing;

// What is given and not yet back, by address; of so many gifts the last is none.
struct Store {
  std::map<void *, std::size_t> given;
  std::size_t gifts = 0;
  std::size_t most = ~std::size_t{0};

  Hooks hooks() {
    return {{},
            [this](std::size_t bytes, std::size_t alignment) -> void * {
              if (gifts == most)
                return nullptr;
              ++gifts;
              void *memory =
                  std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
              given[memory] = bytes;
              return memory;
            },
            [this](void *memory, std::size_t bytes) {
              EXPECT_EQ(given.at(memory), bytes);
              given.erase(memory);
              std::free(memory);
            },
            nullptr};
  }
};

// The scores of one picture.
std::vector<float> scores(const Device &device) {
  Session run(Compiled(Model::read(kGlyphs), device, {{"batch", "1"}}));
  std::vector<float> picture(3 * 32 * 32, 0.25f);
  run.input(0, view(picture.data(), {1, 3, 32, 32}));
  run.execute();
  const Output output = run.output(0);
  return {output.data<float>(), output.data<float>() + output.elements()};
}

TEST(ApiAllocator, AllMemoryOfTheCpuIsTheCallers) {
  Store store;
  const std::vector<float> expected = scores(Device("cpu", {{"threads", "2"}}));
  {
    const Device device("cpu", {{"threads", "2"}}, store.hooks());
    EXPECT_EQ(scores(device), expected);
    EXPECT_GE(store.gifts, 2u) << "weights and activations";
  }
  EXPECT_TRUE(store.given.empty());
}

TEST(ApiAllocator, WhereThereIsNoneTheCallFailsAndNothingIsLost) {
  Store all;
  scores(Device("cpu", {{"threads", "1"}}, all.hooks()));
  ASSERT_GE(all.gifts, 2u);
  for (std::size_t most = 0; most < all.gifts; ++most) {
    Store store;
    store.most = most;
    {
      const Device device("cpu", {{"threads", "1"}}, store.hooks());
      EXPECT_NE(
          failure(TF_DEVICE, [&] { scores(device); }).find("allocator gave the cpu no memory"),
          std::string::npos)
          << most;
      store.most = ~std::size_t{0};
      EXPECT_EQ(scores(device).size(), scores(cpu()).size()) << "goes on";
    }
    EXPECT_TRUE(store.given.empty()) << most;
  }
}

TEST(ApiAllocator, MemoryLiesWhereItIsAskedFor) {
  alignas(64) static char memory[1 << 20];
  Hooks hooks;
  hooks.allocate = [](std::size_t, std::size_t) -> void * { return memory + 4; };
  hooks.release = [](void *, std::size_t) {};
  EXPECT_NE(failure(TF_DEVICE,
                    [&] {
                      scores(Device("cpu", {{"threads", "1"}}, hooks));
                    })
                .find("need a multiple of 64"),
            std::string::npos);
}

TEST(ApiAllocator, BothHooksOrNone) {
  Hooks allocates;
  allocates.allocate = [](std::size_t, std::size_t) -> void * { return nullptr; };
  Hooks releases;
  releases.release = [](void *, std::size_t) {};
  for (const Hooks &hooks : {allocates, releases})
    EXPECT_NE(failure(TF_ARGUMENT, [&] { Device("cpu", {}, hooks); })
                  .find("needs both allocate and release"),
              std::string::npos);
}

TEST(ApiAllocator, HooksAreChecked) {
  tf_device *device = nullptr;
  tf_hooks hooks{};
  EXPECT_EQ(tf_device_open("cpu", nullptr, 0, &hooks, &device), TF_ARGUMENT);
  EXPECT_NE(std::string(tf_error_message()).find("the size of the hooks is 0"), std::string::npos);
  hooks.size = sizeof hooks;
  hooks.allocate = [](void *, std::size_t, std::size_t) -> void * { return nullptr; };
  EXPECT_EQ(tf_device_open("cpu", nullptr, 0, &hooks, &device), TF_ARGUMENT);
  EXPECT_NE(std::string(tf_error_message()).find("both allocate and release"), std::string::npos);
}

} // namespace
} // namespace tilefuse
