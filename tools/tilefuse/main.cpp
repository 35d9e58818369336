// SPDX-License-Identifier: Apache-2.0
// The command line. Exit code 0: done; 1: `fmt --check` found something; 2: the user's input or
// machine cannot do it, said in one sentence, or at each place of a text as compilers do; 3: a
// fault of the program's own; 4: of several workers that train another one was lost.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>

#include "base/error.h"
#include "table.h"
#include "verb.h"

namespace {

constexpr int kUserError = 2;
constexpr int kInternalError = 3;

using AddVerb = void (*)(CLI::App &);
constexpr AddVerb kVerbs[] = {
    tilefuse::tool::add_run,     tilefuse::tool::add_bench,  tilefuse::tool::add_devices,
    tilefuse::tool::add_explain, tilefuse::tool::add_opt,    tilefuse::tool::add_fmt,
    tilefuse::tool::add_verify,  tilefuse::tool::add_doctor, tilefuse::tool::add_simulate,
    tilefuse::tool::add_tune,    tilefuse::tool::add_fusion, tilefuse::tool::add_train,
    tilefuse::tool::add_evaluate};

void complain(const std::string &text) {
  std::fprintf(stderr, "%s\n", tilefuse::tool::printable(text).c_str());
}

// "file:line:column"
bool is_place_in_text(const std::string &where) {
  int numbers = 0;
  std::size_t end = where.size();
  for (; numbers < 2 && end > 0; ++numbers) {
    const std::size_t colon = where.find_last_not_of("0123456789", end - 1);
    if (colon == std::string::npos || where[colon] != ':' || colon + 1 == end)
      return false;
    end = colon;
  }
  return numbers == 2;
}

// "tilefuse: error: message", or "file:line:column: error: message" for a place in a text.
std::string text_of(const tilefuse::Error &error) {
  const std::string &where = error.where();
  std::string text = is_place_in_text(where)
                         ? where + ": error: "
                         : "tilefuse: error: " + (where.empty() ? "" : where + ": ");
  text += error.message();
  for (const std::string &note : error.notes())
    text += "\ntilefuse: note: " + note;
  return text;
}

// The parser would say that a verb is missing.
void check_verb(const CLI::App &app, int argc, char **argv) {
  const std::string verb = argc > 1 ? argv[1] : "-";
  const auto is_it = [&](const CLI::App *each) { return each->get_name() == verb; };
  if (!verb.starts_with('-') && app.get_subcommands(is_it).empty())
    throw CLI::ParseError("there is no verb '" + verb + "'", CLI::ExitCodes::ExtrasError);
}

int parse_and_run(CLI::App &app, int argc, char **argv) {
  try {
    check_verb(app, argc, argv);
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::Success &help) {
    return app.exit(help);
  } catch (const CLI::RuntimeError &ended) {
    return ended.get_exit_code();
  } catch (const CLI::ParseError &mistake) {
    complain("tilefuse: error: " + std::string(mistake.what()) +
             "\ntilefuse: note: tilefuse --help and tilefuse VERB --help say what there is");
    return kUserError;
  }
}

// Error{Io} when what was printed did not arrive, on a full disk say: whatever the verb is.
void check_printed() {
  errno = 0;
  const bool is_flushed = std::fflush(stdout) == 0;
  const int reason = errno;
  if (is_flushed && std::ferror(stdout) == 0)
    return;
  std::string text = "cannot write all of it";
  if (reason != 0)
    text += std::string(": ") + std::strerror(reason);
  throw tilefuse::Error(tilefuse::ErrorCode::Io, text, "standard output");
}

int internal_error(const std::string &what) {
  complain(
      "tilefuse: internal error: " + what +
      "\ntilefuse: note: this is a fault of tilefuse; please report the command and its files");
  return kInternalError;
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
    const int code = parse_and_run(app, argc, argv);
    check_printed();
    return code;
  } catch (const tilefuse::Error &error) {
    complain(text_of(error));
    return kUserError;
  } catch (const std::bad_alloc &) {
    complain(text_of(tilefuse::Error(tilefuse::ErrorCode::Limit,
                                     "out of memory: this needs more than the machine gives")));
    return kUserError;
  } catch (const std::exception &failure) {
    return internal_error(failure.what());
  } catch (...) {
    return internal_error("an exception of unknown kind");
  }
}
