// SPDX-License-Identifier: Apache-2.0
#include "report/html/kernel_html.h"

#include <algorithm>

#include <fmt/format.h>

#include "report/html/document_html.h"
#include "report/html/picture/bank_map.h"
#include "report/html/picture/bars.h"
#include "report/html/picture/pipe_picture.h"
#include "report/html/picture/svg.h"
#include "report/html/picture/tiling_picture.h"
#include "report/html/shell.h"

namespace tilefuse::report::html {
namespace {

constexpr std::size_t kMostLines = 1000; // of a text

// "38.2 us, predicted 60.3 us"
std::string times(const Verdict &verdict) {
  const std::string predicted = "predicted " + time_text(verdict.predicted);
  return verdict.measured ? time_text(verdict.measured->seconds) + ", " + predicted : predicted;
}

void verdict_html(Markup &out, const Verdict &verdict) {
  if (verdict.measured)
    out.element("p", {},
                fmt::format("It takes {} and reaches {} of its roofline, which {} sets.",
                            time_text(verdict.measured->seconds),
                            percent_text(verdict.measured->roofline), verdict.measured->limit));
  if (verdict.tuned)
    out.element("p", {}, "Tuning measured " + to_text(*verdict.tuned) + ".");
  out.element("p", {}, "By the model it is " + bound_text(verdict) + ".");
  out.open("ul");
  for (const Idea &idea : verdict.ideas)
    out.element("li", {}, to_text(idea));
  out.close();
}

void head(Markup &out, const NetworkPage &page, const KernelPage &kernel) {
  const Verdict &verdict = kernel.explained.verdict;
  out.element("h1", {}, fmt::format("{}  {}", kernel.number, kernel.origin));
  out.element("p", {{"class", "says"}},
              fmt::format("kernel {} of {} on {}: {}, schedule by {}", kernel.number, page.model,
                          page.device, kernel.name, kernel.explained.chosen.by));
  out.element("div", {{"class", "big"}},
              time_text(verdict.measured ? verdict.measured->seconds : verdict.predicted));
  verdict_html(out, verdict);
  bullet_bar(out, verdict);
  for (const std::string &note : kernel.notes)
    out.element("p", {{"class", "advice"}}, note);
}

// Chosen, the runner-up, what was measured, and what tuning measured.
void costs(Markup &out, const Verdict &verdict, const std::vector<Weighed> &weighed) {
  std::vector<NamedTime> times = {{"chosen, predicted", verdict.predicted, "bound"}};
  for (const Weighed &row : weighed)
    if (row.kind == Weighed::Kind::Ranked && row.seconds && times.size() == 1)
      times.push_back({"runner-up, predicted", *row.seconds, "part"});
  if (verdict.measured) {
    times.push_back({"chosen, measured", verdict.measured->seconds, "whole"});
    times.push_back({"what the device allows",
                     verdict.measured->seconds * verdict.measured->roofline, "first"});
  }
  if (verdict.tuned) {
    times.push_back({"tuned, measured then", verdict.tuned->seconds, "whole"});
    times.push_back({"model's choice, measured then", verdict.tuned->model_seconds, "part"});
  }
  time_comparison(out, times, "The chosen schedule against others");
}

void loops(Markup &out, const std::vector<LoopLevel> &levels) {
  for (const LoopLevel &level : levels)
    out.open("ul").open("li").text(level.text);
  for (std::size_t i = 0; i < levels.size(); ++i)
    out.close().close();
}

// The first lines of a long text, and how many there are more.
std::string shortened(const std::string &text) {
  std::size_t end = 0;
  for (std::size_t line = 0; line < kMostLines && end != text.npos; ++line)
    end = text.find('\n', end + 1);
  if (end == text.npos || end + 1 >= text.size())
    return text;
  const auto more =
      std::count(text.begin() + static_cast<std::ptrdiff_t>(end) + 1, text.end(), '\n');
  return text.substr(0, end + 1) + fmt::format("… {} lines more\n", more);
}

void kernel_text(Markup &out, const KernelDetail &detail) {
  out.open("div").element("h3", {}, "kernel, with counts").open("pre");
  for (std::size_t l = 0; l < std::min(kMostLines, detail.kernel.size()); ++l) {
    const CodeLine &line = detail.kernel[l];
    out.element("i", {}, line.executed < 0 ? "        " : fmt::format("{:>7} ", line.executed));
    out.text(line.text + "\n");
  }
  if (detail.kernel.size() > kMostLines)
    out.text(fmt::format("… {} lines more\n", detail.kernel.size() - kMostLines));
  out.close().close();
}

void code(Markup &out, const KernelDetail &detail) {
  out.open("div", {{"class", "code"}});
  out.open("div").element("h3", {}, "program").element("pre", {}, detail.program).close();
  kernel_text(out, detail);
  out.open("div").element("h3", {}, "generated code");
  out.element("pre", {},
              detail.code.empty() ? "machine code; objdump -d shows it" : shortened(detail.code));
  out.close().close();
}

} // namespace

std::string kernel_html(const NetworkPage &page, const KernelPage &kernel,
                        const KernelDetail &detail) {
  const Verdict &verdict = kernel.explained.verdict;
  Markup out;
  open_page(out, fmt::format("kernel {} of {} on {}", kernel.number, page.model, page.device));
  head(out, page, kernel);
  open_section(out, "cost", "What bounds it", "What each resource would take alone.");
  demand_bars(out, verdict.demands, verdict.predicted);
  out.close();
  open_section(out, "candidates", "What else was weighed", "");
  costs(out, verdict, detail.weighed);
  table_html(out, candidate_table(detail.weighed));
  out.close();
  open_section(out, "tiling", "How its result is dealt out", "");
  tiling_picture(out, kernel.tiling);
  out.close();
  open_section(out, "schedule", "Its schedule", "Loops, the outermost first.");
  out.open("div", {{"class", "pair"}}).element("pre", {}, kernel.schedule_text).open("div");
  loops(out, detail.loops);
  out.close().close().close();
  open_section(out, "pipes", "Copies, arithmetic and stores", "The order, not the time.");
  if (detail.pipes.bars.empty())
    out.element("p", {}, "Nothing is copied: inputs are read where they lie.");
  else
    pipe_picture(out, detail.pipes);
  out.close();
  open_section(out, "banks", "Banks of local memory",
               "How many words a warp's phase asks each bank for, as each warp of the simulated "
               "block came by first. " +
                   detail.simulated);
  if (detail.banks.empty())
    out.element("p", {}, "No warp accesses banked local memory by itself.");
  else
    bank_map(out, detail.banks);
  out.close();
  open_section(out, "code", "Code", detail.simulated);
  code(out, detail);
  out.close();
  return close_page(out);
}

void kernel_summary(Markup &out, const KernelPage &kernel) {
  const Verdict &verdict = kernel.explained.verdict;
  out.open("details", {{"id", fmt::format("k{}", kernel.number)}});
  out.element("summary", {},
              fmt::format("{}  {}: {}", kernel.number, kernel.origin, times(verdict)));
  out.element("p", {{"class", "says"}},
              fmt::format("{}, schedule by {}", kernel.name, kernel.explained.chosen.by));
  for (const std::string &note : kernel.notes)
    out.element("p", {}, note);
  verdict_html(out, verdict);
  bullet_bar(out, verdict);
  out.open("div", {{"class", "pair"}}).open("div");
  demand_bars(out, verdict.demands, verdict.predicted);
  out.close().element("pre", {}, kernel.schedule_text).close();
  out.close();
}

} // namespace tilefuse::report::html
