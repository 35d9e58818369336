// SPDX-License-Identifier: Apache-2.0
#include "help.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "report/table.h"
#include "report/text_width.h"
#include "terminal.h"

namespace tilefuse::tool {
namespace {

constexpr std::size_t kNames = 28;     // columns of names
constexpr std::size_t kWidest = 100;   // a line that is longer is hard to read
constexpr std::size_t kMostWords = 24; // of listed values; more are for the message of a wrong one

// Groups in the order in which they are printed.
struct Group {
  std::string_view name;
  std::vector<std::string_view> options;
};
const std::vector<Group> &groups() {
  static const std::vector<Group> kGroups = {
      {"Input",
       {"--image", "--input", "--calibrate", "--percentile", "--entropy", "--keep-f32", "--data",
        "--test", "--side"}},
      {"Pictures",
       {"--preprocess", "--preset", "--size", "--pad", "--resize-shorter", "--crop", "--order",
        "--scale", "--mean", "--std", "--layout"}},
      {"Sizes", {"--batch", "--dim", "--shape", "--value"}},
      {"Tile functions", {"--function", "--tensor", "--attr"}},
      {"Results",
       {"--output", "--labels", "--top", "--verbose", "--repeat", "--sort", "--sensitivity"}},
      {"Report", {"--json", "--wide", "--csv", "--html", "--profile", "--section", "--candidates"}},
      {"Device", {"--device", "--target", "--threads", "--streams"}},
      {"Compiler",
       {"--precision", "--fuse", "--fuse-quota", "--algorithm", "--schedule", "--split",
        "--activations", "--gradient", "--cost", "--walk"}},
      {"Cache", {"--cache", "--no-cache", "--records", "--no-records"}},
      {"Inspection", {"--dump", "--time-passes", "--disable-pass"}}};
  return kGroups;
}

std::string indented(const std::string &text, std::size_t width) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    result += report::wrap(line, width, indent == 0 ? 0 : indent + 4) + "\n";
    at = end + 1;
  }
  return result;
}

std::string row(const std::string &names, const std::string &text, std::size_t width) {
  std::string line = "  " + names;
  if (text.empty())
    return line + "\n";
  if (const std::size_t taken = report::width_of(line); taken + 2 > kNames)
    line += "\n" + std::string(kNames, ' ');
  else
    line += std::string(kNames - taken, ' ');
  const std::size_t begin = line.rfind('\n');
  const std::string head = begin == std::string::npos ? "" : line.substr(0, begin + 1);
  const std::string last = begin == std::string::npos ? line : line.substr(begin + 1);
  return head + report::wrap(last + text, width, kNames) + "\n";
}

class Formatter : public CLI::Formatter {
public:
  std::string make_option(const CLI::Option *option, bool is_positional) const override {
    std::string names =
        is_positional ? option->get_name(true, false) : option->get_name(false, true);
    // A flag that may have a value is "--gradient{*}" to the parser.
    if (const std::size_t brace = names.find('{'); brace != std::string::npos)
      names.replace(brace, names.find('}') + 1 - brace, "[=NAMES]");
    const std::string value = value_name(*option);
    if (!is_positional && !value.empty())
      names += " " + value;
    return row(names, option->get_description(), width());
  }
  std::string make_subcommand(const CLI::App *verb) const override {
    return row(verb->get_name(), verb->get_description(), width());
  }
  std::string make_group(std::string group, bool is_positional,
                         std::vector<const CLI::Option *> options) const override {
    std::string text = "\n" + (is_positional ? "Arguments" : group) + ":\n";
    for (const CLI::Option *option : options)
      text += make_option(option, is_positional);
    return text;
  }
  std::string make_description(const CLI::App *app) const override {
    return indented(app->get_description(), width());
  }
  std::string make_usage(const CLI::App *app, std::string) const override {
    std::string usage = app->get_parent() == nullptr ? "tilefuse VERB [OPTIONS]"
                                                     : "tilefuse " + app->get_name() + " [OPTIONS]";
    for (const CLI::Option *option : app->get_options())
      if (option->get_positional()) {
        const std::string name = option->get_name(true, false);
        usage += option->get_required() ? " " + name : " [" + name + "]";
      }
    return "\nUsage: " + usage + "\n";
  }
  std::string make_footer(const CLI::App *app) const override {
    return indented(app->get_footer(), width());
  }
  std::string make_help(const CLI::App *app, std::string name,
                        CLI::AppFormatMode mode) const override {
    std::string text = make_description(app) + make_usage(app, name) + make_positionals(app);
    std::vector<std::string> in_order;
    for (const Group &group : groups())
      in_order.emplace_back(group.name);
    for (const std::string &group : app->get_groups())
      if (std::find(in_order.begin(), in_order.end(), group) == in_order.end())
        in_order.insert(in_order.begin() + (group == "Options" ? 0 : 1), group);
    for (const std::string &group : in_order) {
      const auto options = app->get_options([&](const CLI::Option *option) {
        return option->get_group() == group && option->nonpositional();
      });
      if (!options.empty())
        text += make_group(group, false, options);
    }
    return text + make_subcommands(app, mode) + "\n" + make_footer(app);
  }

private:
  static std::size_t width() {
    const std::size_t given = output_width();
    return given == 0 ? kWidest : std::min(given, kWidest);
  }
};

} // namespace

std::shared_ptr<CLI::FormatterBase> help_formatter() { return std::make_shared<Formatter>(); }

void group_options(CLI::App &verb) {
  for (const Group &group : groups())
    for (const std::string_view name : group.options)
      if (CLI::Option *option = verb.get_option_no_throw(std::string(name)))
        option->group(std::string(group.name));
}

std::string value_name(const CLI::Option &option) {
  if (option.get_type_size() == 0)
    return "";
  const std::string type = option.get_type_name(); // "N:INT in [1 - 8]", "TEXT:{a,b}"
  const std::size_t colon = type.find(':');
  std::string name = type.substr(0, colon);
  if (colon != std::string::npos && type[colon + 1] == '{') {
    std::string words = type.substr(colon + 2, type.find('}') - colon - 2);
    std::replace(words.begin(), words.end(), ',', '|');
    if (words.size() <= kMostWords)
      name = words;
  }
  if (name == "TEXT")
    name = "WORD";
  if (name == "INT" || name == "UINT" || name == "FLOAT")
    name = "N";
  if (option.get_expected_max() >= CLI::detail::expected_max_vector_size &&
      !option.get_allow_extra_args())
    return name;
  return option.get_expected_max() > 1 ? name + "…" : name;
}

} // namespace tilefuse::tool
