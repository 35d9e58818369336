// SPDX-License-Identifier: Apache-2.0
// Storage as assign_storage gives it, but with padded rows (padded_rows.h) of row-major temporaries
// whose views can still be walked.
#pragma once

#include "program/storage/layout.h"
#include "program/storage/stored_program.h"

namespace tilefuse::program {

// Verifies as assign_storage does.
StoredProgram assign_padded_storage(const Program &program, Layout layout = Layout::Nhwc);

} // namespace tilefuse::program
