// SPDX-License-Identifier: Apache-2.0
#include "report/figures.h"

#include <optional>

namespace tilefuse::report {
namespace {

using kernel::AccessCounts;
using kernel::BufferCounts;
using kernel::Counts;
using kernel::Space;

double sum_of(const Counts &counts, Space space, std::int64_t BufferCounts::*member) {
  double sum = 0;
  for (const BufferCounts &buffer : counts.buffers)
    sum += buffer.space == space ? static_cast<double>(buffer.*member) : 0;
  return sum;
}

struct LocalReads {
  double requests = 0;
  double wavefronts = 0;
  double conflicts = 0;
};

LocalReads local_reads(const Counts &counts, const kernel::Kernel &kernel) {
  LocalReads sum;
  for (const AccessCounts &access : counts.accesses) {
    if (access.kind != kernel::AccessKind::Load || kernel[access.buffer].space != Space::Local)
      continue;
    const kernel::PhaseCounts phases = access.all_phases();
    sum.requests += static_cast<double>(access.requests);
    sum.wavefronts += static_cast<double>(phases.wavefronts);
    sum.conflicts += static_cast<double>(phases.conflicts());
  }
  return sum;
}

// Keeps what the model has.
class List {
public:
  explicit List(double share) : share_(share) {}
  void whole(const char *what, double simulated, std::optional<double> predicted, bool exact) {
    if (predicted)
      figures_.push_back({what, simulated, *predicted, exact});
  }
  // Of the whole grid, of which a share ran.
  void share(const char *what, double simulated, std::optional<double> predicted, bool exact) {
    if (predicted)
      figures_.push_back({what, simulated, *predicted * share_, exact});
  }
  std::vector<Figure> take() { return std::move(figures_); }

private:
  double share_;
  std::vector<Figure> figures_;
};

} // namespace

std::vector<Figure> compare_figures(const Counts &counts, const kernel::Kernel &kernel,
                                    const cost::Figures &model) {
  const auto real = [](std::int64_t count) { return static_cast<double>(count); };
  const auto local = [&](auto member) { return sum_of(counts, Space::Local, member); };
  const auto global = [&](auto member) { return sum_of(counts, Space::Global, member); };
  const LocalReads reads = local_reads(counts, kernel);
  const double fma = real(counts.of(kernel::InstructionKind::Fma).lanes);
  List list(real(counts.blocks) / real(kernel.blocks));
  list.whole("blocks", real(kernel.blocks), model.blocks, true);
  list.whole("work-items of a block", real(kernel.block_size), model.work_items, true);
  list.whole("local bytes of a block", real(counts.local_bytes), model.local_bytes, true);
  list.whole("registers of a work-item", real(counts.live_registers), model.registers, false);
  list.share("barriers", real(counts.barriers), model.barriers, true);
  list.share("multiply-adds", fma, model.multiply_adds, true);
  list.share("bytes stored to local memory", local(&BufferCounts::stored_bytes), model.staged_bytes,
             true);
  list.share("requests of local reads", reads.requests, model.local_requests, true);
  list.share("wavefronts of local reads", reads.wavefronts, model.local_wavefronts, true);
  list.share("conflicts of local reads", reads.conflicts, model.local_conflicts, true);
  list.share("global sectors asked for", global(&BufferCounts::sectors), model.sectors, false);
  list.share("global bytes by block", global(&BufferCounts::block_sector_bytes), model.block_bytes,
             false);
  if (counts.blocks == kernel.blocks)
    list.whole("global bytes of the grid", global(&BufferCounts::grid_sector_bytes),
               model.grid_bytes, false);
  return list.take();
}

bool differs(const Figure &figure, double factor) {
  if (figure.exact || figure.simulated == 0 || figure.predicted == 0)
    return figure.simulated != figure.predicted;
  const double ratio = figure.predicted / figure.simulated;
  return ratio > factor || ratio < 1 / factor;
}

} // namespace tilefuse::report
