// SPDX-License-Identifier: Apache-2.0
#include "command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <map>

#include "base/nearest.h"
#include "help.h"
#include "verb.h"
#include "version.h"

namespace tilefuse::tool {
namespace {

constexpr const char *kUse = "Use a model";
constexpr const char *kLook = "Look inside";
constexpr const char *kTrust = "Trust it";
constexpr const char *kMore = "More";

struct VerbRow {
  void (*add)(CLI::App &);
  const char *name;
  const char *group;
};
constexpr VerbRow kVerbs[] = {{add_run, "run", kUse},
                              {add_bench, "bench", kUse},
                              {add_tune, "tune", kUse},
                              {add_quantize, "quantize", kUse},
                              {add_train, "train", kUse},
                              {add_evaluate, "evaluate", kUse},
                              {add_data, "data", kUse},
                              {add_explain, "explain", kLook},
                              {add_fusion, "fusion", kLook},
                              {add_opt, "opt", kLook},
                              {add_simulate, "simulate", kLook},
                              {add_verify, "verify", kTrust},
                              {add_doctor, "doctor", kTrust},
                              {add_devices, "devices", kTrust},
                              {add_operators, "operators", kMore},
                              {add_fmt, "fmt", kMore},
                              {add_completion, "completion", kMore},
                              {add_man, "man", kMore},
                              {add_help, "help", kMore}};

// The verb that was asked for, or the program.
const CLI::App &asked(const CLI::App &app) {
  const std::vector<CLI::App *> parsed = app.get_subcommands();
  return parsed.empty() ? app : *parsed.front();
}

std::string help_of(const CLI::App &verb) {
  return verb.get_parent() == nullptr ? "tilefuse --help"
                                      : "tilefuse " + verb.get_name() + " --help";
}

// What other verbs take an option that this one has not: "run takes --image".
std::string elsewhere(const CLI::App &app, const CLI::App &verb, const std::string &option) {
  std::string verbs;
  for (const CLI::App *other : app.get_subcommands({}))
    if (other != &verb && other->get_option_no_throw(option) != nullptr)
      verbs += (verbs.empty() ? "" : ", ") + other->get_name();
  return verbs.empty() ? "" : fmt::format("{} is an option of {}", option, verbs);
}

Error unknown_words(const CLI::App &app, const CLI::App &verb) {
  const std::vector<std::string> left = verb.remaining();
  const auto option = std::find_if(left.begin(), left.end(),
                                   [](const std::string &word) { return word.starts_with('-'); });
  std::vector<std::string> notes = {help_of(verb) + " lists the options"};
  if (option == left.end())
    return Error(ErrorCode::Syntax,
                 fmt::format("'{}' is one argument too many for {}",
                             left.empty() ? "" : left.front(), verb.get_name()),
                 {}, notes);
  const std::string name = option->substr(0, option->find('='));
  if (const std::string note = elsewhere(app, verb, name); !note.empty())
    notes.insert(notes.begin(), note);
  return Error(ErrorCode::Syntax,
               fmt::format("{} has no option {}{}", verb.get_name(), name,
                           did_you_mean(name, option_names(verb))),
               {}, notes);
}

// 100.000000 becomes 100: CLI11 prints bounds with six decimals.
std::string without_decimals(std::string text) {
  constexpr std::string_view kZeros = ".000000";
  for (std::size_t at = text.find(kZeros); at != std::string::npos; at = text.find(kZeros, at))
    text.erase(at, kZeros.size());
  return text;
}

} // namespace

std::unique_ptr<CLI::App> make_command_line() {
  auto app = std::make_unique<CLI::App>(
      "tilefuse compiles convolutional networks into kernels for your CPU, OpenCL device or NVIDIA "
      "GPU, and runs and trains them.",
      "tilefuse");
  app->footer("Examples:\n"
              "  tilefuse run model.onnx --image dog.jpg --labels synset.txt --top 5\n"
              "  tilefuse bench model.onnx\n"
              "tilefuse VERB --help lists a verb's options.");
  app->formatter(help_formatter());
  app->set_version_flag("--version", version_text, "Print version, commit and back ends");
  app->get_option("--help")->description("Print this help and exit");
  app->require_subcommand(1);
  for (const VerbRow &row : kVerbs) {
    row.add(*app);
    CLI::App *verb = app->get_subcommand(row.name);
    verb->group(row.group);
    verb->get_option("--help")->description("Print this help and exit");
    group_options(*verb);
  }
  return app;
}

std::vector<std::string> verb_names(const CLI::App &app) {
  std::vector<std::string> names;
  for (const CLI::App *verb : app.get_subcommands({}))
    names.push_back(verb->get_name());
  return names;
}

std::vector<std::string> option_names(const CLI::App &verb) {
  std::vector<std::string> names;
  for (const CLI::Option *option : verb.get_options())
    for (const std::string &name : option->get_lnames())
      names.push_back("--" + name);
  return names;
}

const CLI::App &find_verb(const CLI::App &app, const std::string &name) {
  for (const CLI::App *verb : app.get_subcommands({}))
    if (verb->get_name() == name)
      return *verb;
  throw Error(ErrorCode::Unsupported,
              fmt::format("there is no verb '{}'{}", name, did_you_mean(name, verb_names(app))), {},
              {"tilefuse --help lists the verbs"});
}

void check_verb(const CLI::App &app, int argc, const char *const *argv) {
  if (argc > 1 && argv[1][0] != '-')
    find_verb(app, argv[1]);
}

Error explained(const CLI::App &app, const CLI::ParseError &mistake) {
  const CLI::App &verb = asked(app);
  // A mistyped option may be why another one seems to be missing.
  const std::vector<std::string> left = verb.remaining();
  const bool has_unknown = std::any_of(
      left.begin(), left.end(), [](const std::string &word) { return word.starts_with('-'); });
  if (has_unknown || dynamic_cast<const CLI::ExtrasError *>(&mistake) != nullptr)
    return unknown_words(app, verb);
  return Error(ErrorCode::Syntax, without_decimals(mistake.what()), {},
               {help_of(verb) + " lists the options"});
}

} // namespace tilefuse::tool
