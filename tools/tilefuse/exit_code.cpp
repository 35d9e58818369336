// SPDX-License-Identifier: Apache-2.0
#include "exit_code.h"

#include <CLI/CLI.hpp>

#include "prose.h"

namespace tilefuse::tool {
namespace {

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

std::string text_of(const Error &error) {
  const std::string &where = error.where();
  std::string text = is_place_in_text(where)
                         ? where + ": error: "
                         : "tilefuse: error: " + (where.empty() ? "" : where + ": ");
  text += error.message();
  for (const std::string &note : error.notes())
    text += "\ntilefuse: note: " + note;
  return text;
}

} // namespace

void complain(const Error &error) { tell(text_of(error)); }

ExitCode exit_code(const Error &error) {
  return error.code() == ErrorCode::Device ? kDeviceError : kUserError;
}

void end_with_wrong_kernel(const Error &error) {
  complain(error);
  throw CLI::RuntimeError(kWrongKernel);
}

} // namespace tilefuse::tool
