// SPDX-License-Identifier: Apache-2.0
#include "report/html/network_html.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/html/document_html.h"
#include "report/html/kernel_html.h"
#include "report/html/picture/arena_map.h"
#include "report/html/picture/network_graph.h"
#include "report/html/picture/roofline_plot.h"
#include "report/html/picture/svg.h"
#include "report/html/picture/time_bars.h"
#include "report/html/shell.h"
#include "report/kernels.h"

namespace tilefuse::report::html {
namespace {

void card(Markup &out, const std::string &big, const std::string &says) {
  out.open("div").element("div", {{"class", "big"}}, big).element("div", {{"class", "says"}}, says);
  out.close();
}

// The time that counts, with its spread.
void time_card(Markup &out, const NetworkPage &page) {
  double sum = 0;
  for (const double seconds : page.predicted)
    sum += seconds;
  if (!page.timing)
    return card(out, time_text(sum), "predicted for one run; nothing was measured");
  const Timing &timing = *page.timing;
  card(out, time_text(timing.quantile(0.5)),
       fmt::format("median of {} runs, {} to {} (p10 to p90); predicted {}", timing.seconds.size(),
                   time_text(timing.quantile(0.1)), time_text(timing.quantile(0.9)),
                   time_text(sum)));
}

void head(Markup &out, const NetworkPage &page) {
  out.element("h1", {}, page.model).element("p", {{"class", "says"}}, page.device);
  out.open("div", {{"class", "cards"}});
  time_card(out, page);
  card(out, bytes_text(static_cast<double>(page.plan.weight_bytes + page.plan.activation_bytes)),
       fmt::format("of memory: {} of weights, {} of activations",
                   bytes_text(static_cast<double>(page.plan.weight_bytes)),
                   bytes_text(static_cast<double>(page.plan.activation_bytes))));
  card(out, fmt::format("{}", page.kernels.size()),
       fmt::format("kernels in {} launches", page.profile.kernels.size()));
  out.close();
  for (const std::string &sentence : page.advice)
    out.element("p", {{"class", "advice"}}, sentence);
  document_html(out, page.summary);
}

std::vector<GraphNode> graph_nodes(const NetworkPage &page) {
  std::vector<GraphNode> nodes;
  for (const model::KernelReport &kernel : page.profile.kernels)
    nodes.push_back({kernel, ""});
  for (const KernelPage &kernel : page.kernels)
    nodes[kernel.launch].notes += fmt::format("{}", fmt::join(kernel.notes, ""));
  return nodes;
}

void pictures(Markup &out, const NetworkPage &page) {
  const bool is_measured = page.profile.is_measured;
  open_section(out, "graph", "Kernels and what flows between them",
               "A box is a launch and lists the nodes that it computes, fused. Wider boxes take "
               "longer. A star: hover to read what was decided.");
  network_graph(out, graph_nodes(page), page.flows);
  out.close();
  open_section(out, "time", "Where the time goes", "");
  time_bars(out, page.profile.kernels,
            is_measured ? std::span<const double>(page.predicted) : std::span<const double>());
  out.close();
  open_section(out, "roofline", "What the device allows",
               is_measured ? "A dot is a kernel, its area its time. Ceilings are measured on this "
                             "device."
                           : "A dot is a kernel, its area its predicted time. Ceilings are what "
                             "the target states.");
  roofline_plot(out, page.profile, page.peaks);
  out.close();
  open_section(out, "memory", "Memory over one run",
               "A box is a tensor, as long as it is alive. Grey: inputs and outputs.");
  arena_map(out, page.plan, page.profile.kernels);
  out.close();
}

} // namespace

std::string network_html(const NetworkPage &page) {
  Markup out;
  open_page(out, fmt::format("{} on {}", page.model, page.device));
  head(out, page);
  pictures(out, page);
  open_section(out, "table", "All kernels", "");
  table_html(out, kernel_table(page.profile.kernels));
  out.close();
  open_section(
      out, "kernels", "Each kernel",
      "Measured against predicted, what bounds it and what to try. explain --kernel N --html "
      "shows how its work is dealt out, and its code.");
  for (const KernelPage &kernel : page.kernels)
    kernel_summary(out, kernel);
  out.close();
  return close_page(out);
}

} // namespace tilefuse::report::html
