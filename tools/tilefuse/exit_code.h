// SPDX-License-Identifier: Apache-2.0
// How the program ends.
#pragma once

#include <string>

#include "base/error.h"

namespace tilefuse::tool {

enum ExitCode : int {
  kDone = 0,
  kNotFormatted = 1, // `fmt --check` found something
  kUserError = 2,    // the user's input cannot be done, said in one sentence
  kWrongKernel = 3,  // a kernel computes something else than the reference, or breaks a rule
  kDeviceError = 4,  // the device, its driver or its memory
  kInternalError = 70,
};

// On stderr: "tilefuse: error: message" and its notes, or "file:line:column: error: message" for a
// place in a text.
void complain(const Error &error);
// The code of an error that ends the program.
ExitCode exit_code(const Error &error);

// Complains, and ends the verb with kWrongKernel.
[[noreturn]] void end_with_wrong_kernel(const Error &error);

} // namespace tilefuse::tool
