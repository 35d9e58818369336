// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>

#include "report/html/document_html.h"
#include "report/html/dump_index.h"
#include "report/html/markup.h"
#include "report/html/picture/bank_map.h"
#include "report/html/picture/network_graph.h"
#include "report/html/picture/svg.h"
#include "report/html/picture/tiling_picture.h"
#include "report/html/picture/time_bars.h"
#include "report/page/bank_patterns.h"
#include "report/page/loop_tree.h"
#include "report/page/pipe_timeline.h"
#include "report/page/tiling.h"
#include "schedule/text.h"

namespace tilefuse::report::html {
namespace {

TEST(Markup, TextIsEscapedAndElementsClose) {
  Markup out;
  out.open("p", {{"class", "a\"b"}, {"x", 12.5}, {"n", 3}}).text("1 < 2 & 'x'").leaf("br").close();
  EXPECT_EQ(out.take(),
            "<p class=\"a&quot;b\" x=\"12.5\" n=\"3\">1 &lt; 2 &amp; &#39;x&#39;<br/></p>");
}

TEST(Markup, WhatIsNoTextIsReplaced) {
  EXPECT_EQ(escape("</script><b onload=x>"), "&lt;/script&gt;&lt;b onload=x&gt;");
  EXPECT_EQ(escape("a\x01\x1b\x7f\nb\t"), "a���\nb\t");
  EXPECT_EQ(escape("\u202e\u2067\u200f\u061c\ufeff"), "�����") << "marks of direction";
  EXPECT_EQ(escape("\u0645\u0631\u062d\u0628\u0627 \u00fc \U0001f600"),
            "\u0645\u0631\u062d\u0628\u0627 \u00fc \U0001f600");
  EXPECT_EQ(escape("\xff\xc0\xaf\xed\xa0\x80\xc3"), "�������")
      << "no UTF-8, a surrogate, cut short";
}

TEST(Markup, NoBytesBecomeMarkup) {
  std::mt19937 random(7);
  for (int i = 0; i < 20000; ++i) {
    std::string bytes(random() % 24, ' ');
    for (char &c : bytes)
      c = random() % 3 == 0 ? "<>&\"'/=\xe2\x80\xae"[random() % 10] : static_cast<char>(random());
    const std::string text = escape(bytes);
    ASSERT_EQ(text.find_first_of("<>\"'"), std::string::npos);
    ASSERT_EQ(text.find("\xe2\x80\xae"), std::string::npos);
    ASSERT_EQ(escape(text).find("\xef\xbf\xbd") == std::string::npos,
              text.find("\xef\xbf\xbd") == std::string::npos)
        << "what was written is UTF-8";
  }
}

TEST(DumpIndex, LinksLeadToFilesOfAnyName) {
  const std::vector<std::string> origins = {"conv"};
  const std::string page =
      dump_index("m", origins, {"program", "x:y", "a#b?c%d e\"f", "000.9.group"});
  for (const char *link :
       {"href=\"./program\">program<", "href=\"./x%3Ay\">x:y<",
        "href=\"./a%23b%3Fc%25d%20e%22f\">a#b?c%d e&quot;f<", "href=\"./000.9.group\">9.group<"})
    EXPECT_NE(page.find(link), page.npos) << link << "\n" << page;
}

TEST(Documents, TheSameCellsAsInText) {
  Document document;
  document.line("device", "cpu <b>");
  document.line("quiet", "");
  document.table(
      "rows", {.columns = {{"#", "n", true}, {"name", "name"}, {"b", "b", true, Column::Fit::Data}},
               .rows = {{cell(std::int64_t{3}), cell("a&b", Tone::Bad), cell(std::int64_t{7})}},
               .sums = {{cell("all"), {}, {}}}});
  Markup out;
  document_html(out, document);
  EXPECT_EQ(out.take(),
            "<dl><dt>device</dt><dd>cpu &lt;b&gt;</dd></dl><div class=\"wide\"><table><thead><tr>"
            "<th class=\"n\">#</th><th class=\"s\">name</th></tr></thead><tbody><tr>"
            "<td class=\"n\"><a href=\"#k3\">3</a></td><td class=\"bad\">a&amp;b</td></tr>"
            "<tr class=\"sum\"><td class=\"n\">all</td><td></td></tr>"
            "</tbody></table></div>");
}

TEST(Graph, ALaunchStandsBelowAllThatItReads) {
  const std::vector<Flow> flows = {{0, 1, 4}, {0, 2, 4}, {1, 3, 4},
                                   {2, 3, 4}, {0, 4, 4}, {3, 4, 4}};
  EXPECT_EQ(rows_of(6, flows), (std::vector<std::size_t>{0, 1, 1, 2, 3, 0}));
}

std::vector<model::KernelReport> kernels() {
  return {{.number = 0,
           .name = "k",
           .origin = "Conv </title><script>",
           .seconds = 3e-6,
           .roofline = 0.4,
           .limit = "memory"},
          {.number = 1,
           .name = "k",
           .origin = "Relu \u202e",
           .begin = 3e-6,
           .seconds = 1e-6,
           .roofline = 0.05,
           .limit = "memory"}};
}

TEST(Pictures, NamesStayText) {
  const std::vector<model::KernelReport> all = kernels();
  const std::vector<GraphNode> nodes = {{all[0], "kept apart <b>"}, {all[1], ""}};
  const std::vector<Flow> flows = {{0, 1, 4000}};
  Markup out;
  network_graph(out, nodes, flows);
  time_bars(out, all, std::vector<double>{2e-6, 1e-6});
  const std::string text = out.take();
  EXPECT_EQ(text.find("<script"), std::string::npos);
  EXPECT_EQ(text.find("\u202e"), std::string::npos);
  EXPECT_NE(text.find("Conv &lt;/title&gt;&lt;script&gt;"), std::string::npos);
  EXPECT_NE(text.find("0 to 1: 4.0 kB"), std::string::npos);
  EXPECT_NE(text.find(">75 %<"), std::string::npos) << "cumulative share of the first";
}

// Two warps in two phases, of which the second meets in bank 1; four banks.
std::vector<BankAccess> conflicting_store() {
  kernel::Counts counts;
  counts.accesses = {{.text = "x[lane]"}, {.text = "s[lane * 2]", .phases = {{4, 4}, {4, 8}}}};
  return bank_accesses(
      counts,
      {{},
       {{0, 0, {1, 1, 1, 1}}, {0, 1, {0, 2, 0, 0}}, {1, 0, {1, 1, 1, 1}}, {1, 1, {0, 12, 0, 0}}}});
}

TEST(Banks, PhasesThatAskAlikeAreARow) {
  EXPECT_EQ(to_text(conflicting_store()), "s[lane * 2]: 12 wavefronts in 8 phases, 4 conflicts\n"
                                          "  warps 0-1, phase 0     1111  1 wavefront\n"
                                          "  warp 0, phase 1        .2..  2 wavefronts\n"
                                          "  warp 1, phase 1        .+..  12 wavefronts\n");
}

TEST(Banks, ThePictureHasARowForEachToo) {
  Markup out;
  bank_map(out, conflicting_store());
  const std::string text = out.take();
  for (const char *says : {">s[lane * 2]<", ">warps 0-1, phase 0<", ">12 wavefronts<",
                           ">12 wavefronts in 8 phases, 4 conflicts<"})
    EXPECT_NE(text.find(says), text.npos) << says;
  bank_map(out, {});
  EXPECT_EQ(out.take(), "") << "nothing was traced";
}

TEST(Pictures, UnitsAndHeats) {
  EXPECT_EQ(time_text(38.2e-6), "38.2 us");
  EXPECT_EQ(time_text(3.9e-3), "3.90 ms");
  EXPECT_EQ(bytes_text(4.5e6), "4.5 MB");
  EXPECT_EQ(heat(0.05), "h0");
  EXPECT_EQ(heat(0.3), "h2");
  EXPECT_EQ(heat(1), "h4");
}

} // namespace
} // namespace tilefuse::report::html

