// SPDX-License-Identifier: Apache-2.0
#include "train/trainer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "base/error.h"
#include "base/stopwatch.h"
#include "data/loader.h"
#include "onnx/export.h"
#include "train/phase.h"
#include "train/pools.h"
#include "train/rate.h"
#include "train/setup.h"
#include "train/step_program.h"

namespace tilefuse::train {
namespace {

using data::Batch;
using program::HostTensor;

} // namespace

struct Trainer::State : Setup {
  runtime::Device &device;
  runtime::KernelCache &cache;
  TrainerOptions options;
  UpdateProgram update;
  Pools pools;
  std::optional<Phase> gradients;
  std::optional<Phase> updating;
  std::optional<Evaluator> evaluator;         // where there are test data
  std::vector<runtime::Launchable *> kernels; // of a step, in order
  std::optional<data::Loader> loader;         // from the step that it was made at
  std::int64_t classes = 0;
  std::int64_t step = 0;
  int skips = 0; // in a row

  State(const Recipe &given, runtime::Device &on, runtime::KernelCache &in,
        const TrainerOptions &how)
      : Setup(given), device(on), cache(in), options(how),
        update(update_program(pool, recipe.optimizer, scales_loss())),
        pools(device, update, first_scale()) {
    compile_step();
    for (const PooledParameter &entry : pool.entries)
      device.write(pools.part("parameters", entry), initial(entry.parameter).data);
    if (test)
      evaluator.emplace(model, pool, task, compilation(), parameter_ports());
  }

  // Parameters are the inputs behind pictures and labels.
  std::vector<model::PlacedPort> parameter_ports() const {
    std::vector<model::PlacedPort> placed;
    for (std::size_t p = 0; p < pool.entries.size(); ++p)
      placed.push_back({{false, p + 2}, pools.part("parameters", pool.entries[p])});
    return placed;
  }

  Compilation compilation() const {
    return {device, cache, recipe.precision, options.session};
  }

