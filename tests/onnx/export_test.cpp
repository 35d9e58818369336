// SPDX-License-Identifier: Apache-2.0
// Models written again: nothing changes but what is said, wherever the numbers lie.
#include <cmath>
#include <csignal>
#include <cstring>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "onnx/export.h"
#include "onnx/model_builder.h"
#include "onnx/tensor.h"
#include "paths.h"

namespace tilefuse::onnx_import {
namespace {

namespace fs = std::filesystem;
using Tensors = std::map<std::string, program::HostTensor>;

std::string bytes_of(const fs::path &path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << in.rdbuf();
  return bytes.str();
}

onnx::ModelProto model_of(const fs::path &path) {
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(bytes_of(path))) << path;
  return model;
}

program::HostTensor tensor_of(const std::string &name, const Dims &dims,
                              const std::vector<double> &values, DType type = DType::F32) {
  program::HostTensor tensor = program::make_host_tensor(name, type, dims);
  for (std::size_t i = 0; i < values.size(); ++i)
    program::set(tensor, static_cast<std::int64_t>(i), values[i]);
  return tensor;
}

std::vector<double> values_of(const program::HostTensor &tensor) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < program::elems(tensor.shape); ++i)
    values.push_back(program::get(tensor, i));
  return values;
}

// The values of an initializer of a file.
std::vector<double> values_in(const fs::path &path, const std::string &name) {
  const onnx::ModelProto model = model_of(path);
  for (const onnx::TensorProto &tensor : model.graph().initializer())
    if (tensor.name() == name)
      return values_of(to_host_tensor(tensor, path.parent_path()));
  ADD_FAILURE() << "no initializer " << name;
  return {};
}

onnx::TensorProto raw_f16(const std::string &name, const Dims &dims,
                          const std::vector<double> &values) {
  const program::HostTensor host = tensor_of(name, dims, values, DType::F16);
  onnx::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::FLOAT16);
  tensor.mutable_dims()->Add(dims.begin(), dims.end());
  tensor.set_raw_data(host.data.data(), host.data.size());
  return tensor;
}

ModelBuilder small_model() {
  ModelBuilder model(13);
  model.input("x", {2, 2})
      .initializer(float_tensor("w", {2, 2}))
      .initializer(raw_f16("h", {2}, {1, 2}));
  model.node("Constant", {}, {"c"}, {attribute("value", float_tensor("", {2}))});
  model.node("MatMul", {"x", "w"}, {"m"}).node("Add", {"m", "c"}, {"a"});
  model.node("Cast", {"h"}, {"f"}, {attribute("to", std::int64_t{onnx::TensorProto::FLOAT})});
  model.node("Add", {"a", "f"}, {"y"}).output("y");
  auto *entry = model.proto.add_metadata_props();
  entry->set_key("author");
  entry->set_value("someone");
  return model;
}

class Export : public testing::Test {
protected:
  std::string write(const onnx::ModelProto &model) {
    return folder_.write("in/model.onnx", model.SerializeAsString());
  }
  std::string to(const std::string &name) const { return (folder_.path() / name).string(); }
  // What a refused export says; the file is not there.
  std::string refusal(const Tensors &replaced) {
    const std::string from = write(small_model().proto);
    const Error error = error_of([&] { export_model(from, to("out.onnx"), replaced, {}); });
    EXPECT_FALSE(fs::exists(to("out.onnx")));
    return error.message();
  }
  Folder folder_;
};

TEST_F(Export, without_changes_is_the_same_file) {
  const std::string from = write(small_model().proto);
  export_model(from, to("new/out.onnx"), {}, {});
  EXPECT_EQ(bytes_of(to("new/out.onnx")), bytes_of(from));
}

TEST_F(Export, replaces_data_in_the_files_own_types) {
  const std::string from = write(small_model().proto);
  export_model(from, to("out.onnx"),
               {{"w", tensor_of("", {2, 2}, {1, 2, 3, 1e-30})},
                {"h", tensor_of("", {2}, {0.1, -3})},
                {"c", tensor_of("", {2}, {7, 8})}},
               {});
  EXPECT_EQ(values_in(to("out.onnx"), "w"), (std::vector<double>{1, 2, 3, 1e-30F}));
  EXPECT_EQ(values_in(to("out.onnx"), "h"), (std::vector<double>{0.0999755859375, -3}));
  onnx::ModelProto was = model_of(from), is = model_of(to("out.onnx"));
  EXPECT_EQ(values_of(to_host_tensor(is.graph().node(0).attribute(0).t(), {})),
            (std::vector<double>{7, 8}));
  for (onnx::ModelProto *model : {&was, &is}) {
    model->mutable_graph()->clear_initializer();
    model->mutable_graph()->mutable_node(0)->clear_attribute();
  }
  EXPECT_EQ(is.SerializeAsString(), was.SerializeAsString());
}

