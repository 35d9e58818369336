// SPDX-License-Identifier: Apache-2.0
// A plan kept whole: it reads back as it was, a second start takes it over and chooses nothing, what
// it depends on is in its key, and a text that is cut, changed or of something else is planned anew.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <vector>

#include "base/error.h"
#include "base/hash.h"
#include "model/compile.h"
#include "model/devices.h"
#include "model/differentiate.h"
#include "model/plan/kept_plan.h"
#include "model/plan/plan.h"
#include "model/precision.h"
#include "model/session.h"
#include "onnx/import.h"
#include "paths.h"
#include "runtime/store/sqlite.h"
#include "runtime/target_device.h"
#include "target/rows.h"
#include "tile/tile.h"

namespace tilefuse::model {
namespace {

program::Program glyphs() {
  static const program::Program read =
      onnx_import::import_model(TILEFUSE_SOURCE_DIR "/examples/glyphs/model.onnx",
                                tile::read_library(TILEFUSE_SOURCE_DIR "/ops"), {});
  return read;
}

Compiled chosen(const program::Program &program, const std::string &target,
                const SessionOptions &options) {
  const runtime::TargetDevice device(testing::target_row(target));
  search::KeptChoices kept(nullptr, device.target());
  return choose_kernels(program, device, kept, options);
}

// Whatever a program and its options are, and where everything lies.
void expect_same(const Compiled &compiled) {
  const std::string text = to_text(compiled);
  const Compiled read = parse_compiled(text);
  EXPECT_EQ(to_text(read), text);
  Compiled a = compiled, b = read;
  a.packages.resize(1);
  b.packages.resize(1);
  EXPECT_EQ(to_text(make_plan(b, 256), b), to_text(make_plan(a, 256), a));
}

TEST(CompiledText, ReadsBackOfInference) {
  for (const std::string target : {"cpu_avx2", "opencl_cpu", "cuda_sm90"})
    for (const poly::FuseLevel fuse : {poly::FuseLevel::None, poly::FuseLevel::All}) {
      SCOPED_TRACE(target);
      SessionOptions options;
      options.fusion.level = fuse;
      expect_same(chosen(glyphs(), target, options));
    }
}

TEST(CompiledText, ReadsBackOfGradients) {
  const AppliedPrecision applied =
      apply_precision(differentiate(glyphs(), "weights"), "f16", testing::target_row("cuda_sm90"));
  expect_same(chosen(applied.program, "cuda_sm90",
                     {.has_asides = true, .is_simplified = applied.is_simplified}));
}

// Nothing but an error comes of it.
TEST(CompiledText, CutOrChangedAnywhereIsRefusedOrRead) {
  const std::string text = to_text(chosen(glyphs(), "cpu_avx2", {}));
  for (std::size_t end = 0; end + 1 < text.size(); end += end < 2000 ? 1 : 61)
    EXPECT_THROW(parse_compiled(text.substr(0, end)), Error) << end;
  int refused = 0, all = 0;
  for (std::size_t place = 0; place < text.size(); place += 37, ++all)
    for (const char put : {'9', '-', '"', ' '}) {
      std::string changed = text;
      changed[place] = put;
      try {
        const Compiled read = parse_compiled(changed);
        make_plan(read, 64);
      } catch (const Error &) {
        ++refused;
      }
    }
  EXPECT_GT(refused, all);
}

class KeptPlanTest : public ::testing::Test {
protected:
  KeptPlanTest()
      : path_(std::filesystem::path(::testing::TempDir()) / "kept_plan" / "kernels.sqlite") {
    std::filesystem::remove_all(path_.parent_path());
  }

  struct Start {
    bool is_kept = false;
    int searched = 0, compiled = 0;
    std::string plan;
    std::vector<std::string> warnings;
    std::vector<program::HostTensor> outputs;
  };

  Start start(runtime::Device &device, SessionOptions options = {}) {
    runtime::KernelCache cache(path_.string(), [](const std::string &why) { FAIL() << why; });
    Start made;
    options.warn = [&](const std::string &text) { made.warnings.push_back(text); };
    Session session(glyphs(), device, cache, options);
    std::vector<program::HostTensor> inputs;
    for (const program::HostTensor &form : session.inputs()) {
      inputs.push_back(program::make_host_tensor(form.name, form.type, form.shape));
      float *values = reinterpret_cast<float *>(inputs.back().data.data());
      for (std::size_t i = 0; i < inputs.back().data.size() / sizeof(float); ++i)
        values[i] = static_cast<float>(i % 13) / 8;
    }
    made.outputs = session.run(inputs);
    made.is_kept = session.compiled().is_kept;
    made.searched = session.stats().searched;
    made.compiled = session.stats().compiled;
    made.plan = session.plan_text();
    return made;
  }

  // All plans of the file become what `change` makes of them, as if they had been written so.
  void rewrite(const std::function<std::string(const std::string &)> &change) {
    runtime::Connection connection(path_.string(), 1000);
    runtime::Statement rows(
        connection, "SELECT key, text FROM texts WHERE CAST(text AS TEXT) LIKE 'compiled%'");
    std::map<std::string, std::string> all;
    while (rows.step())
      all.emplace(rows.blob(0), change(std::string(rows.blob(1))));
    rows.reset();
    for (const auto &[key, text] : all) {
      const std::string hash = content_hash(key + "\n" + text);
      runtime::Statement update(connection, "UPDATE texts SET text = ?, hash = ? WHERE key = ?");
      update.bind_blob(1, text).bind(2, hash).bind(3, key).step();
    }
  }

