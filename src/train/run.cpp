// SPDX-License-Identifier: Apache-2.0
#include "train/run.h"

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/durable_file.h"
#include "base/error.h"
#include "base/read_file.h"
#include "base/stopwatch.h"
#include "train/events.h"
#include "train/log.h"
#include "train/starvation.h"

namespace tilefuse::train {
namespace {

constexpr double kRowSeconds = 10; // between rows of the log
constexpr const char *kRecipeFile = "recipe.toml";

// What a run knows beside the trainer's state; checkpoints hold it as metadata.
struct Progress {
  std::int64_t epoch_steps = 0; // of the epoch under way
  double epoch_loss = 0;        // sum over them
  std::int64_t epoch_hits = 0;
  double best_top1 = -1;
  double best_loss = 0;
  std::int64_t best_epoch = 0;

  void write(Metadata &to) const {
    to["epoch_steps"] = fmt::format("{}", epoch_steps);
    to["epoch_loss"] = fmt::format("{}", epoch_loss);
    to["epoch_hits"] = fmt::format("{}", epoch_hits);
    to["best_top1"] = fmt::format("{}", best_top1);
    to["best_loss"] = fmt::format("{}", best_loss);
    to["best_epoch"] = fmt::format("{}", best_epoch);
  }
  void read(const Metadata &from) {
    const auto number = [&](const char *key) {
      const auto found = from.find(key);
      return found == from.end() ? 0.0 : std::stod(found->second);
    };
    epoch_steps = static_cast<std::int64_t>(number("epoch_steps"));
    epoch_loss = number("epoch_loss");
    epoch_hits = static_cast<std::int64_t>(number("epoch_hits"));
    best_top1 = number("best_top1");
    best_loss = number("best_loss");
    best_epoch = static_cast<std::int64_t>(number("best_epoch"));
  }
};

// Less what a run may change when it is taken up again, since it alters no step; its paths as texts
// have them.
Recipe comparable(const Recipe &given) {
  Recipe recipe = parse_recipe(to_text(given), "recipe");
  recipe.steps.limit = 0;
  recipe.steps.bucket_mb = Recipe().steps.bucket_mb;
  recipe.steps.memory_gb = 0;
  recipe.optimizer.sharded = false;
  recipe.keep = {.ema = given.keep.ema};
  recipe.data.threads = 1;
  return recipe;
}

void check_recipe(const Recipe &recipe, const Checkpoint &checkpoint, bool forces) {
  const auto text = checkpoint.content.metadata.find("recipe");
  if (forces || text == checkpoint.content.metadata.end())
    return;
  const std::vector<std::string> lines =
      differences(comparable(parse_recipe(text->second, "recipe")), comparable(recipe));
  if (!lines.empty())
    throw Error(ErrorCode::Shape, "the recipe differs from the one that the checkpoint was made by",
                {}, lines);
}

class Run {
public:
  Run(Setup setup, runtime::Device &device, runtime::KernelCache &cache, const RunOptions &options)
      : options_(options), star_(star_of(options)), newest_(start()), recipe_(setup.recipe),
        trainer_(std::move(setup), device, cache, options.trainer) {
    if (newest_) {
      check_recipe(recipe_, *newest_, options.forces);
      trainer_.restore(*newest_);
      progress_.read(newest_->content.metadata);
    }
    if (!writes())
      return;
    std::filesystem::create_directories(options.folder);
    write_durably(in_folder(kRecipeFile), to_text(recipe_));
  }

  RunResult run() {
    say(trainer_.describe());
    if (newest_)
      say(fmt::format("resume   step {} of {}\n", trainer_.step(), trainer_.steps()));
    RunResult result;
    if (trainer_.has_test_data() && !newest_) {
      result.before = trainer_.evaluate();
      say(fmt::format("before   test top-1 {:.4f}, loss {:.4f}\n", result.before->top1(),
                      result.before->loss));
    }
    if (writes())
      open_logs();
    bool is_stopped = false;
    while (trainer_.step() < trainer_.steps() && !is_stopped) {
      const bool is_asked = make_step();
      const bool ends_epoch = trainer_.step() % trainer_.steps_per_epoch() == 0;
      const bool ends = trainer_.step() == trainer_.steps();
      if (ends_epoch || ends)
        is_stopped = end_epoch(result);
      is_stopped |= is_asked;
      if (ends_epoch || ends || is_stopped || is_time_to_keep())
        keep();
    }
    result.step = trainer_.step();
    result.is_complete = trainer_.step() == trainer_.steps();
    if (writes())
      trainer_.export_model(in_folder("last.onnx"));
    return result;
  }

private:
  void open_logs() {
    log_.emplace(in_folder("log.csv"), trainer_.step());
    if (recipe_.keep.tensorboard)
      events_.emplace(options_.folder, trainer_.step());
  }

