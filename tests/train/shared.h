// SPDX-License-Identifier: Apache-2.0
// Models and pictures of ../shared/data, and devices, for tests of training.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "model/devices.h"
#include "paths.h"
#include "train/recipe.h"

namespace tilefuse::train {

inline const std::filesystem::path &shared() {
  static const std::filesystem::path folder = TILEFUSE_SOURCE_DIR "/../shared/data";
  return folder;
}

// Missing data fail in CI; elsewhere the test says that it is skipped.
inline bool is_shared_data_missing() {
  const bool is_missing = !std::filesystem::exists(shared() / "datasets");
  EXPECT_FALSE(is_missing && std::getenv("CI") != nullptr) << shared() << " is missing";
  return is_missing;
}

inline std::string shared_model(const std::string &name) {
  return (shared() / "models" / name / "model.onnx").string();
}
// "train_10000", "test_2000".
inline std::string cifar(const std::string &name) {
  return "cifar:" + (shared() / "datasets/cifar10_subset" / (name + ".bin.gz")).string();
}
inline std::string mnist() {
  const std::filesystem::path place = shared() / "datasets/mnist_t10k";
  return "mnist:" + (place / "t10k-images-idx3-ubyte.gz").string() + "," +
         (place / "t10k-labels-idx1-ubyte.gz").string();
}

inline runtime::Device *find_device(const std::string &name) {
  for (testing::NamedDevice &device : testing::devices())
    if (device.name == name)
      return device.device.get();
  return nullptr;
}

// The network for digits, with the settings that it was trained with.
inline Recipe mnist_recipe() {
  Recipe recipe;
  recipe.model = shared_model("mnist_pytorch_bn");
  recipe.data.train = recipe.data.test = mnist();
  recipe.data.mean = {0.1307};
  recipe.data.std = {0.3081};
  recipe.steps.batch = 16;
  recipe.optimizer.rate = 0.01;
  return recipe;
}

} // namespace tilefuse::train
