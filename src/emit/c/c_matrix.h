// SPDX-License-Identifier: Apache-2.0
// Matrix instructions and asynchronous copies as statements. Error{Unsupported} where the dialect
// has none.
#pragma once

#include "emit/c/c_context.h"

namespace tilefuse::emit {

// By BufferId: register arrays that are fragments.
std::vector<bool> fragment_buffers(const kernel::Kernel &kernel);
std::string declare_words(const CContext &cx, kernel::BufferId id);
std::string load_matrix_text(CContext &cx, const kernel::LoadMatrix &node);
std::string mma_text(CContext &cx, const kernel::Mma &node);
std::string async_copy_text(CContext &cx, const kernel::AsyncCopy &node);
std::string async_commit_text(const CContext &cx);
std::string async_wait_text(const CContext &cx, const kernel::AsyncWait &node);

// The values of an accumulator: variables, or lanes of one.
std::vector<std::string> accumulator_names(const CContext &cx, const kernel::RegisterRef &ref,
                                           const Fragment &fragment);

} // namespace tilefuse::emit