  std::filesystem::path path_;
};

bool is_same(const std::vector<program::HostTensor> &a, const std::vector<program::HostTensor> &b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [](auto &x, auto &y) { return x.data == y.data; });
}

TEST_F(KeptPlanTest, ASecondStartChoosesNothingAndComputesTheSame) {
  for (const testing::NamedDevice &on : testing::devices()) {
    SCOPED_TRACE(on.name);
    const Start first = start(*on.device), second = start(*on.device);
    EXPECT_FALSE(first.is_kept);
    EXPECT_GT(first.searched, 0);
    EXPECT_TRUE(second.is_kept);
    EXPECT_EQ(second.searched, 0);
    EXPECT_EQ(second.compiled, 0);
    EXPECT_EQ(second.plan, first.plan);
    EXPECT_TRUE(is_same(first.outputs, second.outputs));
  }
}

TEST_F(KeptPlanTest, WarningsAreRepeated) {
  runtime::Device &device = *testing::devices().front().device;
  SessionOptions options;
  options.algorithm = "ilpm";
  const Start first = start(device, options), second = start(device, options);
  EXPECT_TRUE(second.is_kept);
  EXPECT_FALSE(first.warnings.empty());
  EXPECT_EQ(first.warnings, second.warnings);
}

TEST_F(KeptPlanTest, WhatDoesNotReadBackIsPlannedAnew) {
  runtime::Device &device = *testing::devices().front().device;
  const Start first = start(device);
  const std::vector<std::function<std::string(const std::string &)>> changes = {
      [](const std::string &) { return "nonsense"; },
      [](const std::string &) { return ""; },
      [](const std::string &text) { return text.substr(0, text.size() / 2); },
      [](const std::string &text) { return text.substr(0, text.size() - 4); },
      [](const std::string &text) { return text + text; },
  };
  for (const auto &change : changes) {
    rewrite(change);
    const Start again = start(device);
    EXPECT_FALSE(again.is_kept);
    EXPECT_EQ(again.plan, first.plan);
    EXPECT_TRUE(is_same(first.outputs, again.outputs));
    EXPECT_TRUE(start(device).is_kept);
  }
}

TEST_F(KeptPlanTest, ConstantsThatTheProgramLacksAreKeptBesideIt) {
  const runtime::TargetDevice device(testing::target_row("cuda_sm90"));
  const AppliedPrecision applied = apply_precision(glyphs(), "f16", device.target());
  runtime::KernelCache cache(path_.string(), [](const std::string &why) { FAIL() << why; });
  search::KeptChoices kept(&cache, device.target());
  const SessionOptions options{.is_simplified = applied.is_simplified};
  const Compiled compiled = choose_kernels(applied.program, device, kept, options);
  keep_plan(cache, "key", applied.program, compiled);
  const std::optional<Compiled> found = find_plan(cache, "key", applied.program);
  ASSERT_TRUE(found);
  for (std::size_t t = 0; t < compiled.stored.windows.size(); ++t) {
    const program::Tensor &tensor = compiled.stored.program.tensors[t];
    if (compiled.stored.windows[t].buffer != program::kNoBuffer && tensor.data) {
      EXPECT_EQ(*found->stored.program.tensors[t].data, *tensor.data);
    }
  }
  EXPECT_FALSE(find_plan(cache, "another", applied.program));
}

TEST_F(KeptPlanTest, ItsKeyHoldsWhatItDependsOn) {
  const Target row = testing::target_row("cuda_sm90");
  const runtime::TargetDevice device(row);
  const std::string key = plan_key(glyphs(), device, {});
  EXPECT_EQ(plan_key(glyphs(), device, {}), key);
  std::vector<SessionOptions> others(9);
  others[0].algorithm = "ilpm";
  others[1].split = "none";
  others[2].layout = "nchw";
  others[3].fusion.level = poly::FuseLevel::All;
  others[4].fusion.quota += 1;
  others[5].sharing = search::Sharing::InOrder;
  others[6].has_asides = true;
  others[7].arena_bytes = 1 << 20;
  others[8].is_simplified = true;
  for (const SessionOptions &other : others)
    EXPECT_NE(plan_key(glyphs(), device, other), key);
  PassContext passes;
  passes.disable("fold_scales");
  EXPECT_NE(plan_key(glyphs(), device, {.passes = &passes}), key);
  Target changed = row;
  changed.compute_units += 1;
  EXPECT_NE(plan_key(glyphs(), runtime::TargetDevice(changed), {}), key);
  program::Program weights = glyphs();
  for (program::Tensor &tensor : weights.tensors)
    if (tensor.data && !tensor.data->empty()) {
      program::Bytes bytes = *tensor.data;
      bytes[0] ^= std::byte{1};
      tensor.data = std::make_shared<const program::Bytes>(std::move(bytes));
      break;
    }
  EXPECT_NE(plan_key(weights, device, {}), key);
}

TEST_F(KeptPlanTest, ARecordMoreIsAnotherKey) {
  const runtime::TargetDevice device(testing::target_row("cuda_sm90"));
  const std::string path = (path_.parent_path() / "records.sqlite").string();
  runtime::RecordStore records(path, runtime::RecordStore::Mode::Create, {});
  const SessionOptions options{.records = &records};
  const std::string none = plan_key(glyphs(), device, options);
  runtime::TuningRecord record{.group = "a", .device = "b", .schedule = "c", .seconds = 2};
  records.merge({&record, 1});
  const std::string one = plan_key(glyphs(), device, options);
  record.seconds = 1;
  records.merge({&record, 1});
  EXPECT_NE(none, plan_key(glyphs(), device, {}));
  EXPECT_NE(one, none);
  EXPECT_NE(plan_key(glyphs(), device, options), one);
}

} // namespace
} // namespace tilefuse::model
