// SPDX-License-Identifier: Apache-2.0
// Damaged texts: whatever is cut or flipped, adding a text either works or throws Error{Syntax},
// and a program from it either verifies or throws an Error.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/error.h"
#include "paths.h"
#include "tile/functions.h"
#include "tile/instantiate.h"
#include "tile/tile.h"

namespace tilefuse::tile {
namespace {

constexpr int kRounds = 20; // texts per case

std::vector<std::string> library_texts() {
  std::vector<std::string> texts;
  for (const auto &entry : std::filesystem::directory_iterator(TILEFUSE_SOURCE_DIR "/ops")) {
    std::ifstream in(entry.path(), std::ios::binary);
    texts.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  std::sort(texts.begin(), texts.end());
  return texts;
}

// Applies every function to tensors of 4 in each dimension and attributes of `value`.
void instantiate_all(const FunctionTable &table, std::int64_t value) {
  for (const auto &[name, function] : table) {
    program::Program program;
    Attributes attributes;
    for (const AttributeDeclaration &attribute : function.attributes)
      attributes[attribute.name] = value;
    for (const Parameter &parameter : function.parameters)
      program.inputs.push_back(
          program.add({.name = parameter.name,
                       .shape = program::Shape(parameter.dims ? parameter.dims->size() : 2, 4),
                       .role = program::Role::Input}));
    try {
      program.outputs = instantiate(table, name, program.inputs, attributes, {program, ""});
      program::verify(program);
    } catch (const Error &error) {
      RC_ASSERT(error.code() != ErrorCode::Syntax);
    }
  }
}

void try_text(const std::string &text, std::int64_t value) {
  FunctionTable table;
  try {
    add_functions(table, text, "fuzz.tile");
  } catch (const Error &error) {
    RC_ASSERT(error.code() == ErrorCode::Syntax);
    RC_ASSERT(error.message().find('\n') != std::string::npos);
    return;
  }
  instantiate_all(table, value);
}

std::int64_t attribute_value() {
  return *rc::gen::element<std::int64_t>(-1, 0, 1, 2, 3, 4, 7, 1000, std::int64_t{1} << 31,
                                         INT64_MAX, INT64_MIN);
}

TEST(TileFuzz, WholeLibraryWithAnyAttributes) {
  for (const std::string &text : library_texts())
    for (const std::int64_t value :
         {std::int64_t{-1}, std::int64_t{0}, std::int64_t{1}, std::int64_t{2}, std::int64_t{4},
          std::int64_t{1} << 31, INT64_MAX, INT64_MIN})
      try_text(text, value);
}

TEST(TileFuzz, Truncations) {
  const std::vector<std::string> texts = library_texts();
  EXPECT_TRUE(rc::check("a truncated text", [&] {
    for (int round = 0; round < kRounds; ++round) {
      const std::string text = *rc::gen::elementOf(texts);
      try_text(text.substr(0, *rc::gen::inRange<std::size_t>(0, text.size())), attribute_value());
    }
  }));
}

TEST(TileFuzz, FlippedBytes) {
  const std::vector<std::string> texts = library_texts();
  EXPECT_TRUE(rc::check("a text with flipped bytes", [&] {
    for (int round = 0; round < kRounds; ++round) {
      std::string text = *rc::gen::elementOf(texts);
      for (int flips = *rc::gen::inRange(1, 6); flips > 0; --flips)
        text[*rc::gen::inRange<std::size_t>(0, text.size())] = *rc::gen::arbitrary<char>();
      try_text(text, attribute_value());
    }
  }));
}

TEST(TileFuzz, ShuffledTokens) {
  const std::vector<std::string> tokens = {"function ", "f",       "g",
                                           "(",         ")",       "X",
                                           "Y",         "[",       "]",
                                           "N",         "n",       ":",
                                           ";",         ",",       "->",
                                           "{",         "}",       "=",
                                           "+",         "*",       ">",
                                           "<",         "-",       "/",
                                           "?",         "1",       "0.5",
                                           "default ",  "max",     "reshape",
                                           "fill",      "permute", "9223372036854775807",
                                           "==",        "//",      "\n",
                                           "\"",        "%a",      "$1",
                                           "x.y"};
  const auto any = rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(tokens));
  EXPECT_TRUE(rc::check("random tokens in a function", [&] {
    for (int round = 0; round < kRounds; ++round) {
      std::string text = "function f(X[N, C]) -> (Y) { Y";
      for (const std::string &token : *any)
        text += token;
      try_text(*rc::gen::element(text, text + ";}", text + "; Y = X; }"), attribute_value());
    }
  }));
}

// Letters exchanged for other letters of the text keep it close to the language, so that many texts
// get past the parser.
TEST(TileFuzz, SwappedLetters) {
  const std::vector<std::string> texts = library_texts();
  EXPECT_TRUE(rc::check("a text with letters exchanged", [&] {
    for (int round = 0; round < kRounds; ++round) {
      std::string text = *rc::gen::elementOf(texts);
      char &one = text[*rc::gen::inRange<std::size_t>(0, text.size())];
      const char other = text[*rc::gen::inRange<std::size_t>(0, text.size())];
      one = other;
      try_text(text, attribute_value());
    }
  }));
}

} // namespace
} // namespace tilefuse::tile
