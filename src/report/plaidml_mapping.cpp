// SPDX-License-Identifier: Apache-2.0
#include "report/plaidml_mapping.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tilefuse::report {
namespace {

using namespace cost::plaidml;

// "co 8, y 2": those with more than one thread, or "1 thread".
std::string dealt(const std::vector<IndexThreads> &indices) {
  std::vector<std::string> parts;
  for (const IndexThreads &index : indices)
    if (index.threads > 1)
      parts.push_back(fmt::format("{} {}", index.name, index.threads));
  return parts.empty() ? "1 thread" : fmt::format("{}", fmt::join(parts, ", "));
}

std::int64_t points(const std::vector<IndexThreads> &indices) {
  std::int64_t steps = 1;
  for (const IndexThreads &index : indices)
    steps *= ceil_div(index.points, index.threads);
  return steps;
}

} // namespace

PlaidmlMapping::PlaidmlMapping(const Kernel &kernel, const Flat &flat, const Tile &tile,
                               const cost::plaidml::Settings &settings)
    : kernel_(kernel), flat_(flat), tile_(tile), in_place_(settings.use_global),
      plan_(thread_plan(flat, tile, settings)) {
  for (std::size_t a = 1; a < flat.accesses.size(); ++a)
    layouts_.push_back(
        shared_layout(flat.accesses[a], tile, settings.mem_width / flat.accesses[a].bytes()));
}

std::string PlaidmlMapping::layout(std::size_t input) const {
  constexpr std::size_t kLeast = 4;
  std::vector<MergedIndex> rows = layouts_[input].merged;
  const auto key = [&](const MergedIndex &row) {
    return std::make_tuple(row.members.size() == 1, name_of(row, flat_.names));
  };
  std::sort(rows.begin(), rows.end(),
            [&](const MergedIndex &a, const MergedIndex &b) { return key(a) < key(b); });
  std::size_t width = kLeast;
  for (const MergedIndex &row : rows)
    width = std::max(width, name_of(row, flat_.names).size() + 1);
  std::string text =
      fmt::format("{:>{}}{:>10}{:>10}{:>10}\n", "", width, "Range", "Global", "Local");
  for (const MergedIndex &row : rows)
    text += fmt::format("{:>{}}{:>10}{:>10}{:>10}\n", name_of(row, flat_.names), width, row.range,
                        row.stride, row.local_stride);
  return text;
}

std::string PlaidmlMapping::layouts() const {
  std::string text;
  for (std::size_t k = 0; k < layouts_.size(); ++k) {
    const Access &access = flat_.accesses[k + 1];
    text += fmt::format("input {}, {}:\n{}", k + 1, access.name, layout(k));
    text += in_place_ ? "read in place, no shared memory\n"
                      : fmt::format("size {} ({} bytes)\n", layouts_[k].elems,
                                    layouts_[k].elems * access.bytes());
    if (layouts_[k].local_zero != 0)
      text += fmt::format("the tile's origin lies at {}, {} back in the tensor\n",
                          layouts_[k].local_zero, layouts_[k].global_zero);
  }
  return text.empty() ? "no inputs\n" : text;
}

std::string PlaidmlMapping::grid() const {
  const std::array<std::int64_t, 3> &grid = plan_.output.grid;
  std::string text =
      fmt::format("{} x {} x {} groups of {} threads, global size {} x {} x {}\n", grid[0], grid[1],
                  grid[2], plan_.threads, grid[0] * plan_.threads, grid[1], grid[2]);
  for (int dim = 0; dim < 3; ++dim) {
    std::vector<std::string> parts;
    for (const OutputIndex &index : plan_.output.indices)
      if (index.grid_dim == dim)
        parts.push_back(fmt::format("{} {}", flat_.names[index.index], index.groups));
    if (!parts.empty())
      text += fmt::format("  dimension {}: {}\n", dim, fmt::join(parts, ", "));
  }
  return text;
}

