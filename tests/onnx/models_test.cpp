// SPDX-License-Identifier: Apache-2.0
// Whole models of the shared data folder: each must import with the output shapes that it declares.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "onnx/model_builder.h"
#include "paths.h"

namespace tilefuse::onnx_import {
namespace {

struct Expected {
  std::string path;
  Dims output;
};

void PrintTo(const Expected &expected, std::ostream *out) { *out << expected.path; }

class Model : public testing::TestWithParam<Expected> {};

TEST_P(Model, imports_with_its_declared_shape) {
  const std::filesystem::path data = TILEFUSE_SOURCE_DIR "/../shared/data";
  if (!std::filesystem::exists(data)) {
    ASSERT_EQ(std::getenv("CI"), nullptr) << data << " is missing";
    GTEST_SKIP() << "skipped: " << data << " is missing";
  }
  const program::Program program =
      import_model((data / GetParam().path).string(), operators_library(), {});
  EXPECT_EQ(output_shape(program), GetParam().output);
  EXPECT_EQ(program.inputs.size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(
    Shared, Model,
    testing::Values(Expected{"models/cifar_cnn_pytorch/model.onnx", {1, 10}},
                    Expected{"models/cifar_resnet20/model.onnx", {1, 10}},
                    Expected{"models/cifar_resnet56/model.onnx", {1, 10}},
                    Expected{"models/cifar_resnet20_qdq_int8/model.onnx", {1, 10}},
                    Expected{"models/cifar_resnet20_qlinearconv_int8/model.onnx", {1, 10}},
                    Expected{"models/espcn_resize/model.onnx", {1, 3, 256, 256}},
                    Expected{"models/mnist_8/model.onnx", {1, 10}},
                    Expected{"models/mnist_gemm_wonnx/model.onnx", {1, 10}},
                    Expected{"models/mnist_pytorch_bn/model.onnx", {1, 10}},
                    Expected{"models/squeezenet11_fp16/model.onnx", {1, 1000, 1, 1}},
                    Expected{"models/squeezenet11_fp32/model.onnx", {1, 1000, 1, 1}},
                    Expected{"models/super_resolution_10/model.onnx", {1, 1, 672, 672}},
                    Expected{"models/deeplabv3_mnv2/model.onnx", {1, 257, 257, 21}},
                    Expected{"models/fastestdet/model.onnx", {1, 85, 22, 22}},
                    Expected{"models/micro_kws_fp32/model.onnx", {1, 10}},
                    Expected{"models/micro_kws_qdq/model.onnx", {1, 10}},
                    Expected{"models/road_seg_adas0001/model.onnx", {1, 512, 896, 4}},
                    Expected{"models/tbefn_180x320/model.onnx", {1, 180, 320, 3}},
                    Expected{"models/ultraface_rfb320/model.onnx", {1, 4420, 2}},
                    Expected{"models/ultraface_slim320_simplified/model.onnx", {1, 4420, 2}},
                    Expected{"models/yolox_nano/model.onnx", {1, 3549, 85}},
                    Expected{"models/yunet_120x160/model.onnx", {1076, 14}},
                    Expected{"models_light/light_bvlc_alexnet.onnx", {1, 1000}},
                    Expected{"models_light/light_densenet121.onnx", {1, 1000, 1, 1}},
                    Expected{"models_light/light_inception_v1.onnx", {1, 1000}},
                    Expected{"models_light/light_inception_v2.onnx", {1, 1000}},
                    Expected{"models_light/light_resnet50.onnx", {1, 1000}},
                    Expected{"models_light/light_shufflenet.onnx", {1, 1000}},
                    Expected{"models_light/light_squeezenet.onnx", {1, 1000, 1, 1}},
                    Expected{"models_light/light_vgg19.onnx", {1, 1000}},
                    Expected{"models_light/light_zfnet512.onnx", {1, 1000}}));

} // namespace
} // namespace tilefuse::onnx_import
