// SPDX-License-Identifier: Apache-2.0
#include "man_page.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <vector>

#include "help.h"

namespace tilefuse::tool {
namespace {

// roff takes a backslash, a hyphen, and a dot or quote that begins a line for its own.
std::string escaped(const std::string &text) {
  std::string result;
  for (const char c : text) {
    const bool is_first = result.empty() || result.back() == '\n';
    if (is_first && (c == '.' || c == '\''))
      result += "\\&";
    if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else
      result += c;
  }
  return result;
}

std::string options_of(const CLI::App &app) {
  std::string text;
  for (const std::string &group : app.get_groups()) {
    const auto options = app.get_options([&](const CLI::Option *option) {
      return option->get_group() == group && option->nonpositional();
    });
    if (options.empty())
      continue;
    text += ".SS " + escaped(group) + "\n";
    for (const CLI::Option *option : options) {
      const std::string value = value_name(*option);
      text += fmt::format(".TP\n.B {}{}\n{}\n", escaped(option->get_name(false, true)),
                          value.empty() ? "" : " \\fI" + escaped(value) + "\\fR",
                          escaped(option->get_description()));
    }
  }
  return text;
}

std::string arguments_of(const CLI::App &verb) {
  std::string text;
  for (const CLI::Option *option : verb.get_options())
    if (option->get_positional())
      text += fmt::format(".TP\n.I {}\n{}\n", escaped(option->get_name(true, false)),
                          escaped(option->get_description()));
  return text.empty() ? "" : ".SH ARGUMENTS\n" + text;
}

std::string verbs_of(const CLI::App &app) {
  std::string text;
  for (const CLI::App *verb : app.get_subcommands({}))
    text += fmt::format(".TP\n.BR tilefuse\\-{} (1)\n{}\n", escaped(verb->get_name()),
                        escaped(verb->get_description()));
  return ".SH VERBS\n" + text;
}

// The footer as it stands, in a fixed font.
std::string examples_of(const CLI::App &app) {
  const std::string footer = app.get_footer();
  return footer.empty() ? "" : ".SH EXAMPLES\n.nf\n" + escaped(footer) + "\n.fi\n";
}

constexpr const char *kExit =
    ".SH EXIT STATUS\n"
    ".TP\n.B 0\nDone.\n"
    ".TP\n.B 1\n\\fBfmt \\-\\-check\\fR found a file that is not formatted.\n"
    ".TP\n.B 2\nThe command or its files are wrong; one sentence on the standard error says how.\n"
    ".TP\n.B 3\nA kernel computes something else than the reference.\n"
    ".TP\n.B 4\nThe device, its driver or its memory failed.\n"
    ".TP\n.B 70\nA fault of tilefuse.\n"
    ".SH ENVIRONMENT\n"
    ".TP\n.B TILEFUSE_CACHE\nFile of compiled kernels.\n"
    ".TP\n.B TILEFUSE_RECORDS\nFile of tuning records.\n"
    ".TP\n.B COLUMNS\nWidth of tables, where it is not the terminal's.\n"
    ".TP\n.B NO_COLOR\nNo colours.\n";

} // namespace

std::string man_page(const CLI::App &app) {
  const bool is_verb = app.get_parent() != nullptr;
  const std::string name = is_verb ? "tilefuse-" + app.get_name() : "tilefuse";
  std::string text =
      fmt::format(".TH {} 1 \"\" \"tilefuse {}\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n",
                  escaped(name), TILEFUSE_VERSION, escaped(name), escaped(app.get_description()));
  text += is_verb ? fmt::format(".B tilefuse {}\n[\\fIoptions\\fR]", escaped(app.get_name()))
                  : std::string(".B tilefuse\n\\fIverb\\fR [\\fIoptions\\fR]");
  for (const CLI::Option *option : app.get_options())
    if (option->get_positional())
      text += fmt::format(" \\fI{}\\fR", escaped(option->get_name(true, false)));
  text += "\n" + arguments_of(app) + ".SH OPTIONS\n" + options_of(app);
  if (!is_verb)
    text += verbs_of(app);
  return text + examples_of(app) + kExit;
}

} // namespace tilefuse::tool