TEST_F(Export, data_that_did_not_change_are_not_touched) {
  const std::string from = write(small_model().proto);
  export_model(
      from, to("out.onnx"),
      {{"w", tensor_of("", {2, 2}, {0.25, 0.5, 0.75, 1})}, {"h", tensor_of("", {2}, {1, 2})}}, {});
  EXPECT_EQ(bytes_of(to("out.onnx")), bytes_of(from));
}

TEST_F(Export, what_is_not_known_stays) {
  // Field 999 of the model and of a node, as a later schema may have: a varint.
  const std::string unknown = "\xb8\x3e\x05";
  onnx::ModelProto model = small_model().proto;
  onnx::NodeProto node;
  ASSERT_TRUE(node.ParseFromString(model.graph().node(1).SerializeAsString() + unknown));
  *model.mutable_graph()->mutable_node(1) = node;
  const std::string bytes = model.SerializeAsString() + unknown;
  const std::string from = folder_.write("in/model.onnx", bytes);
  export_model(from, to("out.onnx"), {}, {});
  EXPECT_EQ(bytes_of(to("out.onnx")), bytes);
}

TEST_F(Export, metadata_join_the_files) {
  const std::string from = write(small_model().proto);
  export_model(from, to("out.onnx"), {}, {{"author", "another"}, {"tilefuse.step", "12"}});
  const onnx::ModelProto model = model_of(to("out.onnx"));
  ASSERT_EQ(model.metadata_props_size(), 2);
  EXPECT_EQ(model.metadata_props(0).value(), "another");
  EXPECT_EQ(model.metadata_props(1).key(), "tilefuse.step");
  EXPECT_EQ(model.metadata_props(1).value(), "12");
}

TEST_F(Export, a_model_in_memory) {
  const std::string bytes = small_model().proto.SerializeAsString();
  export_model(ModelBytes{bytes, folder_.path()}, to("out.onnx"),
               {{"h", tensor_of("", {2}, {4, 5})}}, {});
  EXPECT_EQ(values_in(to("out.onnx"), "h"), (std::vector<double>{4, 5}));
}

TEST_F(Export, refusals) {
  EXPECT_EQ(refusal({{"x", tensor_of("", {2, 2}, {})}}), "the model stores no tensor \"x\"");
  EXPECT_EQ(refusal({{"w", tensor_of("", {4}, {})}}),
            "\"w\" has shape [2, 2] in the model, got [4]");
  EXPECT_EQ(refusal({{"w", tensor_of("", {2, 2}, {}, DType::I32)}}),
            "\"w\" is of f32 in the model, got i32");
  EXPECT_EQ(refusal({{"h", tensor_of("", {2}, {1, 70000})}}),
            "\"h\" holds 70000, more than its type in the model, f16, can hold");
}

TEST_F(Export, a_full_disk_leaves_the_file_that_was_there) {
  ModelBuilder model = small_model();
  model.initializer(float_tensor("large", {10000}));
  const std::string from = write(model.proto);
  export_model(from, to("out.onnx"), {}, {});
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1000, 1000};
    setrlimit(RLIMIT_FSIZE, &limit);
    try {
      export_model(from, to("out.onnx"), {{"h", tensor_of("", {2}, {4, 5})}}, {});
    } catch (const Error &error) {
      _exit(error.message() == "cannot write the file: File too large" ? 0 : 1);
    }
    _exit(2);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(bytes_of(to("out.onnx")), bytes_of(from));
}

// ---- Data beside the model

onnx::TensorProto beside(const std::string &name, const std::string &location,
                         std::int64_t offset) {
  onnx::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.add_dims(2);
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  for (const auto &[key, value] :
       std::vector<std::pair<std::string, std::string>>{{"location", location},
                                                        {"offset", std::to_string(offset)},
                                                        {"length", "8"},
                                                        {"checksum", "abc"}}) {
    auto *entry = tensor.add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  }
  return tensor;
}

// 64 bytes: floats 0, 1, … 15.
std::string sixteen_floats() {
  std::string bytes;
  for (int i = 0; i < 16; ++i) {
    const auto value = static_cast<float>(i);
    bytes.append(reinterpret_cast<const char *>(&value), sizeof value);
  }
  return bytes;
}

ModelBuilder beside_model(const std::string &first, const std::string &second) {
  ModelBuilder model(13);
  model.input("x", {2}).initializer(beside("a", first, 8)).initializer(beside("b", second, 32));
  model.node("Constant", {}, {"c"}, {attribute("value", beside("", first, 48))});
  model.node("Add", {"x", "a"}, {"d"})
      .node("Add", {"d", "b"}, {"e"})
      .node("Add", {"e", "c"}, {"y"})
      .output("y");
  return model;
}

