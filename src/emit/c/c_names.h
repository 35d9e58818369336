// SPDX-License-Identifier: Apache-2.0
// Names, literals and their parentheses in C.
#pragma once

#include "emit/c/c_context.h"

namespace tilefuse::emit {

// C type of a value, and the name of a type inside helpers' names ("f32x8").
std::string value_type(const CContext &cx, const kernel::Type &type);
std::string type_tag(const kernel::Type &type);

// A number as a value of the type, in every lane.
std::string literal(const CContext &cx, const kernel::Type &type, double value);
// One lane of a load that is not there: a scalar, and a vector's truth is -1.
std::string fill_literal(const CContext &cx, const kernel::Type &type, double fill);
std::string integer_literal(const CContext &cx, std::int64_t value);
std::string buffer_name(const CContext &cx, kernel::BufferId id);
std::string register_name(const CContext &cx, kernel::BufferId id, std::int64_t index);
std::string variable_name(kernel::VarId id);

// "__global const float*".
std::string pointer_type(const CContext &cx, const kernel::Buffer &buffer);

// An expression without the parentheses around it.
std::string bare(std::string text);
// "base + index" of a bare index.
std::string offset(const std::string &base, const std::string &index);

} // namespace tilefuse::emit
