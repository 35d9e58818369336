// SPDX-License-Identifier: Apache-2.0
// What every page has: its head with style and script, which are parts of the program, and a rule
// that lets it ask nobody for anything; sections under a heading.
#pragma once

#include <string>
#include <string_view>

#include "report/html/markup.h"

namespace tilefuse::report::html {

// <html> … <body><main>, until close_page().
void open_page(Markup &out, std::string_view title);
std::string close_page(Markup &out);

// <section> with a heading and a sentence under it, until close().
void open_section(Markup &out, std::string_view id, std::string_view heading,
                  std::string_view says);

} // namespace tilefuse::report::html