std::string entry_of(const onnx::TensorProto &tensor, const std::string &key) {
  for (const auto &entry : tensor.external_data())
    if (entry.key() == key)
      return entry.value();
  return "none";
}

TEST_F(Export, data_beside_the_model_keep_their_places) {
  folder_.write("in/weights.bin", sixteen_floats());
  const std::string from = write(beside_model("weights.bin", "weights.bin").proto);
  export_model(from, to("in/best.onnx"), {{"b", tensor_of("", {2}, {-1, -2})}}, {});
  std::string want = sixteen_floats();
  const float values[] = {-1, -2};
  std::memcpy(want.data() + 32, values, sizeof values);
  EXPECT_EQ(bytes_of(to("in/best.onnx.data")), want);
  EXPECT_EQ(bytes_of(to("in/weights.bin")), sixteen_floats());
  const onnx::ModelProto model = model_of(to("in/best.onnx"));
  for (const onnx::TensorProto *tensor :
       {&model.graph().initializer(0), &model.graph().initializer(1),
        &model.graph().node(0).attribute(0).t()}) {
    EXPECT_EQ(entry_of(*tensor, "location"), "best.onnx.data");
    EXPECT_EQ(entry_of(*tensor, "checksum"), "none");
  }
  EXPECT_EQ(entry_of(model.graph().initializer(1), "offset"), "32");
  EXPECT_EQ(values_in(to("in/best.onnx"), "a"), (std::vector<double>{2, 3}));
  EXPECT_EQ(values_in(to("in/best.onnx"), "b"), (std::vector<double>{-1, -2}));
  EXPECT_EQ(output_shape(import_model(to("in/best.onnx"), operators_library(), {})), (Dims{2}));
}

TEST_F(Export, several_files_beside_the_model_get_a_folder) {
  folder_.write("in/w/1.bin", sixteen_floats());
  folder_.write("in/2.bin", sixteen_floats());
  const std::string from = write(beside_model("w/1.bin", "2.bin").proto);
  export_model(from, to("out/best.onnx"), {{"a", tensor_of("", {2}, {-1, -2})}}, {});
  EXPECT_EQ(values_in(to("out/best.onnx"), "a"), (std::vector<double>{-1, -2}));
  EXPECT_EQ(values_in(to("out/best.onnx"), "b"), (std::vector<double>{8, 9}));
  EXPECT_EQ(bytes_of(to("out/best.onnx.data/2.bin")), sixteen_floats());
  const onnx::ModelProto model = model_of(to("out/best.onnx"));
  EXPECT_EQ(entry_of(model.graph().initializer(0), "checksum"), "none"); // its file has changed
  EXPECT_EQ(entry_of(model.graph().initializer(1), "checksum"), "abc");
}

TEST_F(Export, onto_itself) {
  folder_.write("in/model.onnx.data", sixteen_floats());
  const std::string from = write(beside_model("model.onnx.data", "model.onnx.data").proto);
  export_model(from, from, {{"a", tensor_of("", {2}, {-1, -2})}}, {});
  EXPECT_EQ(values_in(from, "a"), (std::vector<double>{-1, -2}));
  EXPECT_EQ(values_in(from, "b"), (std::vector<double>{8, 9}));
}

// ---- Models of the shared folder

class SharedExport : public testing::TestWithParam<std::string> {};

TEST_P(SharedExport, is_the_same_file_with_its_own_numbers) {
  const fs::path path =
      fs::path(TILEFUSE_SOURCE_DIR "/../shared/data/models") / GetParam() / "model.onnx";
  if (!fs::exists(path)) {
    ASSERT_EQ(std::getenv("CI"), nullptr) << path << " is missing";
    GTEST_SKIP() << "skipped: " << path << " is missing";
  }
  const Folder folder;
  Tensors all;
  const onnx::ModelProto model = model_of(path);
  for (const onnx::TensorProto &tensor : model.graph().initializer()) {
    const program::HostTensor host = to_host_tensor(tensor, path.parent_path());
    all.emplace(tensor.name(), is_float(host.type) ? program::convert(host, DType::F32) : host);
  }
  export_model(path.string(), (folder.path() / "out.onnx").string(), all, {});
  EXPECT_TRUE(bytes_of(folder.path() / "out.onnx") == bytes_of(path));
}

INSTANTIATE_TEST_SUITE_P(Shared, SharedExport,
                         testing::Values("cifar_cnn_pytorch", "cifar_resnet20",
                                         "cifar_resnet20_qdq_int8", "cifar_resnet56",
                                         "espcn_resize", "micro_kws_fp32", "mnist_8",
                                         "mnist_gemm_wonnx", "mnist_pytorch_bn",
                                         "squeezenet11_fp16", "squeezenet11_fp32",
                                         "super_resolution_10", "yunet_120x160"));

} // namespace
} // namespace tilefuse::onnx_import
