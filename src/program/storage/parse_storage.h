// SPDX-License-Identifier: Apache-2.0
// A stored program back from its text (storage.h).
#pragma once

#include <string>
#include <string_view>

#include "program/storage/stored_program.h"

namespace tilefuse::program {

// Without the data of constants, but with their hashes. Error{Syntax}, and what verify throws.
StoredProgram parse_stored_program(std::string_view text,
                                   const std::string &file = "<stored program>");

} // namespace tilefuse::program
