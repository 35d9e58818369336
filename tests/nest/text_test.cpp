// SPDX-License-Identifier: Apache-2.0
// The text of nests: exact both ways, and every malformed one is an Error.
#include <gtest/gtest.h>

#include <random>

#include "base/error.h"
#include "nest/evaluate/evaluate.h"
#include "nest/flatten/merge.h"

namespace tilefuse {
namespace {

const char *const kConv = R"(nest conv {
  index n 1, m 4, y 5, x 6 | c 3, r 3, s 3
  slot 0 f32 90, 1 f32 108, 2 f16 120, 3 f32 4
  acc f32 = sum mul
  in 0 + 0 [n:1*90, y + r - 1:5?*18, x + s - 1:6?*3, c:3*1]
  in 1 + 0 const [m:4*27, c:3*9, r:3*3, s:3*1]
  where y - 2*x + 3 < 9
  out 2 + 0 [n:1*120, y:5*24, x:6*4, m:4*1]
  extra 3 + 0 const [m:4*1]
  post f16(max(acc + $0, 0.1))
}
)";

const char *const kTerm = R"(nest sum {
  index c 3 | n 4, x 5
  slot 0 f16 60, 1 f32 3, 2 f32 3
  acc f32 = sum term
  in 0 + 0 [n:4*15, c:3*5, x:5*1]
  in 1 + 0 [c:3*1]
  term ($0 - $1) * ($0 - $1)
  out 2 + 0 [c:3*1]
  post acc
}
)";

// `in` is a name as others are.
const char *const kPick = R"(nest pick {
  index o 2, in 4 | t 3
  slot 0 f32 30, 1 f32 3, 2 i64 12, 3 f32 8
  acc f32 = sum pick
  in 0 + 0 [o:2*15, $2:5?*3, in - 1:3?*1]
  in 1 + 0 [t:3*1]
  in 2 + 0 [in:4*3, t:3*1]
  out 3 + 0 [o:2*4, in:4*1]
  post acc
}
)";

const char *const kScalar = R"(nest max {
  index | k 5
  slot 0 i8 5, 1 i32 1
  acc i32 = max
  in 0 + 4 [k:5*-1]
  out 1 + 0 []
  post select(acc == -2147483648, 0, acc)
}
)";

const char *const kMap = R"(nest map {
  index
  slot 0 bool 3, 1 f64 1
  acc f64 = assign
  out 1 + 0 []
  extra 0 + 2 []
  post select($0, 1.5:f64, inf:f64)
}
)";

std::optional<ErrorCode> parse_error(const std::string &text) {
  try {
    nest::parse_nest(text);
    return std::nullopt;
  } catch (const Error &error) {
    EXPECT_FALSE(error.message().empty());
    return error.code();
  }
}

