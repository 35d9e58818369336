// SPDX-License-Identifier: Apache-2.0
// The one exception of tilefuse. It ends a compilation or a run; it is caught in three places only:
// the C ABI, the command line's main, and the tuner's worker. Outcomes that are expected (an
// infeasible schedule, a cache miss) are values, and our own bugs abort through TILEFUSE_CHECK.
//
//   throw Error(ErrorCode::Shape, "Conv 'conv1': weight has 4 channels, input has 3");
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <vector>

namespace tilefuse {

enum class ErrorCode { Syntax, Type, Shape, Unsupported, Limit, Device, Io, Cancelled };

// Lower-case word for a code, as printed: "shape error".
std::string_view to_string(ErrorCode code);

class Error : public std::exception {
public:
  // `where` is "file:line:col" or a node's name, may be empty. Each note says what would make it
  // work.
  Error(ErrorCode code, std::string message, std::string where = {},
        std::vector<std::string> notes = {});

  ErrorCode code() const { return code_; }
  const std::string &message() const { return message_; }
  const std::string &where() const { return where_; }
  const std::vector<std::string> &notes() const { return notes_; }
  // "where: error: message" and one "note: …" line per note.
  const char *what() const noexcept override { return text_.c_str(); }

private:
  ErrorCode code_;
  std::string message_;
  std::string where_;
  std::vector<std::string> notes_;
  std::string text_;
};

// Reports a bug of ours and aborts. User input must never reach it.
[[noreturn]] void internal_error(std::string_view what, const char *file, int line);

} // namespace tilefuse

#define TILEFUSE_CHECK(condition, what)                                                            \
  ((condition) ? static_cast<void>(0) : ::tilefuse::internal_error((what), __FILE__, __LINE__))