std::string PlaidmlMapping::uneven() const {
  std::vector<std::string> parts;
  const auto add = [&](const std::string &name, std::int64_t range, std::int64_t tile,
                       std::int64_t threads) {
    if (range % tile != 0)
      parts.push_back(fmt::format("{} (last tile {} of {})", name, range % tile, tile));
    if (tile % threads != 0)
      parts.push_back(fmt::format("{} ({} over {} threads)", name, tile, threads));
  };
  for (const OutputIndex &index : plan_.output.indices)
    add(flat_.names[index.index], flat_.ranges[index.index], index.tile, index.threads);
  std::size_t r = 0;
  for (std::size_t i = 0; i < flat_.rank() && r < plan_.reduction.size(); ++i)
    if (!flat_.is_output(i))
      add(flat_.names[i], flat_.ranges[i], tile_[i], plan_.reduction[r++].threads);
  return parts.empty() ? "" : fmt::format("  uneven, guarded: {}\n", fmt::join(parts, ", "));
}

std::string PlaidmlMapping::threads() const {
  std::vector<IndexThreads> dealt_out;
  std::vector<std::string> registers;
  for (const OutputIndex &index : plan_.output.indices) {
    dealt_out.push_back({flat_.names[index.index], index.tile, index.threads});
    if (index.registers() > 1)
      registers.push_back(fmt::format("{} {}", flat_.names[index.index], index.registers()));
  }
  std::string text = grid();
  text += fmt::format("{} -> {} accumulators\n", dealt(dealt_out), plan_.output.accumulators);
  if (!registers.empty())
    text += fmt::format("  registers, innermost first: {}\n", fmt::join(registers, ", "));
  if (plan_.merge_steps > 0)
    text += fmt::format("  left-over threads: {}; {} merge steps\n", dealt(plan_.reduction),
                        plan_.merge_steps);
  text += uneven();
  for (std::size_t k = 0; k < plan_.loads.size() && !in_place_; ++k)
    text += fmt::format("load {}: {} -> {} per thread\n", flat_.accesses[k + 1].name,
                        dealt(plan_.loads[k]), points(plan_.loads[k]));
  return text;
}

std::string PlaidmlMapping::outer_loops() const {
  std::vector<std::string> loops;
  for (std::size_t i = 0; i < flat_.rank(); ++i)
    if (!flat_.is_output(i))
      loops.push_back(fmt::format("{} {} of {}", flat_.names[i],
                                  ceil_div(flat_.ranges[i], tile_[i]), tile_[i]));
  return loops.empty() ? "once" : fmt::format("for each tile of {}", fmt::join(loops, ", "));
}

std::string PlaidmlMapping::outline(std::size_t number) const {
  std::string text = fmt::format("kernel_ID_{}\n", number);
  if (flat_.is_contraction) {
    text +=
        fmt::format("  clear {} accumulators\n  {}\n", plan_.output.accumulators, outer_loops());
    for (std::size_t k = 0; k < layouts_.size() && !in_place_; ++k)
      text += fmt::format("    load {}: {} elements of shared memory\n", flat_.accesses[k + 1].name,
                          layouts_[k].elems);
    std::vector<std::string> order;
    for (const std::size_t k : plan_.loop_order)
      order.push_back(flat_.names[plan_.output.indices[k].index]);
    text += fmt::format("{}    accumulate, loops outermost first: {}\n{}",
                        in_place_ ? "" : "    barrier\n", fmt::join(order, " "),
                        in_place_ ? "" : "    barrier\n");
    if (!flat_.limits.empty())
      text += "      (every point is checked where a constraint can fail in the tile)\n";
  }
  if (plan_.merge_steps > 0)
    text += fmt::format("  merge partial sums in {} steps\n", plan_.merge_steps);
  for (const std::string &op : kernel_.post_ops)
    text += fmt::format("  {}\n", op);
  return text + fmt::format("  write {}\n", fmt::join(kernel_.outputs, ", "));
}

} // namespace tilefuse::report
