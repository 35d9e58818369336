// SPDX-License-Identifier: Apache-2.0
#include "train/trainer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/stopwatch.h"
#include "base/thread_pool.h"
#include "data/loader.h"
#include "model/plan/plan.h"
#include "onnx/export.h"
#include "runtime/timeline.h"
#include "train/feed.h"
#include "train/gradients.h"
#include "train/lanes/buckets.h"
#include "train/lanes/exchange.h"
#include "train/lanes/lane_sum.h"
#include "train/phase.h"
#include "train/pools.h"
#include "train/rate.h"
#include "train/setup.h"
#include "train/starvation.h"
#include "train/step_program.h"

namespace tilefuse::train {
namespace {

using program::HostTensor;

// Elements of the row behind the parameters' in "learned", each aligned for any device.
constexpr std::int64_t kFront = 16; // the front bucket is so much smaller: the update waits for it

enum Metric : std::int64_t { kLoss = 0, kHits = 256, kEnd = 512 };

// What `learned` holds: the parameters' rows and that of the metrics, as many for each worker.
std::int64_t learned_rows(const ParameterPool &pool, int workers) {
  return (pool.rows + 1 + workers - 1) / workers * workers;
}

std::string hash_of(const std::vector<float> &values) {
  return content_hash(
      {reinterpret_cast<const char *>(values.data()), values.size() * sizeof(float)});
}

// Of the first of these numbers.
HostTensor tensor_of(const std::string &name, const program::Shape &shape,
                     std::span<const float> values) {
  HostTensor tensor = program::make_host_tensor(name, DType::F32, shape);
  std::memcpy(tensor.data.data(), values.data(), tensor.data.size());
  return tensor;
}

int own_lanes(const Recipe &recipe, int workers) {
  const std::int64_t lanes = recipe.steps.lanes;
  if (!std::has_single_bit(static_cast<unsigned>(workers)) || lanes % workers != 0)
    throw Error(ErrorCode::Unsupported,
                fmt::format("{} workers cannot share the {} lanes of a step", workers, lanes), {},
                {"the number of workers is a power of two that divides steps.lanes"});
  return static_cast<int>(lanes / workers);
}

} // namespace

struct Trainer::State : Setup {
  runtime::Device &device;
  runtime::KernelCache &cache;
  TrainerOptions options;
  const RowRange own; // that this worker updates
  UpdateProgram update;
  const int lanes; // of this worker
  Pools pools;
  std::optional<Gradients> gradients;
  std::optional<LaneSum> lane_sum;
  std::optional<Exchange> exchange; // where there are other workers
  std::optional<Phase> updating;
  std::optional<Evaluator> evaluator; // where there are test data
  // By turn of the gradients; beside the last one runs the exchange, behind it the update.
  std::vector<std::unique_ptr<runtime::Recorded>> timelines;
  std::unique_ptr<runtime::Recorded> checking; // one turn's gradients alone, once they are checked
  std::size_t launches = 0;                    // of a step
  std::vector<Bucket> buckets;
  std::optional<data::Loader> loader; // from the step that it was made at
  std::optional<Feed> feed;           // of its batches
  std::int64_t classes = 0;
  std::int64_t branches = 0; // that the steps leave out
  std::int64_t step = 0;
  int skips = 0; // in a row

  State(Setup given, runtime::Device &on, runtime::KernelCache &in, const TrainerOptions &how)
      : Setup(std::move(given)), device(on), cache(in), options(how),
        own(own_rows(pool, has_shards() ? workers() : 1, has_shards() ? rank() : 0)),
        update(update_program(pool, recipe.optimizer, recipe.keep.ema, scales_loss(), own)),
        lanes(own_lanes(recipe, workers())),
        pools(device, update, first_scale(),
              {.learned = learned_rows(pool, workers()), .parameters = all_rows()}) {
    if (test)
      evaluator.emplace(model, pool, task, compilation(), parameter_ports(judged(), 2));
    compile_update();
    compile_gradients();
    compile_sums();
    check_memory();
    compare_kernels();
    for (const PooledParameter &entry : pool.entries)
      if (const auto bytes = initial_in_place(entry.parameter))
        write_first(entry, *bytes);
      else
        write_first(entry, initial(entry.parameter).data);
  }

  void write_first(const PooledParameter &entry, std::span<const std::byte> values) {
    for (const std::string &name : std::set<std::string>{kParameters, judged()})
      device.write(pools.part(name, entry), values);
  }

