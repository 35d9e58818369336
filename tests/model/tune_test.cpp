// SPDX-License-Identifier: Apache-2.0
// Tuning on a device: what is recorded is verified and is what sessions use; what was tried is not
// tried again; records of other devices and versions are only starting points.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include "base/error.h"
#include "model/compile.h"
#include "model/devices.h"
#include "model/passes.h"
#include "model/session.h"
#include "model/tune/record_json.h"
#include "model/tune/records.h"
#include "model/tune/tune.h"
#include "paths.h"
#include "poly/post_ops.h"
#include "program/storage/storage.h"
#include "schedule/text.h"
#include "search/pick.h"
#include "tile/tile.h"

namespace tilefuse {
namespace {

namespace fs = std::filesystem;

using model::TuneOptions;
using model::TuneReport;
using runtime::Binding;
using runtime::RecordStore;
using runtime::TuningRecord;

program::Program convolution() {
  tile::Library ops = tile::read_library(TILEFUSE_SOURCE_DIR "/ops");
  program::Program program;
  program.name = "network";
  program::HostTensor weights = program::make_host_tensor("w", DType::F32, {16, 16, 3, 3});
  for (std::int64_t i = 0; i < program::elems(weights.shape); ++i)
    program::set(weights, i, static_cast<double>(i % 5 - 2));
  const program::TensorId x = program.add(
      {.name = "x", .type = DType::F32, .shape = {1, 16, 20, 20}, .role = program::Role::Input});
  const program::TensorId w =
      program.add({.name = "w",
                   .type = DType::F32,
                   .shape = weights.shape,
                   .role = program::Role::Constant,
                   .data = std::make_shared<const program::Bytes>(weights.data)});
  const tile::Attributes attributes = {{"PY", std::int64_t{1}},
                                       {"PX", std::int64_t{1}},
                                       {"OY", std::int64_t{20}},
                                       {"OX", std::int64_t{20}}};
  const std::vector<program::TensorId> args = {x, w};
  program.inputs = {x};
  program.outputs = ops.instantiate("conv2d", args, attributes, program, "conv");
  return program;
}

// A device that says that kernels, but for the first that was loaded, take `seconds` where that one
// takes 1e-3; and where it `spoils` them they compute nothing.
class Liar final : public runtime::Device {
public:
  Liar(runtime::Device &inner, double seconds, bool spoils)
      : inner_(inner), seconds_(seconds), spoils_(spoils) {}

  const Target &target() const override { return inner_.target(); }
  const std::string &name() const override { return inner_.name(); }
  const std::string &driver() const override { return inner_.driver(); }
  std::int64_t alignment() const override { return inner_.alignment(); }
  std::unique_ptr<runtime::Memory> allocate(std::int64_t bytes) override {
    return inner_.allocate(bytes);
  }
  void write(const Binding &to, std::span<const std::byte> from) override {
    inner_.write(to, from);
  }
  void read(const Binding &from, std::span<std::byte> to) override { inner_.read(from, to); }
  void fill_zero(const Binding &to) override { inner_.fill_zero(to); }
  std::vector<Package> build(std::vector<Package> packages) override {
    return inner_.build(std::move(packages));
  }
  std::unique_ptr<runtime::Launchable> load(const Package &built,
                                            std::span<const Binding> bindings) override {
    if (honest_.empty())
      honest_ = built.code;
    auto kernel = std::make_unique<Kernel>();
    kernel->inner = inner_.load(built, bindings);
    kernel->is_honest = built.code == honest_;
    for (std::size_t i = 0; i < bindings.size() && spoils_ && !kernel->is_honest; ++i)
      if (built.args[i].written)
        kernel->spoiled.push_back(bindings[i]);
    return kernel;
  }
  void launch(runtime::Launchable &kernel) override {
    auto &own = dynamic_cast<Kernel &>(kernel);
    inner_.launch(*own.inner);
    for (const Binding &binding : own.spoiled)
      inner_.fill_zero(binding);
  }
  void finish() override { inner_.finish(); }
  std::vector<runtime::LaunchTime> trace(std::span<runtime::Launchable *const> kernels) override {
    std::vector<runtime::LaunchTime> times;
    for (runtime::Launchable *kernel : kernels)
      times.push_back({0, dynamic_cast<Kernel &>(*kernel).is_honest ? 1e-3 : seconds_});
    return times;
  }

private:
  struct Kernel final : runtime::Launchable {
    std::unique_ptr<runtime::Launchable> inner;
    std::vector<Binding> spoiled;
    bool is_honest = true;
  };
  runtime::Device &inner_;
  double seconds_;
  bool spoils_;
  std::string honest_;
};

class Tune : public ::testing::TestWithParam<std::size_t> {
protected:
  void SetUp() override {
    fs::create_directories(folder_);
    if (GetParam() >= testing::devices().size())
      GTEST_SKIP() << "no such device";
  }
  void TearDown() override { fs::remove_all(folder_); }

