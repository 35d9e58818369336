// SPDX-License-Identifier: Apache-2.0
// The command line. exit_code.h says how it ends; what is wrong with the user's input is said in
// one sentence, or at each place of a text as compilers do.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>

#include "base/error.h"
#include "command_line.h"
#include "exit_code.h"

namespace {

namespace tool = tilefuse::tool;

int parse_and_run(CLI::App &app, int argc, char **argv) {
  if (argc < 2) {
    std::fputs(app.help().c_str(), stdout);
    return tool::kDone;
  }
  tool::check_verb(app, argc, argv);
  try {
    app.parse(argc, argv);
    return tool::kDone;
  } catch (const CLI::Success &help) {
    return app.exit(help);
  } catch (const CLI::RuntimeError &ended) {
    return ended.get_exit_code();
  } catch (const CLI::ParseError &mistake) {
    throw tool::explained(app, mistake);
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

int internal_error(const char *what) {
  std::fprintf(stderr,
               "tilefuse: internal error: %s\ntilefuse: note: this is a fault of tilefuse; please "
               "report the command and its files\n",
               what);
  return tool::kInternalError;
}

} // namespace

int main(int argc, char **argv) {
  try {
    const std::unique_ptr<CLI::App> app = tool::make_command_line();
    const int code = parse_and_run(*app, argc, argv);
    check_printed();
    return code;
  } catch (const tilefuse::Error &error) {
    tool::complain(error);
    return tool::exit_code(error);
  } catch (const std::bad_alloc &) {
    tool::complain(tilefuse::Error(tilefuse::ErrorCode::Limit,
                                   "out of memory: this needs more than the machine gives"));
    return tool::kUserError;
  } catch (const std::exception &failure) {
    return internal_error(failure.what());
  } catch (...) {
    return internal_error("an exception of unknown kind");
  }
}
