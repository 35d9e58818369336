// SPDX-License-Identifier: Apache-2.0
// An explanation as a list of kernels, and how a user names one of them: by its number, or by the
// name of a node (a statement's origin) that is part of it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "program/program.h"

namespace tilefuse::report {

struct ExplainedKernel {
  std::string origin;                // names of its nodes, joined by " + "
  std::function<std::string()> text; // made when it is asked for
};

using Explanation = std::vector<ExplainedKernel>;

// Origins of statements, each once, joined by " + ".
std::string join_origins(const program::Program &program,
                         const std::vector<std::size_t> &statements);

// The statements as a program of their own: what they read becomes its inputs, what is used
// elsewhere its outputs.
program::Program excerpt(const program::Program &program,
                         const std::vector<std::size_t> &statements);

// All kernels where `everything`, else the one that `layer` names. Error{Unsupported} lists the
// kernels where that is none, several, or `layer` is empty.
std::string text_of(const Explanation &explanation, const std::string &layer, bool everything);

} // namespace tilefuse::report
