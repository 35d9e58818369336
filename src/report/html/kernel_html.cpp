// SPDX-License-Identifier: Apache-2.0
#include "report/html/kernel_html.h"

#include <fmt/format.h>

#include "report/html/picture/bars.h"
#include "report/html/picture/svg.h"

namespace tilefuse::report::html {
namespace {

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
  out.element("p", {}, "By the model it is " + bound_text(verdict) + ".");
  out.open("ul");
  for (const Idea &idea : verdict.ideas)
    out.element("li", {}, to_text(idea));
  out.close();
}

} // namespace

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
