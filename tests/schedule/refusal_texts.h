// SPDX-License-Identifier: Apache-2.0
// The refusals that the sources of a folder can say, as they stand there: string literals of
// several words, neighbours joined, placeholders and all. A test that has seen a message for each
// knows that no rule went untested.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilefuse::testing {

struct SourceText {
  std::string file; // its name alone
  int line = 0;
  std::string text;   // "a ring of {} buffers; it needs 2 to {}"
  bool names = false; // first in braces, with something else than a text behind it
};

// Literals of C++ text in order, adjacent ones as one; those of #include lines are left out.
std::vector<SourceText> literals(std::string_view source, const std::string &file);
// At least two words, or one beside a placeholder.
bool is_sentence(std::string_view text);
// Sentences of all .cpp files under a folder.
std::vector<SourceText> sentences(const std::string &folder);

// Names of the numbers that are refused outside their range (base/range.h), as they stand in all
// .cpp files under a folder that ask: first in braces, before the number.
std::vector<SourceText> range_names(const std::string &folder);

// Whether the message holds the text, with anything for each {}.
bool holds(std::string_view message, std::string_view text);

} // namespace tilefuse::testing
