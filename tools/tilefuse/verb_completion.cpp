// SPDX-License-Identifier: Apache-2.0
// `tilefuse completion`: the script with which a shell completes the command line.
#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>

#include "completion.h"
#include "verb.h"

namespace tilefuse::tool {

void add_completion(CLI::App &app) {
  auto shell = std::make_shared<std::string>();
  CLI::App *verb = app.add_subcommand("completion", "Print the script that completes for a shell");
  verb->footer("Examples:\n"
               "  source <(tilefuse completion bash)\n"
               "  tilefuse completion zsh > ~/.zfunc/_tilefuse\n"
               "  tilefuse completion fish > ~/.config/fish/completions/tilefuse.fish");
  verb->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  verb->callback([&app, shell] { std::fputs(completion(app, *shell).c_str(), stdout); });
}

} // namespace tilefuse::tool
