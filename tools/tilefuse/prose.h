// SPDX-License-Identifier: Apache-2.0
// Sentences that fit the terminal.
#pragma once

#include <string>

#include "report/document.h"

namespace tilefuse::tool {

// Columns before the text of a report's line: "device   …".
inline constexpr std::size_t kLabel = 9;

// Each line of a text broken where the terminal ends, and going on behind `indent` blanks.
std::string fitted(const std::string &text, std::size_t indent);

// Prints lines on the standard error, broken where its terminal ends; no byte of them steers it.
void tell(const std::string &text);

// A text that people read fitted, or as it is where `is_wide`, and programs as one string of the report.
void add_prose(report::Document &document, const std::string &key, const std::string &text,
               std::size_t indent, bool is_wide);

} // namespace tilefuse::tool