  double mean_factor() const { return 1.0 / static_cast<double>(recipe.steps.lanes); }
  int workers() const { return options.workers ? options.workers->workers->count() : 1; }
  int rank() const { return options.workers ? options.workers->workers->rank() : 0; }

  bool has_shards() const { return recipe.optimizer.sharded && workers() > 1; }
  // Of the pool of parameters; each worker's are as many.
  std::int64_t all_rows() const { return own.count * (has_shards() ? workers() : 1); }
  // Whether this worker has of a pool its own rows alone.
  bool is_shard(const std::string &name) const {
    return has_shards() && pools.whole(name).bytes == own.count * kRow * 4;
  }
  // Where the update finds a state.
  runtime::Binding place_of(const train::State &state) const {
    return state.is_whole ? pools.elems(state.name, own.first * kRow, own.count * kRow)
                          : pools.whole(state.name);
  }
  std::vector<float> whole_state(const std::string &name) const;
  void write_state(const std::string &name, std::span<const float> values);

  // The pool of what is judged and exported.
  std::string judged() const { return recipe.keep.ema > 0 ? kAverage : kParameters; }

  // Parameters are the inputs behind those of a batch.
  std::vector<model::PlacedPort> parameter_ports(const std::string &name, std::size_t fed) const {
    std::vector<model::PlacedPort> placed;
    for (std::size_t p = 0; p < pool.entries.size(); ++p)
      placed.push_back({{false, p + fed}, pools.part(name, pool.entries[p])});
    return placed;
  }

  // Of the last turn, in front of the update.
  std::size_t turn_launches() const {
    return gradients->timeline().kernels.size() + lane_sum->kernels(gradients->turns() - 1).size();
  }

  Compilation compilation() const { return {device, cache, recipe.precision, options.session}; }

