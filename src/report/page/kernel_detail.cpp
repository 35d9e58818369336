// SPDX-License-Identifier: Apache-2.0
#include "report/page/kernel_detail.h"

#include <sstream>

#include <fmt/format.h>

#include "emit/make_emitter.h"
#include "kernel/text/text.h"
#include "lower/pipeline.h"
#include "model/oracle/simulate_group.h"

namespace tilefuse::report {
namespace {

// Simulating one block must not take longer than reading of it.
constexpr double kMostSimulated = 64e6; // bytes of all tensors

double bytes_of(const poly::Group &group) {
  double bytes = 0;
  for (const nest::Slot &slot : poly::group_slots(group))
    bytes += static_cast<double>(slot.elems * size_bytes(slot.type));
  return bytes;
}

std::string trimmed(const std::string &line) {
  const std::size_t begin = line.find_first_not_of(' ');
  return begin == line.npos ? "" : line.substr(begin);
}

// Accesses stand in the order of the kernel's text.
std::vector<CodeLine> counted(const kernel::Kernel &kernel, const kernel::Counts &counts) {
  std::vector<CodeLine> lines;
  std::istringstream text(kernel::to_text(kernel));
  std::size_t next = 0;
  for (std::string line; std::getline(text, line);) {
    CodeLine of{line};
    while (next < counts.accesses.size() && counts.accesses[next].statement == trimmed(line))
      of.executed = std::max(of.executed, counts.accesses[next++].executed);
    lines.push_back(std::move(of));
  }
  return lines;
}

void add_simulation(KernelDetail &detail, const launch::Part &part, const Target &target) {
  if (bytes_of(part.placed.group) > kMostSimulated) {
    detail.simulated = fmt::format("Not simulated here: its tensors take more than {:.0f} MB; "
                                   "simulate does it.",
                                   kMostSimulated * 1e-6);
    detail.kernel =
        counted(lower::lower(part.placed.group, part.schedule, target), kernel::Counts{});
    return;
  }
  const model::SimulatedGroup run =
      model::simulate_group(part.placed.group, part.schedule, target, {0});
  detail.simulated = run.fault.empty()
                         ? fmt::format("Counts are those of block 0 of {}, simulated warp by warp.",
                                       run.kernel.blocks)
                         : "The simulator stopped: " + run.fault;
  detail.kernel = counted(run.kernel, run.counts);
  detail.banks = bank_accesses(run.counts, run.banks);
}

std::string source_of(const kernel::Kernel &kernel, const Target &target) {
  std::string why;
  const auto emitter = emit::make_emitter(target, &why);
  if (emitter == nullptr)
    return "";
  const Package package = emitter->emit(kernel, target);
  const bool is_source =
      package.format == CodeFormat::OpenclSource || package.format == CodeFormat::CudaSource;
  return is_source ? package.code : "";
}

} // namespace

KernelDetail kernel_detail(const model::Compiled &compiled, const NetworkPage &page,
                           const KernelPage &kernel, const ScheduleOptions &how) {
  const launch::Launch &launch = compiled.launches[kernel.launch].launch;
  const int first = page.profile.kernels[kernel.launch].number;
  const launch::Part &part = launch.parts[static_cast<std::size_t>(kernel.number - first)];
  const poly::Group &group = part.placed.group;
  KernelDetail detail;
  detail.weighed =
      explain_choice(group, {part.schedule, part.chosen_by}, std::nullopt, how, kernel.number)
          .weighed;
  detail.loops = loop_tree(group.anchor, part.schedule);
  detail.pipes = pipe_timeline(group.anchor, part.schedule);
  const program::Program &program = compiled.stored.program;
  detail.program = program::to_text(excerpt(program, statements_of(program, part.placed.origin)));
  detail.code = source_of(lower::lower(group, part.schedule, how.target), how.target);
  add_simulation(detail, part, how.target);
  return detail;
}

} // namespace tilefuse::report