  std::string in_folder(const std::string &name) const {
    return (std::filesystem::path(options_.folder) / name).string();
  }
  static runtime::Star *star_of(const RunOptions &options) {
    return options.trainer.workers ? &options.trainer.workers->star : nullptr;
  }
  // Of several workers one writes all files, and speaks.
  bool writes() const { return star_ == nullptr || star_->rank() == 0; }
  void say(const std::string &text) const {
    if (options_.say && writes())
      options_.say(text);
  }

  // The checkpoint to go on from, at every worker: rank 0 has found it.
  std::optional<Checkpoint> start() const {
    std::optional<Checkpoint> newest = writes() ? find_newest() : std::nullopt;
    if (star_ == nullptr)
      return newest;
    const std::string path = newest ? checkpoint_path(options_.folder, newest->step) : "";
    if (newest)
      star_->monitor().keep(newest->step);
    const std::string bytes = star_->broadcast(newest ? read_file(path) : "");
    if (!newest && !bytes.empty())
      newest = parse_checkpoint(bytes);
    return newest;
  }

  std::optional<Checkpoint> find_newest() const {
    std::vector<std::string> skipped;
    std::optional<Checkpoint> newest = newest_checkpoint(options_.folder, &skipped);
    if (options_.resumes) {
      for (const std::string &why : skipped)
        say("skipped  " + why + "\n");
      if (!newest)
        throw Error(ErrorCode::Io, fmt::format("{}: no checkpoint to resume from", options_.folder),
                    {}, skipped);
      return newest;
    }
    if (newest)
      throw Error(ErrorCode::Io,
                  fmt::format("{} holds a run, at step {}", options_.folder, newest->step), {},
                  {"--resume goes on with it; another folder begins anew"});
    return std::nullopt;
  }

  // Whether it was the last, since somebody asked for the end.
  bool make_step() {
    const StepReport report = trainer_.run_step(options_.is_stopped && options_.is_stopped());
    ++progress_.epoch_steps;
    progress_.epoch_loss += report.loss;
    progress_.epoch_hits += report.hits;
    epoch_seconds_ += report.seconds;
    epoch_waited_ += report.waited;
    skipped_ += report.is_skipped ? 1 : 0;
    ++timed_steps_;
    row_.loss += report.loss;
    row_.top1 += static_cast<double>(report.hits);
    step_seconds_.push_back(report.seconds);
    row_.input_wait_ms += report.waited * 1e3;
    row_.exchange_wait_ms += report.exchanged * 1e3;
    row_.rate = report.rate;
    row_.gradient_norm = report.gradient_norm;
    row_.scale = report.scale;
    row_.epoch = report.epoch + 1;
    if (options_.on_step && writes())
      options_.on_step(report);
    row_seconds_ += report.seconds;
    const std::int64_t every = recipe_.keep.log_steps;
    if (every > 0 ? trainer_.step() % every == 0 : row_seconds_ >= kRowSeconds)
      append_row();
    return report.is_last;
  }

  // Means over the steps since the row before.
  void append_row() {
    if (step_seconds_.empty() || !log_)
      return;
    const auto steps = static_cast<double>(step_seconds_.size());
    const auto batch = static_cast<double>(recipe_.steps.pictures());
    row_.step = trainer_.step();
    row_.images = trainer_.step() * recipe_.steps.pictures();
    row_.loss /= steps;
    row_.top1 /= steps * batch;
    row_.input_wait_ms /= steps;
    row_.exchange_wait_ms /= steps;
    row_.images_per_second = row_seconds_ > 0 ? steps * batch / row_seconds_ : 0;
    std::sort(step_seconds_.begin(), step_seconds_.end());
    row_.step_ms = step_seconds_[step_seconds_.size() / 2] * 1e3;
    log_->append(row_);
    add_events({{"train/loss", row_.loss},
                {"train/top1", row_.top1},
                {"train/rate", row_.rate},
                {"train/gradient_norm", row_.gradient_norm},
                {"train/loss_scale", row_.scale},
                {"time/images_per_second", row_.images_per_second},
                {"time/step_ms", row_.step_ms},
                {"time/input_wait_ms", row_.input_wait_ms},
                {"time/exchange_wait_ms", row_.exchange_wait_ms}});
    row_ = {};
    row_seconds_ = 0;
    step_seconds_.clear();
  }