  runtime::Device &device() { return *testing::devices()[GetParam()].device; }
  std::string path() const { return (folder_ / "records.sqlite").string(); }
  runtime::RecordStore::Warn collect() {
    return [this](const std::string &text) { warnings_.push_back(text); };
  }
  TuneReport tune(RecordStore &records, double budget, runtime::Device *on = nullptr) {
    runtime::KernelCache cache("", {});
    return model::tune_model(convolution(), on != nullptr ? *on : device(), cache, records,
                             {.budget = budget, .warn = collect()});
  }
  poly::Group group() {
    const auto stored = program::assign_storage(model::simplify(convolution()));
    return poly::make_groups(stored).at(0).group;
  }
  std::string models_choice() {
    const nest::Nest nest = group().anchor;
    return schedule::to_text(nest, search::pick(nest, device().target()));
  }
  // Who chose the schedule of a session's kernel.
  std::string chosen_by(RecordStore *records) {
    runtime::KernelCache cache("", {});
    model::Session session(convolution(), device(), cache, {.records = records, .warn = collect()});
    return session.profile().kernels.at(0).chosen_by;
  }

  fs::path folder_ = fs::temp_directory_path() / ("tilefuse_tune_" + std::to_string(getpid()));
  std::vector<std::string> warnings_;
};

TEST_P(Tune, RecordsWhatSessionsUse) {
  RecordStore records(path(), RecordStore::Mode::Create, collect());
  EXPECT_EQ(chosen_by(&records), "model");
  const TuneReport report = tune(records, 1);
  ASSERT_EQ(report.kernels.size(), 1u);
  EXPECT_EQ(report.kernels[0].launches, 1);
  EXPECT_GT(report.kernels[0].tried, 0u);
  EXPECT_TRUE(report.kernels[0].is_recorded);
  EXPECT_LE(report.kernels[0].best_seconds, report.kernels[0].model_seconds);
  const std::vector<TuningRecord> all = records.all();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_TRUE(all[0].is_verified);
  EXPECT_EQ(all[0].device, model::device_key(device()));
  EXPECT_EQ(chosen_by(&records), "tuned on this device");
  EXPECT_EQ(chosen_by(nullptr), "model");
  EXPECT_TRUE(warnings_.empty()) << warnings_.front();
}

TEST_P(Tune, GoesOnWhereItWas) {
  RecordStore records(path(), RecordStore::Mode::Create, collect());
  const std::size_t first = tune(records, 1.5).kernels.at(0).tried;
  RecordStore again(path(), RecordStore::Mode::Create, collect());
  const std::size_t both = tune(again, 1.5).kernels.at(0).tried;
  EXPECT_GT(both, first);
  // Nothing was measured twice: each trial has a row of its own.
  const TuningRecord record = again.all().at(0);
  const auto trials = again.trials({record.group, record.device, record.code});
  EXPECT_EQ(trials.size(), both);
}

TEST_P(Tune, AWrongKernelIsNeverRecorded) {
  RecordStore records(path(), RecordStore::Mode::Create, collect());
  Liar liar(device(), 1e-6, true);
  const TuneReport report = tune(records, 1.5, &liar);
  EXPECT_GT(report.wrong, 0);
  EXPECT_EQ(report.kernels.at(0).source, "model");
  ASSERT_FALSE(warnings_.empty());
  EXPECT_NE(warnings_[0].find("computes something wrong"), std::string::npos) << warnings_[0];
  const std::vector<TuningRecord> all = records.all();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].schedule, models_choice());
}

// A record that is slower than the model's choice, round after round, makes place for it.
TEST_P(Tune, ARecordThatIsNotFasterIsGivenUp) {
  if (GetParam() > 0)
    GTEST_SKIP() << "its kernels take long to build";
  RecordStore records(path(), RecordStore::Mode::Create, collect());
  Liar fast(device(), 0.5e-3, false);
  tune(records, 1.5, &fast);
  const TuningRecord won = records.all().at(0);
  ASSERT_NE(won.schedule, models_choice());
  EXPECT_DOUBLE_EQ(won.seconds, 0.5e-3);
  Liar slow(device(), 1.2e-3, false);
  for (int i = 0; i < 12 && records.all().at(0).schedule == won.schedule; ++i)
    tune(records, 1.5 + 2 * i, &slow); // a slow machine needs longer for the rounds it takes
  EXPECT_EQ(records.all().at(0).schedule, models_choice());
  EXPECT_TRUE(warnings_.empty()) << warnings_.front();
}

