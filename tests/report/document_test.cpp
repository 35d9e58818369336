// SPDX-License-Identifier: Apache-2.0
#include "report/document.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "report/kernels.h"
#include "report/text_width.h"
#include "report/waiting.h"

namespace tilefuse::report {
namespace {

using Fit = Column::Fit;

Table sample() {
  return {.columns = {{"n", "n", true},
                      {"wide", "wide", false, Fit::Wide},
                      {"name", "name", false, Fit::Cut},
                      {"bytes", "bytes", true, Fit::Data}},
          .rows = {{cell(std::int64_t{1}), cell("w"), cell("a,b"), cell(std::int64_t{7})},
                   {cell(std::int64_t{10}), cell("w"), cell("say \"x\"\x1b and much more of it"),
                    cell(std::int64_t{8})}},
          .sums = {{cell("all"), {}, {}, {}}}};
}

TEST(Tables, AlignedAndQuoted) {
  EXPECT_EQ(to_text(sample()), "  n  wide  name\n"
                               "  1  w     a,b\n"
                               " 10  w     say \"x\"? and much more of it\n"
                               "all\n");
  EXPECT_EQ(to_csv(sample()),
            "n,wide,name\n1,w,\"a,b\"\n10,w,\"say \"\"x\"\"\x1b and much more of it\"\n");
}

TEST(Tables, SayWhichTensorsAreComputedAgain) {
  const std::vector<model::WaitingTensor> tensors = {
      {"Relu relu1", 2'500'000, true, 2'000'000, 4e-6, "cheapest of 3"},
      {"Conv conv1", 4'000'000, false, 4'000'000, 80e-6, "enough is free"},
      {"Conv conv2", 1'000'000, false, 0, 0, "its inputs would wait"},
      {"Conv conv3", 500'000, false, 0, 0, "its inputs would wait"}};
  EXPECT_EQ(to_text(waiting_table(tensors, 2)),
            "again   MB  freed    us  us/MB  reason                 nodes\n"
            "yes    2.5    2.0   4.0   2.00  cheapest of 3          Relu relu1\n"
            "no     4.0    4.0  80.0  20.00  enough is free         Conv conv1\n"
            "no     1.0                      its inputs would wait  Conv conv2\n"
            "       0.5                      1 more are kept\n"
            "                    4.0         1 are computed again\n");
}

TEST(Tables, FitTheTerminal) {
  EXPECT_EQ(to_text(sample(), {.width = 20}), "  n  name\n"
                                              "  1  a,b\n"
                                              " 10  say \"x\"? and m…\n"
                                              "all\n");
  EXPECT_EQ(to_text(sample(), {.width = 20, .is_wide = true}), to_text(sample()));
}

TEST(Tables, AreColouredWhereAsked) {
  const Table table{.columns = {{"x", "x"}}, .rows = {{cell("bad", Tone::Bad)}}, .sums = {}};
  EXPECT_EQ(to_text(table, {.is_coloured = true}), "\x1b[2mx\x1b[0m\n\x1b[31mbad\x1b[0m\n");
}

TEST(Text, WidthCutAndWrap) {
  EXPECT_EQ(width_of("\xc3\xbc…"), 2U);
  EXPECT_EQ(width_of("層u\u0308"), 3U);
  EXPECT_EQ(cut("層層層", 4), "層…");
  EXPECT_EQ(cut("\xc3\xbc\xc3\xbc\xc3\xbc", 2), "\xc3\xbc…");
  EXPECT_EQ(cut("abc", 3), "abc");
  EXPECT_EQ(wrap("one two three", 8, 2), "one two\n  three");
  EXPECT_EQ(wrap("unbreakablylong word", 8, 2), "unbreakablylong\n  word");
  EXPECT_EQ(wrap("as it is", 0, 2), "as it is");
  EXPECT_EQ(printable("a\x1b[31m\nb\x7f"), "a?[31m\nb?");
}

TEST(Documents, TextAndJsonSayTheSame) {
  Document document;
  document.line("device", "cpu (avx2)",
                {{"device", std::string("cpu")}, {"cores", std::int64_t{2}}});
  document.line("quiet", "", {{"nan", std::numeric_limits<double>::quiet_NaN()}});
  document.table("rows", sample());
  document.people("for people\n");
  document.text("note", "a\nb\n");
  document.advise("try this");
  const std::string text = to_text(document);
  EXPECT_TRUE(text.starts_with("device   cpu (avx2)\n  n  wide"));
  EXPECT_TRUE(text.ends_with("for people\na\nb\nadvice   try this\n"));
  const auto json = nlohmann::json::parse(to_json(document));
  EXPECT_EQ(json["device"], "cpu");
  EXPECT_EQ(json["cores"], 2);
  EXPECT_TRUE(json["nan"].is_null());
  EXPECT_EQ(json["rows"][1]["bytes"], 8);
  EXPECT_EQ(json["rows"].size(), 2U);
  EXPECT_EQ(json["note"], "a\nb\n");
  EXPECT_EQ(json["advice"][0], "try this");
}

TEST(Documents, NamesThatAreNoUtf8AreJsonAllTheSame) {
  Document document;
  document.line("name", "\xff", {{"name", std::string("\xff")}});
  EXPECT_EQ(nlohmann::json::parse(to_json(document))["name"], "\xef\xbf\xbd");
}

std::vector<model::KernelReport> kernels() {
  std::vector<model::KernelReport> all;
  for (int k = 0; k < 8; ++k)
    all.push_back({.number = k,
                   .name = "kernel",
                   .origin = "Conv c" + std::to_string(k),
                   .schedule = "nest",
                   .chosen_by = "model",
                   .flops = 1e6,
                   .bytes = 1e3,
                   .seconds = k == 5 ? 8e-5 : 1e-6,
                   .roofline = k == 5 ? 0.02 : 0.9,
                   .limit = "arithmetic"});
  return all;
}

TEST(Kernels, SlowestFirstAndTheRestInOneLine) {
  const Table table = kernel_table(kernels(), KernelOrder::Time, 2);
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(table.rows[0][0].text, "5");
  EXPECT_EQ(table.rows[0][2].text, "92.0%");
  EXPECT_EQ(table.rows[0][5].tone, Tone::Bad);
  ASSERT_EQ(table.sums.size(), 2U);
  EXPECT_EQ(table.sums[0][9].text, "6 more");
  EXPECT_EQ(table.sums[1][2].text, "100.0%");
  for (const std::string &line : {to_text(table, {.width = 80})})
    for (std::size_t at = 0; at < line.size();) {
      const std::size_t end = line.find('\n', at);
      EXPECT_LE(width_of(line.substr(at, end - at)), 80U);
      at = end + 1;
    }
}

TEST(Kernels, AdviceNamesTheSlowOnes) {
  const std::vector<std::string> sentences = advice(kernels());
  ASSERT_EQ(sentences.size(), 2U);
  EXPECT_EQ(sentences[0], "92 % of the time is in kernel 5; explain --kernel 5 says why");
  EXPECT_NE(sentences[1].find("kernel 5 takes 92 % of the time below 10 % of the roofline"),
            std::string::npos);
  EXPECT_TRUE(advice({}).empty());
}

} // namespace
} // namespace tilefuse::report
