// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/error.h"
#include "program/program.h"
#include "program/reference.h"

namespace tilefuse::program {
namespace {

const std::string kDemo = R"(program "demo" tf32 {
  input %0 "x" : f32[1, 3, 8, 8]
  const %1 "w" : f32[4, 3, 3, 3] hash "00ff"
  const %9 "fill" : f32[1, 4, 8, 8]
  %2 "conv" : f32[1, 4, 8, 8] = sum[n, m, y, x, c, r, s](%0[n, c, 2*y + r - 1, -x + 1/2*s - 3/4] * %1[m, c, r, s]) -> [n, m, y, x] where 0 <= r - s < 3, 0 <= -y + 7 < 8 init %9 from "Conv_0"
  %3 "relu" : f32[1, 4, 8, 8] = map[%2, %9](select($0 > 0, $0 * ($1 + 2), exp($1) - (1 - $0)))
  %4 "flat" : f32[4, 64] = view(%3) from "Flatten"
  %5 "top" : f32[] = max[i, j](%4[i, j] + %4[i, 0]) -> []
  %6 "zero" : f16[] = map[](0:f16)
  %7 "same" : i32[4] = sum[i, j](%4[i, j] == %4[i, 0]) -> [i]
  %8 "where" : f32[4] = max[i, j](%4[i, j] == %4[i, 0] ? %4[i, j]) -> [i]
  output %5
  output %4
}
)";

TEST(ProgramText, RoundTripsExactly) {
  const Program program = parse_program(kDemo);
  EXPECT_EQ(to_text(program), kDemo);
  EXPECT_EQ(to_text(parse_program(to_text(program))), kDemo);
  EXPECT_NO_THROW(verify(program));
}

TEST(ProgramText, PrintsAHashOfTheDataAndKeepsIt) {
  const Program program = testing::program_of(kDemo);
  const std::string text = to_text(program);
  EXPECT_NE(text.find("%9 \"fill\" : f32[1, 4, 8, 8] hash \""), std::string::npos);
  EXPECT_EQ(text.find("00ff"), std::string::npos) << "the data counts, not the hash of the text";
  const Program again = parse_program(text);
  EXPECT_EQ(to_text(again), text);
  EXPECT_EQ(again[TensorId{1}].data, nullptr);
}

TEST(ProgramText, HostileNamesSurvive) {
  const std::vector<std::string> names = {
      "a\"b",         "new\nline",   "}",          "\\", std::string("nul\0x", 5),
      "\xff\x01\x80", "%0 : f32[1]", "// comment", "",   "ünïcode ✓",
      "\r\t"};
  Program program;
  program.name = names[0] + names[1];
  for (const std::string &name : names)
    program.inputs.push_back(program.add({.name = name, .shape = {2}, .role = Role::Input}));
  const TensorId out = program.add({.name = names[2], .shape = {2}});
  program.statements.push_back({out, View{program.inputs[0]}, names[4] + names[5]});
  program.outputs.push_back(out);
  const std::string text = to_text(program);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'),
            static_cast<std::ptrdiff_t>(names.size()) + 4);
  const Program again = parse_program(text);
  EXPECT_EQ(to_text(again), text);
  EXPECT_EQ(again.name, program.name);
  EXPECT_EQ(again.statements[0].origin, program.statements[0].origin);
  for (std::size_t i = 0; i < names.size(); ++i)
    EXPECT_EQ(again.tensors[i].name, names[i]);
}

struct Wrong {
  const char *text;
  const char *says;
};

class Refused : public ::testing::TestWithParam<Wrong> {};

TEST_P(Refused, WithPlaceAndReason) {
  try {
    parse_program(GetParam().text, "f");
    FAIL() << "accepted";
  } catch (const Error &error) {
    EXPECT_NE(std::string(error.what()).find(GetParam().says), std::string::npos) << error.what();
    EXPECT_EQ(error.where().substr(0, 2), "f:") << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(
    Texts, Refused,
    ::testing::Values(
        Wrong{"", "'program'"}, Wrong{"program x", "name"}, Wrong{"program \"p\" {", "tensor"},
        Wrong{"program \"p\" { } x", "end of the text"},
        Wrong{"program \"p\" { output %0 }", "not declared"},
        Wrong{"program \"p\" { input %99999999999 \"x\" : f32[1] }", "tensor number"},
        Wrong{"program \"p\" { input %0 \"x\" : f33[1] }", "type"},
        Wrong{"program \"p\" { input %0 \"x\" : f32[1] input %0 \"x\" : f32[1] }", "twice"},
        Wrong{"program \"p\" { input %0 \"x\" : f32[99999999999999999999] }", "dimension"},
        Wrong{"program \"p\" { input %0 \"x\" : f32[4] %1 \"y\" : f32[4] = sum[i](%0[j]) -> [i] }",
              "'j' is not an index"},
        Wrong{"program \"p\" { input %0 \"x\" : f32[4] %1 \"y\" : f32[4] = mean[i](%0[i]) -> [i] }",
              "sum"},
        Wrong{"program \"p\" { input %0 \"x\" : f32[4] %1 \"y\" : f32[4] = map[%0]($1) }",
              "operand below $1"},
        Wrong{"program \"p\" { input %0 \"x\" : f32[4] %1 \"y\" : f32[4] = sum[i](%0[i]) -> [i] "
              "where 1 <= i < 3 }",
              "0 <="}));

TEST(ProgramText, EveryTruncationIsAnError) {
  for (std::size_t length = 0; length + 2 < kDemo.size(); ++length)
    EXPECT_THROW(parse_program(kDemo.substr(0, length)), Error) << length;
}

TEST(ProgramText, EveryChangedByteIsAProgramOrAnError) {
  for (std::size_t i = 0; i < kDemo.size(); ++i)
    for (char c : {'\0', '9', '%', '[', '"', '-', '/', '\xff'}) {
      std::string text = kDemo;
      text[i] = c;
      try {
        const Program program = parse_program(text);
        EXPECT_EQ(to_text(parse_program(to_text(program))), to_text(program));
        verify(program);
      } catch (const Error &) {
      }
    }
}

TEST(ProgramText, AffinePrintsLikeTileText) {
  const std::vector<std::string> indices = {"x", "k"};
  EXPECT_EQ(to_text(Affine{{2, 1}, -1}, indices), "2*x + k - 1");
  EXPECT_EQ(to_text(Affine{{Rational(1, 2), 0}, 0}, indices), "1/2*x");
  EXPECT_EQ(to_text(Affine{{-1, Rational(-3, 2)}, Rational(1, 2)}, indices), "-x - 3/2*k + 1/2");
  EXPECT_EQ(to_text(Affine{{0, 0}, 0}, indices), "0");
  EXPECT_EQ(to_text(Affine{{0, 0}, -7}, indices), "-7");
}

} // namespace
} // namespace tilefuse::program
