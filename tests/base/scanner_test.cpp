// SPDX-License-Identifier: Apache-2.0
#include "base/scanner.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"

namespace tilefuse {
namespace {

std::vector<std::string> words(std::string_view text) {
  Scanner in(text, "t");
  std::vector<std::string> list;
  while (!in.at_end())
    list.emplace_back(in.next().text);
  return list;
}

std::string message(std::string_view text, auto read) {
  try {
    Scanner in(text, "t");
    read(in);
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

using Words = std::vector<std::string>;

TEST(Scanner, SplitsPunctuation) {
  EXPECT_EQ(words("a->b..c<=d>=e==f!=g<<h>>i&&j||k"),
            (Words{"a",  "->", "b",  "..", "c",  "<=", "d",  ">=", "e",  "==", "f",
                   "!=", "g",  "<<", "h",  ">>", "i",  "&&", "j",  "||", "k"}));
  EXPECT_EQ(words("<(-)&|"), (Words{"<", "(", "-", ")", "&", "|"}));
}

TEST(Scanner, NumbersStopBeforeARange) {
  Scanner in("0..12 0.5 1e-5 3.e 2e 7.5e+3", "t");
  const auto expect = [&](TokenKind kind, std::string_view text) {
    const Token token = in.next();
    EXPECT_EQ(token.kind, kind) << text;
    EXPECT_EQ(token.text, text);
  };
  expect(TokenKind::Integer, "0");
  expect(TokenKind::Punct, "..");
  expect(TokenKind::Integer, "12");
  expect(TokenKind::Float, "0.5");
  expect(TokenKind::Float, "1e-5");
  expect(TokenKind::Integer, "3");
  expect(TokenKind::Punct, ".");
  expect(TokenKind::Name, "e");
  expect(TokenKind::Integer, "2");
  expect(TokenKind::Name, "e");
  expect(TokenKind::Float, "7.5e+3");
  EXPECT_TRUE(in.at_end());
}

TEST(Scanner, Names) {
  EXPECT_EQ(words("a.b _x9 %1a %t $12 n..8 $ % x."),
            (Words{"a.b", "_x9", "%1a", "%t", "$12", "n", "..", "8", "$", "%", "x", "."}));
  Scanner in("%1a", "t");
  EXPECT_EQ(in.peek().kind, TokenKind::Name);
}

TEST(Scanner, CommentsAndPositions) {
  Scanner in("a // b\n  c\n\xC3\xA9 d", "f.tile");
  EXPECT_EQ(in.next().text, "a");
  EXPECT_EQ(in.where(in.peek()), "f.tile:2:3");
  in.next();
  EXPECT_EQ(in.next().text, "\xC3\xA9");
  EXPECT_EQ(in.where(in.peek()), "f.tile:3:3");
}

TEST(Scanner, Integers) {
  Scanner in("-9223372036854775808 9223372036854775807 -3", "t");
  EXPECT_EQ(in.expect_integer("x"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(in.expect_integer("x"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(in.expect_integer("x"), -3);
  EXPECT_EQ(message("9223372036854775808", [](Scanner &s) { s.expect_integer("a size"); }),
            "t:1:1: error: expected a size that fits in 64 bits, got '9223372036854775808'");
  EXPECT_EQ(message("", [](Scanner &s) { s.expect_integer("a size"); }),
            "t:1:1: error: expected a size, got the end of the text");
}

TEST(Scanner, Numbers) {
  Scanner in("1 -0.5 inf -inf nan 1e300", "t");
  EXPECT_EQ(in.expect_number("x"), 1);
  EXPECT_EQ(in.expect_number("x"), -0.5);
  EXPECT_EQ(in.expect_number("x"), std::numeric_limits<double>::infinity());
  EXPECT_EQ(in.expect_number("x"), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(in.expect_number("x")));
  EXPECT_EQ(in.expect_number("x"), 1e300);
  EXPECT_EQ(message("1e999", [](Scanner &s) { s.expect_number("x"); }),
            "t:1:1: error: expected x in range, got '1e999'");
}

TEST(Scanner, StringsComeBackAsQuoted) {
  std::string every;
  for (int byte = 0; byte < 256; ++byte)
    every += static_cast<char>(byte);
  const std::string text = tilefuse::quoted(every) + tilefuse::quoted("");
  Scanner in(text, "t");
  EXPECT_EQ(in.expect_string("x"), every);
  EXPECT_EQ(in.expect_string("x"), "");
  EXPECT_EQ(text.find('\n'), std::string::npos);
}

TEST(Scanner, MalformedStrings) {
  const auto read = [](Scanner &in) { in.expect_string("a string"); };
  for (const char *text :
       {"\"abc", "\"abc\\\"", "\"a\nb\"", "\"\\q\"", "\"\\x1\"", "\"\\xg0\"", "\"", "\"\\"}) {
    EXPECT_NE(message(text, read), "no error") << text;
  }
  EXPECT_EQ(message("abc", read), "t:1:1: error: expected a string, got 'abc'");
}

TEST(Scanner, ExpectNamesWhatItGot) {
  EXPECT_EQ(message("a b", [](Scanner &in) { in.next(), in.expect("("); }),
            "t:1:3: error: expected '(', got 'b'");
  EXPECT_EQ(message("\"(\"", [](Scanner &in) { in.expect("("); }),
            "t:1:1: error: expected '(', got '('");
}

// Texts lie at the end of their allocation, so that the address sanitizer sees a read past them.
TEST(Scanner, ArbitraryBytesEndInTokensOrAnError) {
  std::mt19937 random(7);
  const std::string_view alphabet = "ab%$_.09eE+-\"\\x\n/<>=!&| \xC3\xA9\xFF";
  for (int round = 0; round < 20000; ++round) {
    const std::size_t size = random() % 12;
    const auto text = std::make_unique<char[]>(size);
    for (std::size_t i = 0; i < size; ++i)
      text[i] = alphabet[random() % alphabet.size()];
    try {
      Scanner in(std::string_view(text.get(), size), "t");
      std::size_t tokens = 0;
      while (!in.at_end()) {
        if (in.peek().kind == TokenKind::String)
          in.expect_string("x");
        else
          in.next();
        ASSERT_LE(++tokens, size);
      }
    } catch (const Error &error) {
      EXPECT_EQ(error.code(), ErrorCode::Syntax);
    }
  }
}

} // namespace
} // namespace tilefuse