  TrainingMemory memory() const;
  std::int64_t most_memory() const {
    return static_cast<std::int64_t>(recipe.steps.memory_gb * 1e9);
  }
  void compile_update();
  void compile_gradients();
  void compile_sums();
  Error out_of_memory(const Error &why) const;
  void check_memory() const;
  void compare_kernels() const;
  void make_loader();
  LaneShare lane_share();
  void run_turn(int turn, StepReport &report);
  void check_device(std::int64_t now);
  std::vector<Bucket> find_buckets() const;
  runtime::Timeline timeline(int turn);
  void launch(int turn);
  void read_metrics(StepReport &report);
  runtime::Binding metric(Metric which) const;
  void count_skips(const StepReport &report);
  std::string first_bad_gradient() const;
};

void Trainer::State::compile_update() {
  std::vector<model::PlacedPort> states;
  for (const train::State &state : update.states)
    for (const bool is_output : {false, true})
      states.push_back({{is_output, is_output ? state.output : state.input}, place_of(state)});
  states.push_back({{false, update.learned}, pools.rows("learned", pool.rows)});
  if (update.own != update.learned)
    states.push_back(
        {{false, update.own}, pools.elems("learned", own.first * kRow, own.count * kRow)});
  states.push_back({{false, update.rate}, pools.whole("rate")});
  Compilation apart{device, cache, "f32", options.session};
  apart.session.fusion.level = poly::FuseLevel::None; // each state by a map of its own
  apart.session.sharing = search::Sharing::InOrder;   // next values lie in the place of the last
  updating.emplace(update.program, apart, states);
  for (const RowNumbers &each : update.rows)
    updating->write(each.input, each.bytes);
  for (const train::State &state : update.states)
    check_in_place(updating->resident(), state.input, state.output);
}

// In what memory is left beside everything else; what the first plan has beyond its arena is learned
// from it.
void Trainer::State::compile_gradients() {
  std::vector<model::PlacedPort> placed = parameter_ports(kParameters, step_program.fed);
  placed.push_back({{false, pool.entries.size() + step_program.fed}, pools.whole("loss scale")});
  for (std::size_t p = 0; p < pool.entries.size(); ++p)
    placed.push_back({{true, p}, pools.part("learned", pool.entries[p])});
  const std::size_t metrics = pool.entries.size();
  placed.push_back({{true, metrics}, metric(kLoss)});
  placed.push_back({{true, metrics + 1}, metric(kHits)});
  classes = step_program.classes;
  branches = step_program.branches;
  Compilation how = compilation();
  std::int64_t left = most_memory() - memory().all();
  for (bool fits = false; !fits;) {
    if (most_memory() > 0)
      how.session.arena_bytes = std::max<std::int64_t>(left, 1);
    gradients.reset();
    try {
      gradients.emplace(step_program, how, GradientPlaces{placed, pools.whole("learned")},
                        lane_share());
    } catch (const Error &error) {
      throw error.code() == ErrorCode::Limit && most_memory() > 0 ? out_of_memory(error) : error;
    }
    const std::int64_t over = memory().all() - most_memory();
    fits = most_memory() == 0 || over <= 0;
    left -= over;
  }
}

Error Trainer::State::out_of_memory(const Error &why) const {
  return {why.code(),
          why.message(),
          why.where(),
          {fmt::format("steps.memory_gb is {:.2f}, of which {:.2f} are taken by what outlives a "
                       "step; a smaller steps.batch needs less",
                       recipe.steps.memory_gb, static_cast<double>(memory().all()) * 1e-9)}};
}

void Trainer::State::check_memory() const {
  const std::int64_t needed = memory().all();
  if (most_memory() > 0 && needed > most_memory())
    throw Error(ErrorCode::Limit,
                fmt::format("training needs {:.2f} GB, steps.memory_gb is {:.2f}",
                            static_cast<double>(needed) * 1e-9, recipe.steps.memory_gb));
}

LaneShare Trainer::State::lane_share() {
  LaneShare share{.lanes = lanes,
                  .first = rank() * lanes,
                  .all = static_cast<int>(recipe.steps.lanes),
                  .gather = {},
                  .factor = workers() == 1 ? mean_factor() : 1};
  if (workers() > 1)
    share.gather = [this](const runtime::Binding &all) {
      options.workers->star.monitor().enter_exchange();
      options.workers->workers->gather_parts(all);
      options.workers->star.monitor().leave_exchange();
    };
  return share;
}

void Trainer::State::compile_sums() {
  const double factor = mean_factor();
  const bool is_alone = workers() == 1;
  lane_sum.emplace(compilation(), pools.whole("learned"), gradients->turns(),
                   is_alone ? factor : 1);
  if (!is_alone) {
    buckets = find_buckets();
    exchange.emplace(compilation(), pools.whole("learned"), *options.workers->workers,
                     recipe.steps.exchange, factor, buckets);
  }
  for (int turn = 0; turn < gradients->turns(); ++turn) {
    runtime::Timeline made = timeline(turn);
    launches += made.kernels.size();
    timelines.push_back(device.record(std::move(made)));
  }
}

// All of it behind everything, where lanes are summed at the end or calls wait for the device.
std::vector<Bucket> Trainer::State::find_buckets() const {
  const std::int64_t rows = learned_rows(pool, workers());
  // Sums of several lanes are no numbers of bf16.
  const std::int64_t narrow = task.rounds_gradients && lanes == 1 ? pool.trained : 0;
  if (lanes > 1 || gradients->is_together() || !options.workers->workers->overlaps())
    return make_buckets(
        std::vector<Bucket>{{0, rows, turn_launches()}},
        {.rows = rows, .workers = workers(), .front = rows, .most = rows, .narrow = narrow});
  const model::Resident &program = *gradients->programs().front();
  std::vector<Bucket> uses;
  for (std::size_t p = 0; p < pool.entries.size(); ++p)
    uses.push_back({pool.entries[p].row, pool.entries[p].rows, launches_using(program, p)});
  for (const std::size_t metric : {pool.entries.size(), pool.entries.size() + 1})
    uses.push_back({pool.rows, 1, launches_using(program, metric)});
  const auto most =
      static_cast<std::int64_t>(std::min(recipe.steps.bucket_mb, 1e6) * 1e6) / (4 * kRow);
  return make_buckets(
      uses,
      {.rows = rows, .workers = workers(), .front = most / kFront, .most = most, .narrow = narrow});
}

runtime::Timeline Trainer::State::timeline(int turn) {
  runtime::Timeline timeline = gradients->timeline();
  const auto add = [&](std::span<runtime::Launchable *const> kernels) {
    timeline.kernels.insert(timeline.kernels.end(), kernels.begin(), kernels.end());
  };
  add(lane_sum->kernels(turn));
  if (turn + 1 < gradients->turns())
    return timeline;
  for (std::size_t b = 0; b < buckets.size(); ++b)
    timeline.beside.push_back({buckets[b].after, turn_launches(), [this, b] {
                                 options.workers->star.monitor().enter_exchange();
                                 exchange->run(b);
                               }});
  add(updating->kernels());
  const std::size_t all = timeline.kernels.size();
  if (has_shards())
    timeline.beside.push_back({all, all, [this] {
                                 for (const train::State &state : update.states)
                                   if (state.is_whole)
                                     options.workers->workers->gather_parts(
                                         pools.whole(state.name));
                               }});
  return timeline;
}

// Of all rows, wherever they are kept.
std::vector<float> Trainer::State::whole_state(const std::string &name) const {
  std::vector<float> values = pools.read(name);
  if (!is_shard(name))
    return values;
  const std::int64_t part = own.count * kRow * 4, bytes = part * workers();
  const std::unique_ptr<runtime::Memory> all = device.allocate(bytes);
  device.write({all.get(), rank() * part, part}, std::as_bytes(std::span(values)));
  options.workers->workers->gather_parts({all.get(), 0, bytes});
  values.resize(static_cast<std::size_t>(bytes) / sizeof(float));
  device.read({all.get(), 0, bytes}, std::as_writable_bytes(std::span(values)));
  return values;
}

// Of a state of all rows what this worker keeps.
void Trainer::State::write_state(const std::string &name, std::span<const float> values) {
  if (is_shard(name))
    values = values.subspan(at(own.first * kRow), at(own.count * kRow));
  pools.write(name, {values.begin(), values.end()});
}

// Other kernels would give other bits.
void Trainer::State::compare_kernels() const {
  if (options.workers == nullptr)
    return;
  std::string text;
  for (const auto &program : gradients->programs())
    text += model::to_text(program->plan(), program->compiled());
  text += model::to_text(updating->resident().plan(), updating->resident().compiled());
  agree(options.workers->star, {{"kernels", content_hash(text)}});
}

runtime::Binding Trainer::State::metric(Metric which) const {
  return pools.elems("learned", pool.rows * kRow + which, 1);
}

void Trainer::State::make_loader() {
  feed.reset();
  loader.emplace(*training, loader_options(recipe, {step, steps()}, workers(), rank(), branches));
  feed.emplace(*loader, device, *gradients, classes);
}

void Trainer::State::count_skips(const StepReport &report) {
  skips = report.is_skipped ? skips + 1 : 0;
  if (skips >= kMostSkips)
    throw Error(
        ErrorCode::Unsupported,
        fmt::format("step {}: gradients of the last {} steps are not finite", report.step, skips),
        {},
        {fmt::format("first of them, from the loss backwards: {}", first_bad_gradient()),
         "a smaller optimizer.rate, or optimizer.clip, may help"});
}

std::string Trainer::State::first_bad_gradient() const {
  const std::vector<float> learned = pools.read("learned");
  for (auto entry = pool.entries.rbegin(); entry != pool.entries.rend(); ++entry) {
    if (entry->row >= pool.trained)
      continue;
    const float *first = learned.data() + entry->row * kRow;
    if (!std::all_of(first, first + entry->elems(), [](float x) { return std::isfinite(x); }))
      return entry->parameter.name;
  }
  return "none: their squares overflow together";
}

Trainer::Trainer(Setup setup, runtime::Device &device, runtime::KernelCache &cache,
                 const TrainerOptions &options)
    : state_(std::make_unique<State>(std::move(setup), device, cache, options)) {}

Trainer::~Trainer() = default;

std::int64_t Trainer::step() const { return state_->step; }
std::int64_t Trainer::steps() const { return state_->steps(); }
std::int64_t Trainer::steps_per_epoch() const { return state_->steps_per_epoch(); }
const ParameterPool &Trainer::parameters() const { return state_->pool; }
bool Trainer::has_test_data() const { return state_->test != nullptr; }
bool Trainer::has_shards() const { return state_->has_shards(); }

TrainingMemory Trainer::memory() const { return state_->memory(); }

// Of what there is so far.
TrainingMemory Trainer::State::memory() const {
  TrainingMemory memory;
  memory.parameters =
      pools.bytes() + (lane_sum ? lane_sum->bytes() : 0) + (exchange ? exchange->bytes() : 0);
  if (gradients) {
    memory.activations +=
        gradients->activation_bytes() + Feed::bytes(device, gradients->fed_bytes());
    memory.constants += gradients->constant_bytes();
  }
  std::vector<const Phase *> phases = {&*updating};
  if (evaluator)
    phases.push_back(&evaluator->phase());
  for (const Phase *phase : phases) {
    memory.activations += phase->activation_bytes();
    memory.constants += phase->resident().plan().weight_bytes;
  }
  return memory;
}

std::vector<model::WaitingTensor> Trainer::waiting() const {
  std::vector<model::WaitingTensor> all;
  for (const auto &program : state_->gradients->programs()) {
    const std::vector<model::WaitingTensor> &own = program->compiled().waiting;
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

std::string Trainer::describe() const {
  const State &state = *state_;
  const TrainingMemory memory = this->memory();
  const auto mb = [](std::int64_t bytes) { return static_cast<double>(bytes) * 1e-6; };
  std::string data =
      fmt::format("{} pictures {}x{}x{}", state.training->count(), state.task.picture.height,
                  state.task.picture.width, state.task.picture.channels);
  if (state.test)
    data += fmt::format(", {} to test", state.test->count());
  std::string batch = fmt::format("batch {}", state.recipe.steps.batch);
  if (state.recipe.steps.lanes > 1)
    batch += fmt::format(" in each of {} lanes{}", state.recipe.steps.lanes,
                         state.gradients->is_together() ? ", normalised together" : "");
  if (state.workers() > 1)
    batch += fmt::format(" by {} workers, {} each", state.workers(), state.lanes);
  const std::vector<model::WaitingTensor> tensors = waiting();
  const auto repeated =
      std::count_if(tensors.begin(), tensors.end(),
                    [](const model::WaitingTensor &each) { return each.is_repeated; });
  const std::string again =
      repeated > 0 ? fmt::format(" ({} compute again what memory is short for)", repeated) : "";
  std::string teacher;
  if (state.teacher)
    teacher = fmt::format("teacher  {}, {} of the loss at temperature {}\n",
                          std::filesystem::path(state.recipe.loss.teacher).stem().string(),
                          state.recipe.loss.teacher_share, state.recipe.loss.temperature);
  std::string exchange;
  if (state.exchange)
    exchange = fmt::format("exchange {}\n", to_text(state.buckets, state.turn_launches()));
  return fmt::format("model    {}: {}\n{}{}"
                     "data     {}; order by seed {}\n"
                     "step     {} launches{}, {}, {} steps an epoch\n{}"
                     "memory   {:.1f} MB: activations {:.1f}, parameters and optimiser {:.1f}, "
                     "constants {:.1f}\n",
                     std::filesystem::path(state.recipe.model).stem().string(), summary(state.pool),
                     left_text(state.model.left_as_they_are()), teacher, data, state.recipe.seed,
                     state.launches, again, batch, state.steps_per_epoch(), exchange,
                     mb(memory.all()), mb(memory.activations), mb(memory.parameters),
                     mb(memory.constants));
}

std::string Trainer::starvation(double waited) const {
  return advice({.waited = waited,
                 .times = state_->loader ? state_->loader->times() : data::LoaderTimes(),
                 .decodes = state_->training->decodes(),
                 .threads = state_->recipe.data.threads,
                 .cores = available_threads()});
}

// The batches of a turn's lanes through the gradients program.
void Trainer::State::run_turn(int turn, StepReport &report) {
  for (int lane = 0; lane < gradients->lanes_of_turn(); ++lane)
    report.epoch = feed->take(lane);
  const std::int64_t every = recipe.keep.check_steps;
  if (turn == 0 && every > 0 && report.step % every == 0)
    check_device(report.step);
  launch(turn);
}

// The same batch gives the same bits, and workers hold the same parameters; or a device is damaged.
void Trainer::State::check_device(std::int64_t now) {
  if (!checking)
    checking = device.record(gradients->timeline());
  const auto learned = [&] {
    checking->launch();
    return hash_of(pools.read("learned"));
  };
  if (learned() != learned())
    throw Error(ErrorCode::Device,
                fmt::format("step {}: the gradients of one batch, computed twice, differ", now), {},
                {"the device or its memory is damaged, or its driver is"});
  if (options.workers)
    agree(options.workers->star, {{"parameters", hash_of(pools.read("parameters"))}});
}

void Trainer::State::launch(int turn) {
  timelines[at(turn)]->launch();
  if (exchange && turn + 1 == gradients->turns()) // what is queued waits for others from here on
    options.workers->star.monitor().enter_exchange();
}

void Trainer::State::read_metrics(StepReport &report) {
  std::array<float, kEnd + 1> row{};
  runtime::Binding from = metric(kLoss);
  from.bytes = static_cast<std::int64_t>(sizeof(row));
  device.read(from, std::as_writable_bytes(std::span(row)));
  report.loss = static_cast<double>(row[kLoss]);
  report.hits =
      std::llround(static_cast<double>(row[kHits]) * static_cast<double>(recipe.steps.lanes));
  report.is_last = row[kEnd] > 0;
}

StepReport Trainer::run_step(bool asks_for_end) {
  State &state = *state_;
  if (!state.loader)
    state.make_loader();
  const Stopwatch watch;
  const double waited = state.loader->waited_seconds();
  StepReport report{.step = state.step + 1, .steps = state.steps()};
  if (state.options.workers)
    state.options.workers->star.monitor().begin_step(report.step);
  report.rate = rate_at(state.recipe, state.step, state.steps_per_epoch());
  report.scale = static_cast<double>(state.pools.read("loss scale").front());
  state.pools.write("rate", {static_cast<float>(report.rate)});
  if (state.exchange && asks_for_end) {
    const float one = 1;
    runtime::Binding end = state.metric(kEnd);
    end.memory = state.gradients->learned(0).memory;
    state.device.write(end, std::as_bytes(std::span(&one, 1)));
  }
  for (int turn = 0; turn < state.gradients->turns(); ++turn)
    state.run_turn(turn, report);
  state.feed->prepare();
  report.waited = state.loader->waited_seconds() - waited;
  state.read_metrics(report);
  report.is_last |= asks_for_end;
  const double square = static_cast<double>(state.updating->number(state.update.square));
  report.gradient_norm = std::sqrt(square) / report.scale;
  report.exchanged = state.timelines.back()->waited();
  report.is_skipped = !(square < 1e38); // ops/optimizer.tile, is_alive
  state.count_skips(report);
  ++state.step;
  report.seconds = watch.seconds();
  return report;
}

std::vector<model::KernelReport> Trainer::profile(int passes) {
  std::vector<Profiled> programs = state_->gradients->profile(passes);
  programs.push_back({&state_->updating->resident(), state_->updating->profile(passes)});
  return in_order(programs);
}

Evaluation Trainer::evaluate(const std::function<void(int, int)> &progress) {
  State &state = *state_;
  if (!state.evaluator)
    throw Error(ErrorCode::Unsupported, "the recipe names no test data");
  return state.evaluator->run(*state.test, state.recipe.data.threads, progress,
                              state.options.workers ? &state.options.workers->star : nullptr);
}

Checkpoint Trainer::snapshot() {
  State &state = *state_;
  Checkpoint checkpoint{.step = state.step};
  for (const std::string &name : state.pools.names()) {
    if (name == "learned" || name == "rate")
      continue;
    const std::vector<float> values = state.whole_state(name);
    const auto add = [&](const std::string &key, const program::Shape &shape, std::int64_t from) {
      checkpoint.content.tensors[key] = tensor_of(key, shape, std::span(values).subspan(at(from)));
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
    const bool is_rows = state.pools.whole(name).bytes > static_cast<std::int64_t>(sizeof(float));
    std::vector<float> values(is_rows ? at(state.all_rows() * kRow) : 1);
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
    state.write_state(name, values);
  state.step = checkpoint.step;
  const auto skips = checkpoint.content.metadata.find("skips");
  state.skips = skips == checkpoint.content.metadata.end() ? 0 : std::atoi(skips->second.c_str());
  state.feed.reset();
  state.loader.reset();
}

void Trainer::export_model(const std::string &path) {
  State &state = *state_;
  std::map<std::string, HostTensor> replaced;
  const std::vector<float> parameters = state.pools.read(state.judged());
  for (const PooledParameter &entry : state.pool.entries)
    replaced.emplace(entry.parameter.name,
                     tensor_of(entry.parameter.name, entry.parameter.shape,
                               std::span(parameters).subspan(at(entry.row * kRow))));
  onnx_import::export_model({state.bytes->text(), state.folder()}, path, replaced,
                            {{"tilefuse.step", std::to_string(state.step)}});
}

} // namespace tilefuse::train
