// SPDX-License-Identifier: Apache-2.0
#include "train/update_program.h"

#include <fnmatch.h>

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "base/error.h"
#include "program/host_tensor.h"
#include "tile/tile.h"

namespace tilefuse::train {
namespace {

using onnx_import::Parameter;
using program::TensorId;

class UpdateBuilder {
public:
  UpdateBuilder(const ParameterPool &pool, const Recipe::Optimizer &optimizer, const RowRange &own)
      : pool_(pool), optimizer_(optimizer), own_(own) {
    made_.program.name = optimizer.kind;
    rows_ = {own.count, kRow};
  }

  UpdateProgram build(double ema, bool scales_loss) {
    parameters_ = add_state(kParameters, rows_, true);
    const RowRange all{0, pool_.rows};
    const bool has_all = own_.count == all.count;
    made_.learned = made_.own = made_.program.inputs.size();
    const TensorId learned = learned_ = add_input("learned", {pool_.rows, kRow});
    if (!has_all) {
      made_.own = made_.program.inputs.size();
      learned_ = add_input("own learned", rows_);
    }
    made_.rate = made_.program.inputs.size();
    rate_ = add_input("rate", {1});
    const TensorId scale = add_state("loss scale", {1});
    const TensorId good = add_state("good steps", {1});
    decays_ =
        add_rows("decay", own_, [&](const PooledParameter &each) { return decay(each.parameter); });
    const auto blend = [](const PooledParameter &each) {
      return is_statistic(each.parameter.kind) ? 1 - each.parameter.keep : 0;
    };
    blends_ = add_rows("blend", own_, blend);
    const TensorId square = apply(
        "sum_of_squares", {learned, has_all ? blends_ : add_rows("blend of all", all, blend)});
    alive_ = apply("is_alive", {square});
    unscaling_ = apply("unscaling", {square, scale}, {{"CLIP", optimizer_.clip}});
    if (ema > 0)
      steps_made(); // in front of the maps, which follow each other in one launch
    if (optimizer_.is_layerwise())
      add_layers();
    if (optimizer_.kind == "adamw" || optimizer_.kind == "lamb")
      add_adam();
    else
      add_sgd();
    if (ema > 0)
      add_average(ema);
    // Reads what the next one overwrites.
    const std::int64_t every = scales_loss ? 2000 : kNever;
    finish("loss scale", scales_loss
                             ? apply("next_scale", {scale, good, alive_}, {{"EVERY", every}})
                             : apply("kept", {scale}));
    finish("good steps", apply("next_good", {good, alive_}, {{"EVERY", every}}));
    made_.square = made_.program.outputs.size();
    made_.program.outputs.push_back(square);
    program::verify(made_.program);
    return std::move(made_);
  }

private:
  static constexpr std::int64_t kNever = 1 << 30;

  TensorId add_input(const std::string &name, const program::Shape &shape) {
    const TensorId id = made_.program.add({name, DType::F32, shape, program::Role::Input, nullptr});
    made_.program.inputs.push_back(id);
    return id;
  }
  TensorId add_state(const std::string &name, const program::Shape &shape, bool is_whole = false) {
    made_.states.push_back({name, made_.program.inputs.size(), 0, is_whole});
    return add_input(name, shape);
  }
  std::vector<State>::iterator find_state(const std::string &name) {
    return std::find_if(made_.states.begin(), made_.states.end(),
                        [&](const State &each) { return each.name == name; });
  }
  TensorId next_of(const std::string &name) {
    return made_.program.outputs.at(find_state(name)->output);
  }
  void finish(const std::string &name, TensorId next) {
    const auto state = find_state(name);
    state->output = made_.program.outputs.size();
    made_.program[next].name = "next " + name;
    made_.program.outputs.push_back(next);
  }

  // One number per row, of the parameter that lies there. Of a share of the rows an input, lest kernels
  // depend on which share it is.
  TensorId add_rows(const std::string &name, const RowRange &range,
                    const std::function<double(const PooledParameter &)> &of) {
    program::HostTensor tensor = program::make_host_tensor(name, DType::F32, {range.count});
    for (const PooledParameter &entry : pool_.entries)
      for (std::int64_t row = entry.row; row < entry.row + entry.rows; ++row)
        if (row >= range.first && row < range.first + range.count)
          program::set(tensor, row - range.first, of(entry));
    if (range.count != pool_.rows) {
      made_.rows.push_back({made_.program.inputs.size(), std::move(tensor.data)});
      return add_input(name, tensor.shape);
    }
    return made_.program.add({name, DType::F32, tensor.shape, program::Role::Constant,
                              std::make_shared<const program::Bytes>(std::move(tensor.data))});
  }

