// SPDX-License-Identifier: Apache-2.0
// Gradients against PyTorch's autograd, from the stored results of
// tests/program/make_autograd_data.py, which describes the file.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include <fmt/format.h>

#include "onnx/model_builder.h"
#include "paths.h"
#include "program/finite_difference.h"

namespace tilefuse::onnx_import {
namespace {

using program::testing::Values;

struct Case {
  std::string name;
  std::string op;
  std::int64_t opset = 0;
  std::vector<onnx::AttributeProto> attributes;
  std::map<std::string, std::int64_t> integers; // of the attributes
  std::vector<std::pair<std::string, Dims>> inputs;
  std::vector<Values> given; // the inputs' values, then the seed's
  std::map<std::string, Values> gradients;
};

template <typename T> std::vector<T> rest(std::istringstream &line) {
  std::vector<T> values;
  for (T value; line >> value;)
    values.push_back(value);
  line.clear();
  return values;
}

// Sizes up to a colon.
Dims sizes(std::istringstream &line) {
  const Dims dims = rest<std::int64_t>(line);
  std::string colon;
  line >> colon;
  return dims;
}

void read_line(std::istringstream &line, const std::string &key, Case &c) {
  std::string name;
  if (key != "seed")
    line >> name;
  if (key == "op") {
    c.op = name;
    line >> c.opset;
  } else if (key == "ints") {
    c.attributes.push_back(attribute(name, rest<std::int64_t>(line)));
  } else if (key == "int") {
    c.integers[name] = rest<std::int64_t>(line).at(0);
    c.attributes.push_back(attribute(name, c.integers[name]));
  } else if (key == "real") {
    c.attributes.push_back(attribute(name, rest<double>(line).at(0)));
  } else if (key == "input") {
    c.inputs.emplace_back(name, sizes(line));
    c.given.push_back(rest<double>(line));
  } else if (key == "seed") {
    sizes(line);
    c.given.push_back(rest<double>(line));
  } else if (key == "grad") {
    sizes(line);
    c.gradients[name] = rest<double>(line);
  } else {
    ADD_FAILURE() << "a line starts with " << key;
  }
}

std::vector<Case> read_cases() {
  std::ifstream file(TILEFUSE_SOURCE_DIR "/tests/data/autograd.txt");
  std::vector<Case> cases;
  for (std::string text; std::getline(file, text);) {
    std::istringstream line(text);
    std::string key;
    line >> key;
    if (key == "case") {
      cases.emplace_back();
      line >> cases.back().name;
    } else if (!key.empty() && key != "#" && key != "end") {
      read_line(line, key, cases.back());
    }
  }
  return cases;
}

ModelBuilder with_inputs(const Case &c) {
  ModelBuilder model(c.opset);
  for (const auto &[name, dims] : c.inputs)
    model.input(name, dims);
  return model;
}

// As exporters write it: an instance normalisation of the groups.
program::Program group_norm(const Case &c) {
  const std::int64_t groups = c.integers.at("groups");
  const Dims &shape = c.inputs.at(0).second;
  onnx::TensorProto ones = float_tensor("ones", {groups});
  for (int i = 0; i < groups; ++i)
    ones.set_float_data(i, 1);
  ModelBuilder model = with_inputs(c);
  model.initializer(int64_tensor("groups", {3}, {0, groups, -1})).initializer(ones);
  model.initializer(int64_tensor("shape", {4}, shape));
  model.initializer(float_tensor("any", {groups}));
  model.node("Reshape", {"x", "groups"}, {"g"})
      .node("Sub", {"any", "any"}, {"zeros"})
      .node("InstanceNormalization", {"g", "ones", "zeros"}, {"i"}, {attribute("epsilon", 0x1p-10)})
      .node("Reshape", {"i", "shape"}, {"n"})
      .node("Mul", {"n", "w"}, {"m"})
      .node("Add", {"m", "b"}, {"y"})
      .output("y");
  return import(model);
}

program::Program one_node(const Case &c) {
  ModelBuilder model = with_inputs(c);
  std::vector<std::string> names;
  for (const auto &[name, dims] : c.inputs)
    names.push_back(name);
  model.node(c.op, names, {"y"}, c.attributes).output("y");
  return import(model);
}

void compare(const Case &c) {
  SCOPED_TRACE(c.name);
  const program::Program program = c.op == "GroupNorm" ? group_norm(c) : one_node(c);
  const std::vector<Values> got =
      program::testing::run(program::testing::gradient_by_inputs(program), c.given);
  ASSERT_EQ(got.size(), c.inputs.size());
  for (std::size_t k = 0; k < got.size(); ++k) {
    const auto wanted = c.gradients.find(c.inputs[k].first);
    if (wanted == c.gradients.end())
      continue;
    ASSERT_EQ(got[k].size(), wanted->second.size());
    for (std::size_t i = 0; i < got[k].size(); ++i)
      ASSERT_NEAR(got[k][i], wanted->second[i], 1e-7 * (1 + std::fabs(wanted->second[i])))
          << "by " << wanted->first << ", element " << i;
  }
}

TEST(Autograd, AgreesWithPyTorch) {
  const std::vector<Case> cases = read_cases();
  EXPECT_GT(cases.size(), 40U);
  for (const Case &c : cases)
    compare(c);
}

} // namespace
} // namespace tilefuse::onnx_import
