// SPDX-License-Identifier: Apache-2.0
// The command line. Exit code 0: done; 2: the user's input or machine cannot do it, said in one
// sentence; 3: anything else.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "base/error.h"
#include "table.h"
#include "verbs.h"

namespace {

constexpr int kUserError = 2;
constexpr int kOtherError = 3;

using AddVerb = void (*)(CLI::App &);
constexpr AddVerb kVerbs[] = {tilefuse::tool::add_run, tilefuse::tool::add_bench,
                              tilefuse::tool::add_devices, tilefuse::tool::add_opt};

void complain(const std::string &text) {
  std::fprintf(stderr, "tilefuse: error: %s\n", tilefuse::tool::printable(text).c_str());
}

std::string text_of(const tilefuse::Error &error) {
  std::string text =
      error.where().empty() ? error.message() : error.where() + ": " + error.message();
  for (const std::string &note : error.notes())
    text += "\ntilefuse: note: " + note;
  return text;
}

int parse_and_run(CLI::App &app, int argc, char **argv) {
  try {
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::Success &help) {
    return app.exit(help);
  } catch (const CLI::ParseError &mistake) {
    complain(std::string(mistake.what()) +
             "\ntilefuse: note: tilefuse --help and tilefuse VERB --help say what there is");
    return kUserError;
  }
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app("tilefuse compiles convolutional networks into kernels for this machine's devices "
               "and runs them.",
               "tilefuse");
  app.footer("Example:\n  tilefuse run model.onnx --image dog.jpg --labels synset.txt --top 5");
  app.set_version_flag("--version", TILEFUSE_VERSION);
  app.require_subcommand(1);
  try {
    for (AddVerb add : kVerbs)
      add(app);
    return parse_and_run(app, argc, argv);
  } catch (const tilefuse::Error &error) {
    complain(text_of(error));
    return kUserError;
  } catch (const std::exception &failure) {
    complain(failure.what());
    return kOtherError;
  }
}