namespace tilefuse::report {
namespace {

TEST(Tiling, BlocksLanesRegistersAndWindow) {
  const nest::Nest conv = nest::parse_nest(R"(nest conv {
  index m 64, y 56, x 56 | c 16, r 3, s 3
  slot 0 f32 50176, 1 f32 9216, 2 f32 200704
  acc f32 = sum mul
  in 0 + 0 [y + r - 1:56?*896, x + s - 1:56?*16, c:16*1]
  in 1 + 0 const [m:64*144, c:16*9, r:3*3, s:3*1]
  out 2 + 0 [y:56*3584, x:56*64, m:64*1]
  post acc
}
)");
  schedule::Schedule schedule = schedule::scalar_schedule(conv);
  schedule.splits[nest::IndexId{1}] = {.tile = 7, .keep = 7};
  schedule.splits[nest::IndexId{2}] = {.tile = 56, .keep = 2, .lane = 8};
  const Tiling told = tiling(conv, schedule);
  EXPECT_EQ(told.rows.name, "y");
  EXPECT_EQ(told.rows.blocks, 8);
  EXPECT_EQ(told.rows.window, 9);
  EXPECT_EQ(told.columns.name, "x");
  EXPECT_EQ(told.columns.blocks, 1);
  EXPECT_EQ(told.columns.window, 58);
  EXPECT_EQ(told.columns.input_size, 56);
  EXPECT_EQ(told.blocks, 64 * 8);
  EXPECT_EQ(told.columns.lane_of(9), 1);
  EXPECT_EQ(told.columns.copy_of(9), 1);
  EXPECT_EQ(told.rows.copy_of(6), 6);
}

// 128 points by 64 channels in halves, multiplied by the instruction of one warp.
Tiling core_tiled() {
  const nest::Nest product = nest::parse_nest(R"(nest product {
  index y 256, m 96 | c 48
  slot 0 f16 12288, 1 f16 4608, 2 f16 24576
  acc f32 = sum mul
  in 0 + 0 [y:256*48, c:48*1]
  in 1 + 0 const [m:96*48, c:48*1]
  out 2 + 0 [y:256*96, m:96*1]
  post acc
}
)");
  return tiling(product,
                schedule::parse_schedule(product, "schedule mma workitem\n"
                                                  "  tile   y:1 m:64 c:16\n"
                                                  "  vec    m:4\n"
                                                  "  mma    m16n8k16.f16.f32 m 128 warps 2 1\n"
                                                  "  loop   y m c\n"
                                                  "  pipe   0 cp_async stages 3\n"
                                                  "  pipe   1 cp_async stages 3\n"));
}