  void add_events(std::initializer_list<Scalar> scalars) {
    if (events_)
      events_->add(trainer_.step(), scalars);
  }

  bool is_time_to_keep() const {
    return recipe_.keep.every_steps > 0 && trainer_.step() % recipe_.keep.every_steps == 0;
  }

  void keep() {
    if (!writes() && !trainer_.has_shards())
      return;
    Checkpoint checkpoint = trainer_.snapshot();
    if (!writes())
      return;
    progress_.write(checkpoint.content.metadata);
    write_checkpoint(options_.folder, checkpoint, recipe_.keep.checkpoints);
    if (star_ != nullptr)
      star_->monitor().keep(checkpoint.step);
  }

  // Whether the run ends early, since nothing was gained for long.
  bool end_epoch(RunResult &result) {
    append_row();
    EpochReport report;
    const auto steps = static_cast<double>(std::max<std::int64_t>(progress_.epoch_steps, 1));
    const auto batch = static_cast<double>(recipe_.steps.pictures());
    report.epoch = (trainer_.step() - 1) / trainer_.steps_per_epoch() + 1;
    report.steps = progress_.epoch_steps;
    report.loss = progress_.epoch_loss / steps;
    report.top1 = static_cast<double>(progress_.epoch_hits) / (steps * batch);
    report.seconds = epoch_seconds_;
    report.images_per_second =
        epoch_seconds_ > 0 ? static_cast<double>(timed_steps_) * batch / epoch_seconds_ : 0;
    report.waited = epoch_seconds_ > 0 ? epoch_waited_ / epoch_seconds_ : 0;
    report.skipped = skipped_;
    if (trainer_.has_test_data()) {
      report.test = trainer_.evaluate();
      report.is_best = is_better(*report.test);
      if (report.is_best)
        take_best(report, result);
      result.last = report.test;
      add_events({{"test/loss", report.test->loss}, {"test/top1", report.test->top1()}});
    }
    result.best_epoch = progress_.best_epoch;
    progress_.epoch_steps = progress_.epoch_hits = 0;
    progress_.epoch_loss = epoch_seconds_ = epoch_waited_ = 0;
    skipped_ = timed_steps_ = 0;
    if (options_.on_epoch && writes())
      options_.on_epoch(report);
    if (report.waited > kStarved && !std::exchange(has_advised_, true))
      say(trainer_.starvation(report.waited));
    const std::int64_t patience = recipe_.keep.stop_after_epochs_without_gain;
    return patience > 0 && report.test && report.epoch - progress_.best_epoch >= patience;
  }

  bool is_better(const Evaluation &test) const {
    return test.top1() > progress_.best_top1 ||
           (test.top1() == progress_.best_top1 && test.loss < progress_.best_loss);
  }

  void take_best(const EpochReport &report, RunResult &result) {
    progress_.best_top1 = report.test->top1();
    progress_.best_loss = report.test->loss;
    progress_.best_epoch = report.epoch;
    result.best = report.test;
    if (writes())
      trainer_.export_model(in_folder("best.onnx"));
  }

  RunOptions options_;
  runtime::Star *star_; // null: this process makes the run alone
  std::optional<Checkpoint> newest_;
  Recipe recipe_;
  Trainer trainer_;
  Progress progress_;
  std::optional<Log> log_;          // of who writes
  std::optional<EventFile> events_; // the same, where they are asked for
  LogRow row_;                      // sums since the last one
  double row_seconds_ = 0;
  std::vector<double> step_seconds_; // since the last row
  double epoch_seconds_ = 0;
  double epoch_waited_ = 0;
  std::int64_t timed_steps_ = 0; // of the epoch, since the run was taken up
  std::int64_t skipped_ = 0;
  bool has_advised_ = false; // what to do against waiting for pictures
};

} // namespace

RunResult run(Setup setup, runtime::Device &device, runtime::KernelCache &cache,
              const RunOptions &options) {
  return Run(std::move(setup), device, cache, options).run();
}

} // namespace tilefuse::train
