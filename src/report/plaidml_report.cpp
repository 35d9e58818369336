// SPDX-License-Identifier: Apache-2.0
#include "report/plaidml_report.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "report/flat_table.h"
#include "report/plaidml_mapping.h"

namespace tilefuse::report {
namespace {

using namespace cost::plaidml;

std::string table_of(const Flat &flat) {
  FlatTable table{flat.names, flat.ranges, {}};
  const auto add = [&](const Access &access) {
    table.columns.push_back({access.name, access.offset, access.strides, access.vector});
  };
  for (const Access &access : flat.accesses)
    add(access);
  for (const Access &access : flat.post_inputs)
    add(access);
  return to_text(table);
}

// "-x - i <= -1"
std::string limit_text(const Limit &limit, const std::vector<std::string> &names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::int64_t factor = limit.coeff[i];
    if (factor == 0)
      continue;
    const bool first = text.empty();
    text += factor < 0 ? (first ? "-" : " - ") : (first ? "" : " + ");
    if (factor != 1 && factor != -1)
      text += fmt::format("{}*", factor < 0 ? -factor : factor);
    text += names[i];
  }
  return fmt::format("{} <= {}", text, limit.bound);
}

std::string flatten_text(const Kernel &kernel, const Flat &prepared, std::size_t number) {
  std::string text = fmt::format("Contraction kernel_ID_{}:\n", number);
  text += kernel.contraction.empty() ? "<empty>\n" : kernel.contraction + "\n";
  text += table_of(kernel.flat);
  for (const Limit &limit : kernel.flat.limits)
    text += fmt::format("Constraint: {}\n", limit_text(limit, kernel.flat.names));
  if (!kernel.post_ops.empty())
    text += "Output operations:\n";
  for (const std::string &op : kernel.post_ops)
    text += fmt::format("  {}\n", op);
  text += fmt::format("Outputs: {}\n", fmt::join(kernel.outputs, ", "));
  if (kernel.clears_first)
    text += "The result is not written whole: another kernel clears it first\n";
  if (!(prepared == kernel.flat))
    text += "Simplified:\n" + table_of(prepared);
  return text;
}

std::string counts_text(const Search &search) {
  std::size_t over_memory = 0;
  std::size_t over_regs = 0;
  for (const Visit &visit : search.visits) {
    over_memory += visit.score.verdict == Verdict::OverMemory ? 1U : 0U;
    over_regs += visit.score.verdict == Verdict::OverRegs ? 1U : 0U;
  }
  return fmt::format(
      "{} tiles: {} over memory, {} over regs, {} with a lower score\n", search.visits.size(),
      over_memory, over_regs,
      search.visits.size() - over_memory - over_regs -
          (search.visits[search.best].score.verdict == Verdict::Fits ? search.ties : 0));
}

std::string candidates_text(const Search &search, const Flat &flat, std::size_t entries) {
  std::string text;
  const std::size_t shown = std::min(entries, search.visits.size());
  for (std::size_t v = 0; v < shown; ++v)
    text += log_text(search.visits[v].tile, search.visits[v].stats, search.visits[v].score);
  if (shown < search.visits.size())
    text += fmt::format("({} more)\n", search.visits.size() - shown);
  const Visit &best = search.visits[search.best];
  text += counts_text(search);
  text += fmt::format("best score {:g}, {} with it, the last of these is chosen\n",
                      best.score.score, search.ties);
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < flat.rank(); ++i)
    parts.push_back(fmt::format("{}: {}", flat.names[i], best.tile[i]));
  return text + fmt::format("chosen tile: [{}]\n", fmt::join(parts, ", "));
}

void check_tiles(const std::vector<Tile> &tiles, const Flat &flat) {
  for (const Tile &tile : tiles) {
    if (tile.size() != flat.rank())
      throw Error(ErrorCode::Shape, fmt::format("tile {} has {} sizes, need {} for [{}]",
                                                cost::plaidml::to_text(tile), tile.size(),
                                                flat.rank(), fmt::join(flat.names, ", ")));
    for (std::size_t i = 0; i < tile.size(); ++i)
      if (tile[i] < 1 || tile[i] > flat.ranges[i])
        throw Error(ErrorCode::Shape,
                    fmt::format("tile {}: {} is {}, need 1 to {}", cost::plaidml::to_text(tile),
                                flat.names[i], tile[i], flat.ranges[i]));
  }
}

} // namespace

std::string explain_kernel(const Kernel &kernel, std::size_t number,
                           const PlaidmlOptions &options) {
  const Flat flat = prepare(kernel.flat, options.settings);
  check_tiles(options.tiles, flat);
  const auto wanted = [&](Section section) { return options.sections.count(section) != 0; };
  std::string text;
  if (wanted(Section::Flatten))
    text += heading(Section::Flatten) + flatten_text(kernel, flat, number);
  if (!wanted(Section::Candidates) && !wanted(Section::Layout) && !wanted(Section::Threads) &&
      !wanted(Section::Kernel))
    return text;
  const Search search = options.tiles.empty()
                            ? cost::plaidml::search(flat, options.settings, options.walk)
                            : evaluate(flat, options.settings, options.tiles);
  if (wanted(Section::Candidates))
    text += heading(Section::Candidates) + candidates_text(search, flat, options.log_entries);
  const PlaidmlMapping mapping(kernel, flat, search.visits[search.best].tile, options.settings);
  if (wanted(Section::Layout))
    text += heading(Section::Layout) + mapping.layouts();
  if (wanted(Section::Threads))
    text += heading(Section::Threads) + mapping.threads();
  if (wanted(Section::Kernel))
    text += heading(Section::Kernel) + mapping.outline(number);
  return text;
}

Explanation explain_with_plaidml(const program::Program &program, const PlaidmlOptions &options) {
  Explanation result;
  const bool with_program = options.sections.count(Section::Program) != 0;
  const std::vector<Kernel> all = kernels(program);
  for (std::size_t k = 0; k < all.size(); ++k)
    result.push_back({join_origins(program, all[k].statements),
                      [&program, options, with_program, k, kernel = all[k]] {
                        const std::string whole =
                            with_program ? heading(Section::Program) +
                                               program::to_text(excerpt(program, kernel.statements))
                                         : "";
                        return whole + explain_kernel(kernel, k, options);
                      }});
  return result;
}

} // namespace tilefuse::report
