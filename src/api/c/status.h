// SPDX-License-Identifier: Apache-2.0
// The border of the C interface: no exception passes it. What went wrong becomes a status, and the
// sentence that this thread can ask for.
#pragma once

#include <exception>
#include <string>
#include <string_view>

#include "tilefuse/tilefuse.h"

namespace tilefuse::api::c {

// A call that no model or machine could satisfy: a null pointer, a handle that is none.
struct BadArgument {
  std::string message;
};

// Throws BadArgument that names what is null.
inline void need(const void *pointer, std::string_view what) {
  if (pointer == nullptr)
    throw BadArgument{std::string(what) + " is a null pointer"};
}

// Notes the exception under way for this thread; its status. For catch blocks alone.
tf_status note_current_exception() noexcept;

template <class Body> tf_status guarded(const Body &body) noexcept {
  try {
    body();
    return TF_OK;
  } catch (...) {
    return note_current_exception();
  }
}

// What was noted last on this thread.
struct LastError {
  std::string message;
  std::string where;
  std::string notes;
};
const LastError &last_error() noexcept;

// A copy that tf_free() frees.
char *copy_text(const std::string &text);

} // namespace tilefuse::api::c