TEST(Tiling, MatrixInstructionsGoFromBlockToWarpToLane) {
  const Tiling told = core_tiled();
  EXPECT_EQ(told.rows.name, "y");
  EXPECT_EQ(told.rows.blocks, 2);
  EXPECT_EQ(told.columns.blocks, 2);
  ASSERT_TRUE(told.core);
  EXPECT_EQ(told.core->instruction, "m16n8k16.f16.f32");
  EXPECT_EQ(told.core->tile, (TileSize{128, 64}));
  EXPECT_EQ(told.core->warp, (TileSize{64, 64}));
  EXPECT_EQ(told.core->atom, (TileSize{16, 8}));
  EXPECT_EQ(told.core->atom_of_warp, told.core->atom) << "of one warp";
  EXPECT_EQ(told.core->depth, 16);
  EXPECT_EQ(told.core->vec, 4);
  const std::vector<int> &lanes = told.core->lanes;
  ASSERT_EQ(lanes.size(), 16U * 8U);
  EXPECT_EQ((std::vector<int>(lanes.begin() + 8, lanes.begin() + 16)),
            (std::vector<int>{4, 4, 5, 5, 6, 6, 7, 7}))
      << "row 1: pairs of columns";
  EXPECT_EQ(lanes[9 * 8 + 2], 5) << "8 rows below the same lanes";
}

TEST(Tiling, ThePictureShowsWarpsAndLanes) {
  html::Markup out;
  html::tiling_picture(out, core_tiled());
  const std::string text = out.take();
  for (const char *says : {">a tile: 128 points by 64 channels<", ">2 x 1 warps of 64 x 64<",
                           ">lanes of an instruction&#39;s 16 x 8 results<",
                           ">channels are dealt so that a lane stores 4 neighbours<"})
    EXPECT_NE(text.find(says), text.npos) << says;
}

// 56 x 56 points of 64 channels, a chunk of 8 of 16 summed channels at a time.
nest::Nest staged_nest() {
  return nest::parse_nest(R"(nest gemm {
  index m 64, x 56 | c 16
  slot 0 f32 896, 1 f32 1024, 2 f32 3584
  acc f32 = sum mul
  in 0 + 0 [x:56*16, c:16*1]
  in 1 + 0 const [m:64*16, c:16*1]
  out 2 + 0 [x:56*64, m:64*1]
  post acc
}
)");
}

TEST(Loops, OutermostFirst) {
  const nest::Nest nest = staged_nest();
  schedule::Schedule schedule = schedule::scalar_schedule(nest);
  schedule.splits[nest::IndexId{0}] = {.tile = 32, .keep = 2, .lane = 8};
  const std::vector<LoopLevel> levels = loop_tree(nest, schedule);
  ASSERT_EQ(levels.size(), 5U);
  EXPECT_EQ(levels[0].text, "grid m 2, x 56: 112 blocks");
  EXPECT_EQ(levels[1].text, "loop m: 2 steps of 16");
  EXPECT_EQ(levels[2].text, "loop c: 16 steps of 1, summed");
  EXPECT_EQ(levels[3].text, "registers: m 2 copies, written out");
  EXPECT_EQ(levels[4].text, "vector: m 8");
}

TEST(Pipes, ACopyIsAheadByItsStages) {
  const nest::Nest nest = staged_nest();
  schedule::Schedule schedule = schedule::scalar_schedule(nest);
  EXPECT_TRUE(pipe_timeline(nest, schedule).bars.empty());
  schedule.fills[0] = schedule::Fill::Local;
  schedule.pipes[0] = {.stages = 1, .at = nest::IndexId{2}};
  EXPECT_EQ(pipe_timeline(nest, schedule).length, 11) << "five copies and steps in turn, a store";
  schedule.pipes[0].stages = 2;
  const Timeline ahead = pipe_timeline(nest, schedule);
  EXPECT_EQ(ahead.length, 7) << "a copy beside each step but the first";
  EXPECT_EQ(ahead.rows,
            (std::vector<std::string>{"input 0: items, 2 stages", "arithmetic", "store"}));
}

} // namespace
} // namespace tilefuse::report
