// SPDX-License-Identifier: Apache-2.0
// Passes over programs: all of them stand in one table in passes.cpp, in the one order in which
// they run, by stages.
//
//   import → gradient → simplify → precision → rewrite → compose → lay out → place
//
// What a run leaves is a verified program, until it is placed. A PassContext, where one is given,
// says which passes are left out, and is told how long each took and what it made. Passes over
// kernels: lower/pipeline.h.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/pass_context.h"
#include "program/program.h"
#include "search/network/kept_choices.h"
#include "target/target.h"

namespace tilefuse::model {

enum class PassStage {
  Import,
  Gradient,  // where --gradient asks for it
  Simplify,  // once for a program, whatever is asked for
  Precision, // of a simplified program, where --precision asks for it
  Rewrite,   // where --algorithm names a rewriting
  Compose,   // where kernels are joined at all
  LayOut,    // for CUDA devices, whose matrix units want rows of certain lengths
  Place,
};

// What passes read beside the program.
struct PassInput {
  const Target *target = nullptr;              // Compose, LayOut
  search::KeptChoices *kept = nullptr;         // Compose, LayOut
  std::string_view algorithm;                  // Rewrite
  std::vector<std::string> *refused = nullptr; // gets the statements that a rewriting does not fit
};

struct ProgramPass {
  std::string_view name;
  PassStage stage;
  std::string_view needed_because; // empty: it may be left out
  // Nothing: the caller of run_pass has the function, with arguments of its own.
  program::Program (*run)(program::Program, const PassInput &);
};

// In the order in which they run. A pass that runs in two places has two rows.
std::span<const ProgramPass> program_passes();

// Rows without a function.
inline constexpr std::string_view kImport = "import";
inline constexpr std::string_view kGradient = "gradient";
inline constexpr std::string_view kWithPrecision = "with_precision";
inline constexpr std::string_view kChooseLayout = "choose_layout";

// Switches a pass off. Error{Unsupported} for a name that no table has, and for a pass that nothing
// works without.
void disable_pass(PassContext &passes, const std::string &name);

// One pass of the table. Error{…} of the pass, and where its result does not verify, which a note
// then says.
program::Program run_pass(std::string_view name, program::Program program,
                          const std::function<program::Program(program::Program)> &body,
                          PassContext *passes = nullptr);
// All passes of a stage, in order. Each has a function.
program::Program run_stage(PassStage stage, program::Program program, const PassInput &input,
                           PassContext *passes = nullptr);

// The stage Simplify.
program::Program simplify(program::Program program, PassContext *passes = nullptr);

// The stage LayOut: groups of few channels, first layers and odd counts of channels as the target's
// matrix units want them (program/rewrite/join_groups.h, first_layer.h, pad_channels.h); the
// program itself on other devices.
// Answers are taken over from `kept`, or added.
program::Program lay_out_for(const program::Program &program, const Target &target,
                             search::KeptChoices &kept, PassContext *passes = nullptr);

struct Preparation {
  std::string algorithm;
  bool is_simplified = false;                  // precision was applied to what simplify gave
  bool composes = true;                        // false: each map is a tensor of its own
  std::vector<std::string> *refused = nullptr; // gets a line for each statement not rewritten
  PassContext *passes = nullptr;
  search::KeptChoices *kept = nullptr; // answers of searches, taken over and added where given
};

// The stages Simplify, Rewrite where `algorithm` names a rewriting (program/rewrite/rewrite.h),
// Compose and LayOut.
program::Program prepare(const program::Program &program, const Target &target,
                         const Preparation &preparation = {});

} // namespace tilefuse::model