  void compile_step();
  void make_loader();
  std::string first_bad_gradient() const;
};

void Trainer::State::compile_step() {
  std::vector<model::PlacedPort> placed = parameter_ports();
  placed.push_back({{false, pool.entries.size() + 2}, pools.whole("loss scale")});
  for (std::size_t p = 0; p < pool.entries.size(); ++p)
    placed.push_back({{true, p}, pools.part("learned", pool.entries[p])});
  const StepProgram step_program = gradients_program(model, pool, task);
  classes = step_program.classes;
  gradients.emplace(step_program.program, compilation(), placed);

  std::vector<model::PlacedPort> states;
  for (const train::State &state : update.states)
    for (const bool is_output : {false, true})
      states.push_back({{is_output, is_output ? state.output : state.input},
                        pools.whole(state.name)});
  states.push_back({{false, update.learned}, pools.whole("learned")});
  states.push_back({{false, update.rate}, pools.whole("rate")});
  Compilation apart{device, cache, "f32", options.session};
  apart.session.fusion.level = poly::FuseLevel::None; // each state by a kernel of its own
  apart.session.side_by_side = false;                 // in order
  updating.emplace(update.program, apart, states);
  for (const train::State &state : update.states)
    check_in_place(updating->resident(), state.input, state.output);
  for (const Phase *phase : {&*gradients, &*updating})
    kernels.insert(kernels.end(), phase->kernels().begin(), phase->kernels().end());
}

void Trainer::State::make_loader() {
  loader.reset();
  loader.emplace(*training, loader_options(recipe, step, steps()));
}

std::string Trainer::State::first_bad_gradient() const {
  const std::vector<float> learned = pools.read("learned");
  for (auto entry = pool.entries.rbegin(); entry != pool.entries.rend(); ++entry) {
    const float *first = learned.data() + entry->row * kRow;
    if (!std::all_of(first, first + entry->elems(), [](float x) { return std::isfinite(x); }))
      return entry->parameter.name;
  }
  return "none: their squares overflow together";
}

Trainer::Trainer(const Recipe &recipe, runtime::Device &device, runtime::KernelCache &cache,
                 const TrainerOptions &options)
    : state_(std::make_unique<State>(recipe, device, cache, options)) {}

Trainer::~Trainer() = default;

std::int64_t Trainer::step() const { return state_->step; }
std::int64_t Trainer::steps() const { return state_->steps(); }
std::int64_t Trainer::steps_per_epoch() const { return state_->steps_per_epoch(); }
const ParameterPool &Trainer::parameters() const { return state_->pool; }
bool Trainer::has_test_data() const { return state_->test != nullptr; }

TrainingMemory Trainer::memory() const {
  TrainingMemory memory;
  memory.parameters = state_->pools.bytes();
  std::vector<const Phase *> phases = {&*state_->gradients, &*state_->updating};
  if (state_->evaluator)
    phases.push_back(&state_->evaluator->phase());
  for (const Phase *phase : phases) {
    memory.activations += phase->resident().plan().activation_bytes;
    memory.constants += phase->resident().plan().weight_bytes;
  }
  return memory;
}

std::string Trainer::describe() const {
  const State &state = *state_;
  const TrainingMemory memory = this->memory();
  const auto mb = [](std::int64_t bytes) { return static_cast<double>(bytes) * 1e-6; };
  std::string data = fmt::format("{} pictures {}x{}x{}", state.training->count(),
                                 state.task.picture.height, state.task.picture.width,
                                 state.task.picture.channels);
  if (state.test)
    data += fmt::format(", {} to test", state.test->count());
  return fmt::format("model    {}: {}\n"
                     "data     {}; order by seed {}\n"
                     "step     {} launches, batch {}, {} steps an epoch\n"
                     "memory   {:.1f} MB: activations {:.1f}, parameters and optimiser {:.1f}, "
                     "constants {:.1f}\n",
                     std::filesystem::path(state.recipe.model).stem().string(),
                     summary(state.pool), data, state.recipe.seed, state.kernels.size(),
                     state.recipe.steps.batch, state.steps_per_epoch(), mb(memory.all()),
                     mb(memory.activations), mb(memory.parameters), mb(memory.constants));
}

StepReport Trainer::run_step() {
  State &state = *state_;
  if (!state.loader)
    state.make_loader();
  const Stopwatch watch;
  const double waited = state.loader->waited_seconds();
  const Batch &batch = state.loader->next();
  check_labels(batch.labels, state.classes);
  StepReport report{.step = state.step + 1, .steps = state.steps(), .epoch = batch.epoch};
  report.waited = state.loader->waited_seconds() - waited;
  report.rate = rate_at(state.recipe, state.step, state.steps_per_epoch());
  report.scale = static_cast<double>(state.pools.read("loss scale").front());
  state.pools.write("rate", {static_cast<float>(report.rate)});
  state.gradients->write(0, std::as_bytes(std::span(batch.pixels)));
  state.gradients->write(1, std::as_bytes(std::span(batch.labels)));
  state.device.launch_all(state.kernels);
  const std::size_t outputs = state.pool.entries.size();
  report.loss = static_cast<double>(state.gradients->number(outputs));
  report.hits = std::lround(state.gradients->number(outputs + 1));
  const double square = static_cast<double>(state.updating->number(state.update.square));
  report.gradient_norm = std::sqrt(square) / report.scale;
  report.is_skipped = !(square < 1e38); // ops/optimizer.tile, is_alive
  state.skips = report.is_skipped ? state.skips + 1 : 0;
  if (state.skips >= kMostSkips)
    throw Error(ErrorCode::Unsupported,
                fmt::format("step {}: gradients of the last {} steps are not finite", report.step,
                            state.skips),
                {},
                {fmt::format("first of them, from the loss backwards: {}",
                             state.first_bad_gradient()),
                 "a smaller optimizer.rate, or optimizer.clip, may help"});
  ++state.step;
  report.seconds = watch.seconds();
  return report;
}

std::vector<model::KernelReport> Trainer::profile(int passes) {
  std::vector<model::KernelReport> kernels = state_->gradients->profile(passes);
  const std::vector<model::KernelReport> update = state_->updating->profile(passes);
  kernels.insert(kernels.end(), update.begin(), update.end());
  return kernels;
}

Evaluation Trainer::evaluate(const std::function<void(int, int)> &progress) {
  State &state = *state_;
  if (!state.evaluator)
    throw Error(ErrorCode::Unsupported, "the recipe names no test data");
  return state.evaluator->run(*state.test, state.recipe.data.threads, progress);
}

Checkpoint Trainer::snapshot() {
  State &state = *state_;
  Checkpoint checkpoint{.step = state.step};
  for (const std::string &name : state.pools.names()) {
    if (name == "learned" || name == "rate")
      continue;
    const std::vector<float> values = state.pools.read(name);
    const auto add = [&](const std::string &key, const program::Shape &shape, std::int64_t from) {
      HostTensor tensor = program::make_host_tensor(key, DType::F32, shape);
      std::memcpy(tensor.data.data(), values.data() + from, tensor.data.size());
      checkpoint.content.tensors[key] = std::move(tensor);
    };
    if (values.size() == 1)
      add("state/" + name, {1}, 0);
    else
      for (const PooledParameter &entry : state.pool.entries)
        add(name == "parameters" ? entry.parameter.name : name + "/" + entry.parameter.name,
            entry.parameter.shape, entry.row * kRow);
  }
  checkpoint.content.metadata["step"] = std::to_string(state.step);
  checkpoint.content.metadata["skips"] = std::to_string(state.skips);
  checkpoint.content.metadata["recipe"] = to_text(state.recipe);
  return checkpoint;
}

void Trainer::restore(const Checkpoint &checkpoint) {
  State &state = *state_;
  const auto &tensors = checkpoint.content.tensors;
  std::map<std::string, std::vector<float>> pools; // all are there before the first is written
  for (const std::string &name : state.pools.names()) {
    if (name == "learned" || name == "rate")
      continue;
    std::vector<float> values = state.pools.read(name);
    const auto take = [&](const std::string &key, const program::Shape &shape, std::int64_t to) {
      const auto found = tensors.find(key);
      if (found == tensors.end() || found->second.shape != shape ||
          found->second.type != DType::F32)
        throw Error(ErrorCode::Shape,
                    fmt::format("the checkpoint is of another model or optimiser: it lacks '{}' "
                                "of the recipe's shape",
                                key));
      std::memcpy(values.data() + to, found->second.data.data(), found->second.data.size());
    };
    if (values.size() == 1)
      take("state/" + name, {1}, 0);
    else
      for (const PooledParameter &entry : state.pool.entries)
        take(name == "parameters" ? entry.parameter.name : name + "/" + entry.parameter.name,
             entry.parameter.shape, entry.row * kRow);
    pools[name] = std::move(values);
  }
  for (const auto &[name, values] : pools)
    state.pools.write(name, values);
  state.step = checkpoint.step;
  const auto skips = checkpoint.content.metadata.find("skips");
  state.skips = skips == checkpoint.content.metadata.end() ? 0 : std::atoi(skips->second.c_str());
  state.loader.reset();
}

void Trainer::export_model(const std::string &path) {
  State &state = *state_;
  std::map<std::string, HostTensor> replaced;
  const Checkpoint now = snapshot();
  for (const PooledParameter &entry : state.pool.entries)
    replaced.emplace(entry.parameter.name, now.content.tensors.at(entry.parameter.name));
  onnx_import::export_model({state.bytes, state.folder()}, path, replaced,
                            {{"tilefuse.step", std::to_string(state.step)}});
}

} // namespace tilefuse::train