std::string replaced(std::string text, const std::string &from, const std::string &to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(NestText, RoundTrips) {
  for (const char *text : {kConv, kTerm, kPick, kScalar, kMap}) {
    const nest::Nest nest = nest::parse_nest(text);
    EXPECT_EQ(nest::to_text(nest), text);
    EXPECT_EQ(nest::parse_nest(nest::to_text(nest)), nest);
  }
}

TEST(NestText, SaysWhatMayBeRounded) {
  const std::string rounded = replaced(kConv, "sum mul", "sum mul tf32");
  const nest::Nest nest = nest::parse_nest(rounded);
  EXPECT_TRUE(nest.tf32);
  EXPECT_EQ(nest::to_text(nest), rounded);
  EXPECT_EQ(parse_error(replaced(rounded, "sum mul", "sum add")), ErrorCode::Shape);
  EXPECT_EQ(parse_error(replaced(rounded, "acc f32", "acc f64")), ErrorCode::Shape);
}

TEST(NestText, KeepsTypesOfThePost) {
  const nest::Nest nest = nest::parse_nest(kConv);
  EXPECT_EQ(nest.post.type, DType::F16);
  EXPECT_EQ(nest.post.args.at(0).args.at(1).value, 0.1);
  EXPECT_EQ(nest.post.args.at(0).args.at(1).type, DType::F32);
}

TEST(NestText, ReadsOneOfSeveralNests) {
  const std::string two = std::string(kConv) + kScalar;
  Scanner scanner(two, "two");
  EXPECT_EQ(nest::parse_nest(scanner), nest::parse_nest(kConv));
  EXPECT_EQ(nest::parse_nest(scanner), nest::parse_nest(kScalar));
  EXPECT_TRUE(scanner.at_end());
  EXPECT_EQ(parse_error(two), ErrorCode::Syntax);
}

struct Broken {
  const char *from;
  const char *to;
  ErrorCode code;
};

TEST(NestText, RefusesBrokenInvariants) {
  const Broken cases[] = {
      {"m 4,", "m 0,", ErrorCode::Shape},
      {"m 4,", "m -1,", ErrorCode::Shape},
      {"m 4,", "y 4,", ErrorCode::Syntax},
      {"m 4,", "m 4611686018427387904,", ErrorCode::Limit},
      {"m 4,", "m 99999999999999999999,", ErrorCode::Syntax},
      {"m 4,", "m.a 4,", ErrorCode::Syntax},
      {"index n 1, m 4, y 5, x 6 |", "index n 1, m 4, y 5 | x 6,", ErrorCode::Shape},
      {"f32 90", "f32 89", ErrorCode::Shape},
      {"f32 90", "f33 90", ErrorCode::Syntax},
      {"f32 90", "f32 9223372036854775807", ErrorCode::Limit},
      {"1 f32 108", "2 f32 108", ErrorCode::Syntax},
      {"sum mul", "sum", ErrorCode::Shape},
      {"sum mul", "mean mul", ErrorCode::Syntax},
      {"in 0 + 0 [n", "in 9 + 0 [n", ErrorCode::Syntax},
      {"in 0 + 0 [n", "in 0 + 1 [n", ErrorCode::Shape},
      {"in 0 + 0 [n", "in 0 + -1 [n", ErrorCode::Shape},
      {"y + r - 1:5?", "y + r - 1:5", ErrorCode::Shape},
      {"y + r - 1:5?", "y + q - 1:5?", ErrorCode::Syntax},
      {"y + r - 1:5?", "4611686018427387904*y + r:5?", ErrorCode::Limit},
      {"c:3*1]", "c:3*4611686018427387904]", ErrorCode::Limit},
      {"< 9", "< 0", ErrorCode::Shape},
      {"< 9", "< 9223372036854775807", ErrorCode::Limit},
      {"out 2 + 0 [n:1*120, y:5*24, x:6*4, m:4*1]", "out 2 + 0 [n:1*120, y:5*24, x:6*4, 0:4*1]",
       ErrorCode::Shape},
      {"out 2 + 0 [n:1*120, y:5*24, x:6*4, m:4*1]", "out 2 + 0 [n:1*120, y:5*24, x:6*4, r:4*1]",
       ErrorCode::Shape},
      {"out 2 + 0 [n:1*120, y:5*24", "out 2 + 0 [n:1*120, y:5?*24", ErrorCode::Shape},
      {"out 2 + 0 [", "out 2 + 0 const [", ErrorCode::Shape},
      {"const [m:4*1]", "const [c:4*1]", ErrorCode::Shape},
      {"$0", "$1", ErrorCode::Syntax},
      {"max(acc", "maxi(acc", ErrorCode::Syntax},
      {"nest conv", "nest con.v", ErrorCode::Shape},
      {"nest conv", "net conv", ErrorCode::Syntax},
  };
  for (const Broken &broken : cases) {
    const std::string text = replaced(kConv, broken.from, broken.to);
    const std::optional<ErrorCode> code = parse_error(text);
    ASSERT_TRUE(code.has_value()) << text;
    EXPECT_EQ(*code, broken.code) << text;
  }
}

TEST(NestText, RefusesPicksThatSayNoSubscript) {
  const Broken cases[] = {
      {"$2:5?", "$2:5", ErrorCode::Shape},        {"$2:5?", "$1:5?", ErrorCode::Shape},
      {"$2:5?", "$3:5?", ErrorCode::Shape},       {"$2:5?", "$99999999999:5?", ErrorCode::Syntax},
      {"$2:5?", "$2.0:5?", ErrorCode::Syntax},    {"$2:5?", "0:5?", ErrorCode::Shape},
      {"$2:5?", "$2:6?", ErrorCode::Shape},       {"sum pick", "sum mul", ErrorCode::Shape},
      {"sum pick", "max pick", ErrorCode::Shape}, {"i64", "f32", ErrorCode::Shape},
      {"[t:3*1]", "[$2:3?*1]", ErrorCode::Shape}, {"[in:4*3, t", "[in:4*3, $2", ErrorCode::Shape},
      {"in - 1", "$2", ErrorCode::Shape},
  };
  for (const Broken &broken : cases) {
    const std::string text = replaced(kPick, broken.from, broken.to);
    const std::optional<ErrorCode> code = parse_error(text);
    ASSERT_TRUE(code.has_value()) << text;
    EXPECT_EQ(*code, broken.code) << text;
  }
}

TEST(NestText, RefusesAccumulatorsOfMaps) {
  EXPECT_TRUE(parse_error(replaced(kMap, "select($0, 1.5:f64, inf:f64)", "acc")));
  EXPECT_TRUE(parse_error(replaced(kMap, "assign", "sum")));
  EXPECT_TRUE(parse_error(replaced(kTerm, "term ($0 - $1) * ($0 - $1)", "term $0 - $2")));
  EXPECT_TRUE(parse_error(replaced(kTerm, "term ($0 - $1) * ($0 - $1)", "term acc")));
  EXPECT_TRUE(parse_error(replaced(kTerm, "x:5*1", "x - 1:5?*1")));
  EXPECT_TRUE(parse_error(replaced(kTerm, "acc f32", "acc i32")));
  EXPECT_TRUE(parse_error(replaced(kMap, "index\n", "index | k 3\n")));
}

TEST(NestText, RefusesEveryTruncation) {
  for (const std::string text : {kConv, kTerm, kPick, kScalar, kMap})
    for (std::size_t length = 0; length + 2 < text.size(); ++length)
      EXPECT_TRUE(parse_error(text.substr(0, length))) << text.substr(0, length);
}

TEST(NestText, RefusesDeepExpressions) {
  const std::string open(100000, '(');
  EXPECT_TRUE(parse_error(replaced(kConv, "f16(max(acc + $0, 0.1))", open + "acc")));
  std::string chain = "acc";
  for (int i = 0; i < 100000; ++i)
    chain += " + acc";
  EXPECT_TRUE(parse_error(replaced(kConv, "f16(max(acc + $0, 0.1))", chain)));
}

// Evaluates a nest that a damaged text still describes, unless it is large.
void run_if_small(const nest::Nest &nest) {
  constexpr double kSmall = 1e5;
  double size = 1;
  for (const nest::Index &index : nest.indices)
    size *= static_cast<double>(index.extent);
  for (const nest::Slot &slot : nest.slots)
    size += static_cast<double>(slot.elems);
  if (size > kSmall)
    return;
  std::vector<program::Bytes> memory;
  for (const nest::Slot &slot : nest.slots)
    memory.emplace_back(static_cast<std::size_t>(slot.elems * size_bytes(slot.type)));
  std::vector<std::span<std::byte>> slots(memory.begin(), memory.end());
  nest::evaluate(nest, slots);
  nest::evaluate(nest::merge_indices(nest), slots);
}

TEST(NestText, DamagedTextsNeverCrash) {
  const std::string alphabet = "0123456789-+*?:,[]{}|<=.$()abcmnrsxy \n\"\xff";
  const std::vector<std::string> words = {"9223372036854775807",
                                          "-9223372036854775808",
                                          "4294967296",
                                          "const",
                                          "where",
                                          "in",
                                          "|",
                                          "?",
                                          "-1",
                                          "0",
                                          "f16",
                                          "acc",
                                          "assign",
                                          "none",
                                          "slot",
                                          "inf",
                                          "nan"};
  std::mt19937 random(7);
  int parsed = 0;
  for (int i = 0; i < 6000; ++i) {
    std::string text = i % 3 == 0 ? kConv : (i % 3 == 1 ? kScalar : kMap);
    for (int edits = 1 + static_cast<int>(random() % 3); edits > 0; --edits) {
      const std::size_t at = random() % text.size();
      if (random() % 3 == 0)
        text.insert(at, words[random() % words.size()]);
      else if (random() % 2 == 0)
        text[at] = alphabet[random() % alphabet.size()];
      else
        text.erase(at, 1 + random() % 3);
    }
    try {
      const nest::Nest nest = nest::parse_nest(text);
      EXPECT_EQ(nest::to_text(nest::parse_nest(nest::to_text(nest))), nest::to_text(nest)) << text;
      run_if_small(nest);
      ++parsed;
    } catch (const Error &) {
    }
  }
  EXPECT_GT(parsed, 100);
}

} // namespace
} // namespace tilefuse
