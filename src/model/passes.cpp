// SPDX-License-Identifier: Apache-2.0
#include "model/passes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/stopwatch.h"
#include "nest/fold/fold.h"
#include "program/drop_dead.h"
#include "program/precision/integer_products.h"
#include "program/precision/narrow_integers.h"
#include "program/rewrite/absorb_movement.h"
#include "program/rewrite/affine_gradients.h"
#include "program/rewrite/compose_maps.h"
#include "program/rewrite/join_groups.h"
#include "program/rewrite/join_sums.h"
#include "program/rewrite/mask_winners.h"
#include "program/rewrite/merge_sums.h"
#include "program/rewrite/pad_channels.h"
#include "program/rewrite/read_broadcast.h"
#include "program/rewrite/rewrite.h"
#include "program/rewrite/share_concatenations.h"
#include "program/rewrite/store_filters.h"
#include "program/rewrite/sum_winners.h"
#include "search/network/first_layer_choice.h"
#include "search/network/program_price.h"
#include "target/features.h"

namespace tilefuse::model {
namespace {

using program::Program;

Program fold_constants(Program in, const PassInput &) {
  return nest::fold_constants(std::move(in));
}
Program integer_products(Program in, const PassInput &) {
  return program::integer_products(std::move(in));
}
Program absorb_movement(Program in, const PassInput &) {
  return program::absorb_movement(std::move(in));
}
Program fold_scales(Program in, const PassInput &) { return nest::fold_scales(std::move(in)); }
Program narrow_integers(Program in, const PassInput &) {
  return program::narrow_integers(std::move(in));
}
Program share_concatenations(Program in, const PassInput &) {
  return program::share_concatenations(in);
}
Program mask_winners(Program in, const PassInput &) { return program::mask_winners(std::move(in)); }
Program drop_dead(Program in, const PassInput &) { return program::drop_dead(std::move(in)); }

Program rewrite(Program in, const PassInput &with) {
  return program::rewrite(in, with.algorithm, with.refused);
}

Program read_broadcast(Program in, const PassInput &) { return program::read_broadcast(in); }

Program compose_maps(Program in, const PassInput &) { return program::compose_maps(in); }

Program affine_gradients(Program in, const PassInput &with) {
  return search::rewritten_where_quicker(in, program::affine_gradients, *with.target, *with.kept);
}

Program join_sums(Program in, const PassInput &) { return program::join_sums(in); }

Program sum_winners(Program in, const PassInput &) { return program::sum_winners(in); }

Program merge_sums(Program in, const PassInput &with) {
  return with.target->lanes == LaneKind::WorkItem ? program::merge_sums(in) : in;
}

Program join_groups(Program in, const PassInput &with) {
  const std::int64_t row_bytes = has(*with.target, Feature::WarpgroupMatrix) ? 128 : 64;
  return program::join_groups(in, row_bytes).program;
}

Program widen_first_layers(Program in, const PassInput &with) {
  return search::lay_out_first_layers(in, *with.target, *with.kept);
}

Program store_filters(Program in, const PassInput &with) {
  return search::rewritten_where_quicker(in, program::store_filters, *with.target, *with.kept);
}

Program pad_channels(Program in, const PassInput &) { return program::pad_channels(in).program; }

constexpr std::string_view kByGradient = "--gradient asks for it";
constexpr std::string_view kByPrecision = "--precision asks for it";
constexpr std::string_view kByAlgorithm = "--algorithm asks for it";

// Every pass over programs, in order.
constexpr ProgramPass kPasses[] = {
    {kImport, PassStage::Import, "there is no program before it", nullptr},
    {kGradient, PassStage::Gradient, kByGradient, nullptr},
    {"integer_products", PassStage::Simplify, "", integer_products},
    {"fold_constants", PassStage::Simplify, "", fold_constants},
    {"absorb_movement", PassStage::Simplify, "", absorb_movement},
    {"fold_scales", PassStage::Simplify, "", fold_scales},
    {"fold_constants", PassStage::Simplify, "", fold_constants}, // scaled weights
    {"narrow_integers", PassStage::Simplify, "", narrow_integers},
    {"share_concatenations", PassStage::Simplify, "", share_concatenations},
    {"mask_winners", PassStage::Simplify, "", mask_winners},
    {"drop_dead", PassStage::Simplify, "", drop_dead},
    {kWithPrecision, PassStage::Precision, kByPrecision, nullptr},
    {"rewrite", PassStage::Rewrite, kByAlgorithm, rewrite},
    {"fold_constants", PassStage::Rewrite, "", fold_constants}, // transformed filters
    {"drop_dead", PassStage::Rewrite, "", drop_dead},
    {"read_broadcast", PassStage::Compose, "", read_broadcast},
    {"compose_maps", PassStage::Compose, "", compose_maps},
    {"affine_gradients", PassStage::Compose, "", affine_gradients},
    {"join_sums", PassStage::Compose, "", join_sums},
    {"sum_winners", PassStage::Compose, "", sum_winners},
    {"merge_sums", PassStage::Compose, "", merge_sums},
    {"join_groups", PassStage::LayOut, "", join_groups},
    {"widen_first_layers", PassStage::LayOut, "", widen_first_layers},
    {"store_filters", PassStage::LayOut, "", store_filters},
    {"pad_channels", PassStage::LayOut, "", pad_channels},
    {kChooseLayout, PassStage::Place, "tensors have no place in memory before it", nullptr},
};

const ProgramPass *find_pass(std::string_view name) {
  const auto *found = std::find_if(std::begin(kPasses), std::end(kPasses),
                                   [&](const ProgramPass &pass) { return pass.name == name; });
  return found == std::end(kPasses) ? nullptr : found;
}

// Each once, in the table's order.
std::vector<std::string_view> names_to_leave_out() {
  std::vector<std::string_view> names;
  for (const ProgramPass &pass : kPasses)
    if (pass.needed_because.empty() &&
        std::find(names.begin(), names.end(), pass.name) == names.end())
      names.push_back(pass.name);
  return names;
}

// A placed program lacks the statements that its storage stands for.
void verify_after(std::string_view name, const Program &program) {
  if (find_pass(name)->stage == PassStage::Place)
    return;
  try {
    program::verify(program);
  } catch (const Error &error) {
    std::vector<std::string> notes = error.notes();
    notes.push_back(fmt::format("the program is wrong after the pass {}", name));
    if (find_pass(name)->needed_because.empty())
      notes.push_back(fmt::format("--disable-pass {} leaves it out", name));
    throw Error(error.code(), error.message(), error.where(), std::move(notes));
  }
}

} // namespace

std::span<const ProgramPass> program_passes() { return kPasses; }

void disable_pass(PassContext &passes, const std::string &name) {
  const ProgramPass *pass = find_pass(name);
  const std::string note =
      fmt::format("these can be left out: {}", fmt::join(names_to_leave_out(), ", "));
  if (pass == nullptr)
    throw Error(ErrorCode::Unsupported, fmt::format("--disable-pass: there is no pass '{}'", name),
                {}, {note});
  if (!pass->needed_because.empty())
    throw Error(
        ErrorCode::Unsupported,
        fmt::format("--disable-pass: {} cannot be left out, {}", name, pass->needed_because), {},
        {note});
  passes.disable(name);
}

Program run_pass(std::string_view name, Program program,
                 const std::function<Program(Program)> &body, PassContext *passes) {
  TILEFUSE_CHECK(find_pass(name) != nullptr, "a pass runs that no table has");
  if (passes != nullptr && passes->is_disabled(name))
    return program;
  const bool watched = passes != nullptr && passes->is_watched();
  const std::string before = watched ? program::to_text(program) : std::string();
  const Stopwatch watch;
  Program result = body(std::move(program));
  const double seconds = watch.seconds();
  verify_after(name, result);
  if (watched)
    passes->note(name, seconds, before, program::to_text(result));
  return result;
}

Program run_stage(PassStage stage, Program program, const PassInput &input, PassContext *passes) {
  for (const ProgramPass &pass : kPasses)
    if (pass.stage == stage)
      program = run_pass(
          pass.name, std::move(program), [&](Program in) { return pass.run(std::move(in), input); },
          passes);
  return program;
}

Program simplify(Program program, PassContext *passes) {
  return run_stage(PassStage::Simplify, std::move(program), {}, passes);
}

Program lay_out_for(const Program &program, const Target &target, search::KeptChoices &kept,
                    PassContext *passes) {
  return has(target, Feature::MatrixUnits)
             ? run_stage(PassStage::LayOut, program, {.target = &target, .kept = &kept}, passes)
             : program;
}

Program prepare(const Program &program, const Target &target, const Preparation &how) {
  Program simple = how.is_simplified ? program : simplify(program, how.passes);
  if (program::is_rewrite(how.algorithm))
    simple = run_stage(PassStage::Rewrite, std::move(simple),
                       {.algorithm = how.algorithm, .refused = how.refused}, how.passes);
  search::KeptChoices none(nullptr, target);
  search::KeptChoices &kept = how.kept == nullptr ? none : *how.kept;
  if (how.composes)
    simple = run_stage(PassStage::Compose, std::move(simple), {.target = &target, .kept = &kept},
                       how.passes);
  return lay_out_for(simple, target, kept, how.passes);
}

} // namespace tilefuse::model