  // Statistics and what a pattern names have none, and no rate by their norm.
  bool may_decay(const Parameter &parameter) const {
    const auto matches = [&](const std::string &pattern) {
      return fnmatch(pattern.c_str(), parameter.name.c_str(), 0) == 0;
    };
    const std::vector<std::string> &without = optimizer_.no_decay;
    return !is_statistic(parameter.kind) && std::none_of(without.begin(), without.end(), matches);
  }
  double decay(const Parameter &parameter) const {
    return may_decay(parameter) ? optimizer_.decay : 0;
  }

  TensorId apply(const std::string &function, const std::vector<TensorId> &args,
                 const tile::Attributes &attributes = {}) {
    return tile::operators()
        .instantiate(function, args, attributes, made_.program, function)
        .front();
  }

  void add_sgd() {
    const TensorId momentum = add_state("momentum", rows_);
    const tile::Attributes mu{{"MU", optimizer_.momentum}};
    const bool is_lars = optimizer_.kind == "lars";
    const TensorId next =
        is_lars
            ? apply("lars_momentum",
                    {parameters_, momentum, learned_, lars_trust(), decays_, alive_, unscaling_},
                    mu)
            : apply("sgd_momentum", {parameters_, momentum, learned_, decays_, alive_, unscaling_},
                    mu);
    finish("parameters",
           optimizer_.nesterov && !is_lars
               ? apply("sgd_nesterov",
                       {parameters_, next, learned_, decays_, blends_, alive_, rate_, unscaling_},
                       mu)
               : apply("sgd", {parameters_, next, learned_, blends_, alive_, rate_}));
    finish("momentum", next);
  }

  void add_adam() {
    const TensorId first = add_state("first moment", rows_);
    const TensorId second = add_state("second moment", rows_);
    const TensorId steps = steps_made();
    const TensorId mean =
        apply("adam_first", {first, learned_, alive_, unscaling_}, {{"BETA", optimizer_.beta1}});
    const TensorId spread =
        apply("adam_second", {second, learned_, alive_, unscaling_}, {{"BETA", optimizer_.beta2}});
    const tile::Attributes attributes{
        {"BETA1", optimizer_.beta1}, {"BETA2", optimizer_.beta2}, {"EPSILON", optimizer_.epsilon}};
    finish(
        "parameters",
        optimizer_.kind == "lamb"
            ? lamb(apply("lamb_change", {parameters_, mean, spread, decays_, steps}, attributes))
            : apply("adamw",
                    {parameters_, mean, spread, learned_, decays_, blends_, alive_, rate_, steps},
                    attributes));
    finish("first moment", mean);
    finish("second moment", spread);
  }

  void add_layers() {
    const RowRange all{0, pool_.rows};
    owners_ = add_rows("owner", all, [&](const PooledParameter &each) {
      return static_cast<double>(&each - pool_.entries.data());
    });
    adapts_ = add_rows("adapts", all, [&](const PooledParameter &each) {
      return may_decay(each.parameter) ? 1.0 : 0.0;
    });
  }
  TensorId norm(TensorId rows) {
    return apply("norm_of_owner", {rows, owners_},
                 {{"COUNT", static_cast<std::int64_t>(pool_.entries.size())}});
  }
  TensorId lars_trust() {
    const TensorId weight = norm(parameters_);
    const TensorId change = apply("lars_change", {norm(learned_), weight, decays_, unscaling_});
    return apply("trust", {weight, change, adapts_}, {{"TRUST", optimizer_.trust}});
  }
  TensorId lamb(TensorId change) {
    const TensorId ratio = apply("trust", {norm(parameters_), norm(change), adapts_});
    return apply("lamb", {parameters_, change, learned_, ratio, blends_, alive_, rate_});
  }

  void add_average(double decay) {
    const TensorId average = add_state(kAverage, rows_, true);
    const TensorId parameters = next_of(kParameters);
    finish(kAverage,
           apply("average", {average, parameters, alive_, steps_made()}, {{"DECAY", decay}}));
  }

  // This one among them; skipped ones do not count.
  TensorId steps_made() {
    constexpr const char *name = "steps made";
    if (find_state(name) == made_.states.end())
      finish(name, apply("count_steps", {add_state(name, {1}), alive_}));
    return next_of(name);
  }

  const ParameterPool &pool_;
  const Recipe::Optimizer &optimizer_;
  const RowRange own_;
  UpdateProgram made_;
  program::Shape rows_;
  TensorId parameters_{}, learned_{}, rate_{}, decays_{}, blends_{}, alive_{}, unscaling_{};
  TensorId owners_{}, adapts_{}; // by row, of rates by parameter
};

} // namespace

UpdateProgram update_program(const ParameterPool &pool, const Recipe::Optimizer &optimizer,
                             double ema, bool scales_loss, const RowRange &own) {
  return UpdateBuilder(pool, optimizer, own).build(ema, scales_loss);
}

} // namespace tilefuse::train
