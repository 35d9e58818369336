// SPDX-License-Identifier: Apache-2.0
#include "api/training.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/scanner.h"
#include "base/stopwatch.h"
#include "data/open.h"
#include "train/recipe_keys.h"
#include "train/setup.h"
#include "train/verify.h"

namespace tilefuse::api {
namespace {

constexpr int kWarmUps = 3;      // steps before any is timed
constexpr int kMostProfiled = 9; // steps

bool to_bool(const std::string &key, const std::string &value) {
  if (value == "true" || value == "1")
    return true;
  if (value == "false" || value == "0")
    return false;
  throw Error(ErrorCode::Syntax,
              fmt::format("option {} is {}, need true or false", key, tilefuse::quoted(value)));
}

model::SessionOptions session_of(const Engine &engine, const Training &training) {
  model::SessionOptions session;
  session.fusion = training.fusion;
  session.records = engine.records.get();
  session.warn = [&engine](const std::string &text) { engine.warn(text); };
  return session;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

void need_test_data(const train::Recipe &recipe) {
  if (recipe.data.test.empty())
    throw Error(ErrorCode::Unsupported, "the recipe names no test data");
}

} // namespace

train::Recipe read_recipe(const std::string &path) {
  if (!path.ends_with(".onnx"))
    return train::read_recipe(path);
  train::Recipe recipe;
  recipe.model = path;
  recipe.optimizer.rate = 0.01;
  return recipe;
}

void set(Training &training, const std::string &key, const std::string &value) {
  if (train::find_key(key) != nullptr)
    return train::set(training.recipe, key + "=" + value);
  if (key == "folder") {
    training.folder = value;
  } else if (key == "resume") {
    training.resumes = to_bool(key, value);
  } else if (key == "force") {
    training.forces = to_bool(key, value);
  } else if (key == "fuse") {
    Options options;
    set(options, key, value);
    training.fusion = options.fusion;
  } else {
    throw Error(
        ErrorCode::Unsupported, fmt::format("there is no option {}", tilefuse::quoted(key)), {},
        {fmt::format("options here are fuse, folder, resume, force and the keys of recipes, "
                     "of which the nearest is {}",
                     train::nearest_name(key))});
  }
}

Trainer::Trainer(std::shared_ptr<Engine> engine, const Training &training, const Progress &progress)
    : engine_(std::move(engine)), training_(training) {
  if (training_.recipe.data.train.empty()) {
    if (training_.recipe.model.empty())
      throw Error(ErrorCode::Syntax, "'model' is not said: which ONNX file is trained");
    need_test_data(training_.recipe);
    return;
  }
  train::check(training_.recipe);
  const std::lock_guard lock(engine_->mutex);
  train::TrainerOptions options;
  options.session = session_of(*engine_, training_);
  options.session.progress = checked(progress); // all is compiled here
  trainer_ = std::make_unique<train::Trainer>(training_.recipe, *engine_->device, *engine_->cache,
                                              options);
}

Trainer::~Trainer() {
  const std::lock_guard lock(engine_->mutex);
  trainer_.reset();
}

train::Trainer &Trainer::trainer() {
  if (!trainer_)
    throw Error(ErrorCode::Unsupported, "the recipe names no data to train on", {},
                {"data.train says what is learned from"});
  return *trainer_;
}

StepSummary Trainer::step(std::int64_t steps, const Progress &progress) {
  const std::lock_guard lock(engine_->mutex);
  train::Trainer &trainer = this->trainer();
  const std::int64_t left = trainer.steps() - trainer.step();
  if (left <= 0)
    throw Error(ErrorCode::Unsupported,
                fmt::format("all {} steps of the run are made", trainer.steps()), {},
                {"steps.epochs and steps.limit say how many there are"});
  StepSummary summary;
  const std::int64_t count = std::min(steps, left);
  std::int64_t hits = 0;
  for (; summary.made < count; ++summary.made) {
    checked(progress)(static_cast<int>(summary.made), static_cast<int>(count));
    summary.last = trainer.run_step();
    summary.loss += summary.last.loss;
    hits += summary.last.hits;
    summary.seconds += summary.last.seconds;
    summary.waited += summary.last.waited;
    summary.skipped += summary.last.is_skipped ? 1 : 0;
  }
  const auto made = static_cast<double>(summary.made);
  summary.loss /= made;
  summary.top1 =
      static_cast<double>(hits) / (made * static_cast<double>(training_.recipe.steps.pictures()));
  return summary;
}

train::Evaluation Trainer::evaluate(const Progress &progress) {
  if (!trainer_)
    return api::evaluate(*engine_, training_, progress);
  const std::lock_guard lock(engine_->mutex);
  return trainer_->evaluate(checked(progress));
}

void Trainer::save(const std::string &path) {
  const std::lock_guard lock(engine_->mutex);
  if (path.ends_with(".onnx"))
    return trainer().export_model(path);
  if (!path.ends_with(".safetensors"))
    throw Error(ErrorCode::Unsupported, "what is written is said by how its name ends", path,
                {".onnx: the model with what it has learned; .safetensors: a checkpoint"});
  train::save_checkpoint(path, trainer().snapshot());
}

void Trainer::restore(const std::string &path) {
  const std::lock_guard lock(engine_->mutex);
  trainer().restore(train::load_checkpoint(path));
}

Timing Trainer::time(int repeat, const Progress &progress) {
  const std::lock_guard lock(engine_->mutex);
  train::Trainer &trainer = this->trainer();
  const train::Checkpoint before = trainer.snapshot();
  Timing timing;
  const auto measure = [&] {
    for (int run = -kWarmUps; run < repeat && trainer.step() < trainer.steps(); ++run) {
      checked(progress)(std::max(run, 0), repeat);
      const double seconds = trainer.run_step().seconds;
      if (run >= 0)
        timing.seconds.push_back(seconds);
    }
    timing.kernels = trainer.profile(std::min(repeat, kMostProfiled));
  };
  try {
    measure();
  } catch (...) {
    trainer.restore(before);
    throw;
  }
  trainer.restore(before);
  std::sort(timing.seconds.begin(), timing.seconds.end());
  return timing;
}

std::string Trainer::verify(std::int64_t samples, const Progress &progress) {
  const std::lock_guard lock(engine_->mutex);
  trainer(); // says what lacks
  const train::StepVerification done =
      train::verify_step(training_.recipe, *engine_->device, *engine_->cache,
                         {.samples = samples,
                          .session = session_of(*engine_, training_),
                          .progress = checked(progress)});
  const std::string &device = engine_->device->name();
  return verdict(done.gradients, device, samples) + verdict(done.update, device, samples);
}

Trainer::Info Trainer::info() {
  const std::lock_guard lock(engine_->mutex);
  const train::Trainer &trainer = this->trainer();
  return {trainer.step(), trainer.steps(), trainer.steps_per_epoch(), trainer.memory(),
          trainer.describe()};
}

train::Evaluation evaluate(Engine &engine, const Training &training, const Progress &progress) {
  const train::Recipe &recipe = training.recipe;
  need_test_data(recipe);
  const std::lock_guard lock(engine.mutex);
  const std::unique_ptr<data::Source> source = train::open_pictures(recipe, recipe.data.test);
  const onnx_import::Model model(recipe.model);
  train::Compilation compilation{*engine.device, *engine.cache, recipe.precision,
                                 session_of(engine, training)};
  compilation.session.progress = checked(progress);
  train::Evaluator evaluator(model, {}, train::task_of(recipe, *source), compilation, {});
  return evaluator.run(*source, recipe.data.threads, checked(progress));
}

train::TrainerOptions trainer_options(const Engine &engine, const Training &training,
                                      const RunWatch &watch) {
  train::TrainerOptions options;
  options.session = session_of(engine, training);
  options.session.progress = checked(watch.compiling);
  options.workers = watch.workers;
  return options;
}

train::RunResult train_run(Engine &engine, const Training &training, train::Setup setup,
                           const RunWatch &watch,
                           const std::function<void(const std::string &)> &say) {
  if (training.folder.empty())
    throw Error(ErrorCode::Syntax, "'folder' is not said: where the run is kept");
  const std::lock_guard lock(engine.mutex);
  train::RunOptions options{.folder = training.folder,
                            .resumes = training.resumes,
                            .forces = training.forces,
                            .say = say,
                            .on_step = watch.on_step,
                            .is_stopped = watch.is_stopped};
  options.trainer = trainer_options(engine, training, watch);
  options.on_epoch = [&](const train::EpochReport &epoch) {
    say(epoch_line(epoch, training.recipe.steps.epochs) + "\n");
  };
  return train::run(std::move(setup), *engine.device, *engine.cache, options);
}

train::RunResult run_to_end(Engine &engine, const Training &training, const Progress &progress) {
  bool is_cancelled = false;
  RunWatch watch{.compiling = progress};
  watch.on_step = [&](const train::StepReport &step) {
    is_cancelled |=
        progress && !progress(static_cast<int>(step.step), static_cast<int>(step.steps));
  };
  watch.is_stopped = [&] { return is_cancelled; };
  const train::RunResult result =
      train_run(engine, training, training.recipe, watch, [&](const std::string &text) {
        for (const std::string_view line : lines_of(text))
          engine.log(LogLevel::Info, std::string(line));
      });
  if (is_cancelled && !result.is_complete)
    throw Error(ErrorCode::Cancelled,
                fmt::format("cancelled behind step {}, of which a checkpoint is kept", result.step),
                {}, {"resume=true goes on"});
  return result;
}

std::string epoch_line(const train::EpochReport &epoch, std::int64_t epochs) {
  std::string line = fmt::format("epoch {:>2}/{}  {} steps  loss {:.4f}  top-1 {:.4f}", epoch.epoch,
                                 epochs, epoch.steps, epoch.loss, epoch.top1);
  if (epoch.test)
    line += fmt::format("  |  test {:.4f}  loss {:.4f}{}", epoch.test->top1(), epoch.test->loss,
                        epoch.is_best ? "  best" : "");
  line += fmt::format("  |  {:.0f} images/s, input wait {:.1f} %  {:.1f} s",
                      epoch.images_per_second, epoch.waited * 100, epoch.seconds);
  return epoch.skipped > 0 ? line + fmt::format(", {} steps skipped", epoch.skipped) : line;
}

std::string result_text(const train::RunResult &result, const std::string &folder) {
  std::string text;
  if (result.best_epoch > 0 && result.best)
    text += fmt::format("best     epoch {}, test top-1 {:.4f}: {}/best.onnx\n", result.best_epoch,
                        result.best->top1(), folder);
  text += result.is_complete
              ? fmt::format("done     {} steps: {}/last.onnx\n", result.step, folder)
              : fmt::format("stopped  behind step {}: --resume goes on\n", result.step);
  return text;
}

} // namespace tilefuse::api