TEST_P(Tune, RecordsOfOthersAreStartingPoints) {
  RecordStore records(path(), RecordStore::Mode::Create, collect());
  tune(records, 1);
  TuningRecord record = records.all().at(0);
  struct Case {
    std::function<void(TuningRecord &)> change;
    std::string chosen_by;
    std::size_t warnings;
  };
  const std::vector<Case> cases = {
      {[](TuningRecord &r) { r.device = "0", r.device_name = "Another"; },
       "model; starting point from Another", 0},
      {[](TuningRecord &r) { r.code = "older"; }, "model", 1},
      {[](TuningRecord &r) { r.is_verified = false; }, "model", 1},
      {[](TuningRecord &r) { r.schedule = "schedule nest vector\n  tile   nothing:3\n"; }, "model",
       1},
      {[](TuningRecord &r) { r.schedule = "\x01\xff garbage"; }, "model", 1}};
  for (const Case &one : cases) {
    fs::remove_all(folder_);
    RecordStore changed(path(), RecordStore::Mode::Create, collect());
    TuningRecord other = record;
    one.change(other);
    ASSERT_TRUE(changed.merge({&other, 1}));
    warnings_.clear();
    EXPECT_EQ(chosen_by(&changed), one.chosen_by);
    EXPECT_EQ(warnings_.size(), one.warnings);
    if (GetParam() > 0 && one.warnings > 0)
      continue; // its kernels take long to build
    tune(changed, 1);
    EXPECT_EQ(chosen_by(&changed), "tuned on this device");
  }
}

TEST_P(Tune, TheSameRecordsGiveTheSameChoice) {
  RecordStore records(path(), RecordStore::Mode::Create, collect());
  tune(records, 1);
  const model::Recorded first = model::find_recorded(records, group(), device());
  ASSERT_TRUE(first.tuned);
  for (int i = 0; i < 3; ++i) {
    RecordStore again(path(), RecordStore::Mode::Existing, collect());
    EXPECT_EQ(model::find_recorded(again, group(), device()).tuned, first.tuned);
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, Tune, ::testing::Values(0, 1),
                         [](const auto &info) { return info.param == 0 ? "cpu" : "opencl"; });

TEST(RecordJson, WritesAndReads) {
  const TuningRecord record = {.group = "g",
                               .device = "d",
                               .device_name = "AMD \"EPYC\" \\ \x01 é",
                               .driver = "1",
                               .code = "c",
                               .kernel = "k",
                               .schedule = "schedule nest vector\n  tile   m:4\n",
                               .seconds = 1.0 / 3e5,
                               .model_seconds = 2,
                               .is_verified = true,
                               .date = "2026-11-21T00:00:00Z"};
  const std::vector<TuningRecord> two = {record, record};
  const std::string text = model::to_json_lines(two);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  EXPECT_EQ(model::parse_json_lines(text, "f"), two);
  EXPECT_EQ(model::parse_json_lines("\n \r\n" + text + "\n", "f"), two);
  const std::string more = "{\"new\":12e3,\"other\":\"\\u00e9\\/\"," + text.substr(1);
  EXPECT_EQ(model::parse_json_lines(more, "f"), two);
}

// Whatever is wrong with a line is an error that names it.
TEST(RecordJson, EveryDamageIsNamed) {
  const TuningRecord record = {.group = "g", .seconds = 1, .model_seconds = 2};
  const std::string line = model::to_json_lines({&record, 1});
  for (std::size_t size = 1; size + 2 < line.size(); ++size)
    EXPECT_THROW(model::parse_json_lines(line.substr(0, size), "f"), Error) << size;
  const std::vector<std::pair<std::string, std::string>> changes = {
      {"record-1", "record-2"},
      {"\"seconds\":1", "\"seconds\":-1"},
      {"\"seconds\":1", "\"seconds\":nan"},
      {"\"seconds\":1", "\"seconds\":\"1\""},
      {"false", "no"},
      {"}", "} x"},
      {"\"group\":\"g\"", "\"group\":3"},
      {"\"group\":\"g\"", "\"group\":\"\\x\""},
      {"\"group\":\"g\"", "\"group\":\"\\u00\""}};
  for (const auto &[from, to] : changes) {
    std::string wrong = line;
    wrong.replace(wrong.find(from), from.size(), to);
    try {
      model::parse_json_lines("\n" + wrong, "f");
      ADD_FAILURE() << wrong;
    } catch (const Error &error) {
      EXPECT_EQ(error.code(), ErrorCode::Syntax);
      EXPECT_EQ(error.where().substr(0, 4), "f:2:");
    }
  }
}

} // namespace
} // namespace tilefuse
