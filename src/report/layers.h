// SPDX-License-Identifier: Apache-2.0
// An explanation as a list of kernels, and how a user names one of them: by its number, or by the
// name of a node (a statement's origin) that is part of it.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "program/program.h"
#include "report/table.h"

namespace tilefuse::report {

struct ExplainedKernel {
  std::string origin;                // names of its nodes, joined by " + "
  std::function<std::string()> text; // made when it is asked for
};

using Explanation = std::vector<ExplainedKernel>;

// Origins of statements, each once, joined by " + ".
std::string join_origins(const program::Program &program,
                         const std::vector<std::size_t> &statements);

// Statements that a kernel of that origin came from: those whose own is a part of it.
std::vector<std::size_t> statements_of(const program::Program &program, const std::string &origin);

// The statements as a program of their own: what they read becomes its inputs, what is used
// elsewhere its outputs.
program::Program excerpt(const program::Program &program,
                         const std::vector<std::size_t> &statements);

std::vector<std::string> origins_of(const Explanation &explanation);

// The number of the kernel that `said` names: a number, a node's name, or a part of one that no
// other kernel has. Error{Unsupported} lists the kernels where that is none, several, or empty.
std::size_t find_kernel(std::span<const std::string> origins, const std::string &said);

// All kernels where `everything`, else the one that `said` names.
std::string text_of(const Explanation &explanation, const std::string &said, bool everything);

// The kernels' numbers and nodes.
Table kernel_list(std::span<const std::string> origins);

} // namespace tilefuse::report
