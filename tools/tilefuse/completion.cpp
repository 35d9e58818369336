// SPDX-License-Identifier: Apache-2.0
#include "completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <vector>

#include "command_line.h"
#include "help.h"

namespace tilefuse::tool {
namespace {

// The values that an option takes, where they are listed.
std::vector<std::string> values_of(const CLI::Option &option) {
  const std::string type = option.get_type_name();
  const std::size_t begin = type.find('{');
  const std::size_t end = type.find('}', begin);
  std::vector<std::string> values;
  if (begin == std::string::npos || end == std::string::npos)
    return values;
  for (std::size_t at = begin + 1; at < end;) {
    const std::size_t next = std::min(type.find(',', at), end);
    values.push_back(type.substr(at, next - at));
    at = next + 1;
  }
  return values;
}

std::vector<const CLI::Option *> named_options(const CLI::App &verb) {
  return verb.get_options([](const CLI::Option *option) { return option->nonpositional(); });
}

// In single quotes of a shell.
std::string shell_quoted(const std::string &text) {
  std::string result = "'";
  for (const char c : text)
    result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

std::string bash(const CLI::App &app) {
  std::string options, values;
  for (const CLI::App *verb : app.get_subcommands({})) {
    options += fmt::format("    {}) options={} ;;\n", verb->get_name(),
                           shell_quoted(fmt::format("{}", fmt::join(option_names(*verb), " "))));
    for (const CLI::Option *option : named_options(*verb))
      if (const auto listed = values_of(*option); !listed.empty())
        values += fmt::format("    {}:{}) words={} ;;\n", verb->get_name(),
                              option->get_name(false, false),
                              shell_quoted(fmt::format("{}", fmt::join(listed, " "))));
  }
  return fmt::format(R"(# bash completion for tilefuse: source <(tilefuse completion bash)
_tilefuse() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} verb=${{COMP_WORDS[1]}} options= words=
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W {} -- "$word"))
    return
  fi
  case "$verb:$before" in
{}  esac
  case "$verb" in
{}  esac
  if [ -n "$words" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$word"))
  elif [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
  else
    COMPREPLY=($(compgen -f -- "$word"))
  fi
}}
complete -o filenames -F _tilefuse tilefuse
)",
                     shell_quoted(fmt::format("{}", fmt::join(verb_names(app), " "))), values,
                     options);
}

// The text of an option in zsh's `_arguments`, where ':' and brackets have a meaning.
std::string zsh_text(std::string text) {
  for (char &c : text)
    if (c == ':' || c == '[' || c == ']')
      c = ' ';
  return text;
}

std::string zsh(const CLI::App &app) {
  std::string verbs, cases;
  for (const CLI::App *verb : app.get_subcommands({})) {
    verbs += fmt::format("    {}\n",
                         shell_quoted(verb->get_name() + ":" + zsh_text(verb->get_description())));
    cases += fmt::format("    {}) _arguments", verb->get_name());
    for (const CLI::Option *option : named_options(*verb))
      for (const std::string &name : option->get_lnames()) {
        std::string row = fmt::format("*--{}[{}]", name, zsh_text(option->get_description()));
        const auto listed = values_of(*option);
        if (!listed.empty())
          row += fmt::format(":value:({})", fmt::join(listed, " "));
        else if (option->get_type_size() != 0)
          row += ":value:_files";
        cases += " \\\n      " + shell_quoted(row);
      }
    cases += " \\\n      '*:file:_files' ;;\n";
  }
  return fmt::format(R"(#compdef tilefuse
# zsh completion for tilefuse: tilefuse completion zsh > DIR/_tilefuse, with DIR in $fpath
_tilefuse() {{
  local -a verbs
  verbs=(
{}  )
  if (( CURRENT == 2 )); then
    _describe verb verbs
    return
  fi
  local verb=$words[2]
  shift words
  (( CURRENT-- ))
  case $verb in
{}  esac
}}
_tilefuse "$@"
)",
                     verbs, cases);
}

// In single quotes of fish, which has another escape.
std::string fish_quoted(const std::string &text) {
  std::string result = "'";
  for (const char c : text)
    result += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return result + "'";
}

std::string fish(const CLI::App &app) {
  std::string text = "# fish completion for tilefuse: tilefuse completion fish | source\n";
  for (const CLI::App *verb : app.get_subcommands({}))
    text += fmt::format("complete -c tilefuse -n __fish_use_subcommand -f -a {} -d {}\n",
                        verb->get_name(), fish_quoted(verb->get_description()));
  for (const CLI::App *verb : app.get_subcommands({}))
    for (const CLI::Option *option : named_options(*verb))
      for (const std::string &name : option->get_lnames()) {
        text += fmt::format("complete -c tilefuse -n '__fish_seen_subcommand_from {}' -l {} -d {}",
                            verb->get_name(), name, fish_quoted(option->get_description()));
        const auto listed = values_of(*option);
        if (!listed.empty())
          text += fmt::format(" -x -a {}", fish_quoted(fmt::format("{}", fmt::join(listed, " "))));
        else if (option->get_type_size() != 0)
          text += " -r";
        text += "\n";
      }
  return text;
}

} // namespace

std::string completion(const CLI::App &app, const std::string &shell) {
  if (shell == "bash")
    return bash(app);
  return shell == "zsh" ? zsh(app) : fish(app);
}

} // namespace tilefuse::tool
