// SPDX-License-Identifier: Apache-2.0
#include "api/c/status.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "base/error.h"

namespace tilefuse::api::c {
namespace {

thread_local LastError noted;

tf_status status_of(ErrorCode code) {
  switch (code) {
  case ErrorCode::Syntax:
    return TF_SYNTAX;
  case ErrorCode::Type:
    return TF_TYPE;
  case ErrorCode::Shape:
    return TF_SHAPE;
  case ErrorCode::Unsupported:
    return TF_UNSUPPORTED;
  case ErrorCode::Limit:
    return TF_LIMIT;
  case ErrorCode::Device:
    return TF_DEVICE;
  case ErrorCode::Io:
    return TF_IO;
  case ErrorCode::Cancelled:
    return TF_CANCELLED;
  }
  return TF_INTERNAL;
}

tf_status note(tf_status status, std::string message, std::string where = {},
               std::string notes = {}) {
  noted = {std::move(message), std::move(where), std::move(notes)};
  return status;
}

tf_status note_error(const Error &error) {
  std::string notes;
  for (const std::string &each : error.notes())
    notes += (notes.empty() ? "" : "\n") + each;
  return note(status_of(error.code()), error.message(), error.where(), std::move(notes));
}

tf_status note_any() {
  try {
    throw;
  } catch (const Error &error) {
    return note_error(error);
  } catch (const BadArgument &argument) {
    return note(TF_ARGUMENT, argument.message);
  } catch (const std::bad_alloc &) {
    return note(TF_LIMIT, "out of memory: this needs more than the machine gives");
  } catch (const std::exception &failure) {
    return note(TF_INTERNAL, failure.what());
  } catch (...) {
    return note(TF_INTERNAL, "an exception of unknown kind");
  }
}

} // namespace

tf_status note_current_exception() noexcept {
  try {
    return note_any();
  } catch (...) { // no memory for the sentence
    noted = {};
    return TF_LIMIT;
  }
}

const LastError &last_error() noexcept { return noted; }

char *copy_text(const std::string &text) {
  auto *copy = static_cast<char *>(std::malloc(text.size() + 1));
  if (copy == nullptr)
    throw std::bad_alloc();
  std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

} // namespace tilefuse::api::c
