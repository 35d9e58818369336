// SPDX-License-Identifier: Apache-2.0
#include "search/network/program_price.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/index.h"
#include "base/thread_pool.h"
#include "cost/group_model.h"
#include "poly/post_ops.h"
#include "program/storage/storage.h"
#include "search/groups.h"
#include "search/network/split_groups.h"
#include "search/split.h"

namespace tilefuse::search {
namespace {

constexpr std::string_view kSeconds = "seconds";

// What names say is the same for equal layers.
std::string text_without_names(program::Program program) {
  for (program::Tensor &tensor : program.tensors)
    tensor.name.clear();
  for (program::Statement &statement : program.statements)
    statement.origin.clear();
  return program::to_text(program);
}

std::optional<double> parse_seconds(const std::string &text) {
  double seconds = 0;
  const char *end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, seconds);
  return error == std::errc() && last == end ? std::optional(seconds) : std::nullopt;
}

double weighed(const program::Program &program, const Target &target, KeptChoices &kept) {
  program::StoredProgram stored = program::assign_storage(program);
  double seconds = 0;
  for (const poly::PlacedGroup &placed :
       split_groups(poly::make_groups(stored), stored, target, {}, &kept)) {
    const schedule::Schedule schedule =
        kept.schedule(kPick, placed.group, [&] { return pick(placed.group, target); });
    seconds += following_seconds(cost::predict(placed.group, schedule, target), target);
  }
  return seconds;
}

} // namespace

std::vector<double> predicted_seconds(std::span<const program::Program> programs,
                                      const Target &target, KeptChoices &kept) {
  std::vector<std::string> texts;
  std::map<std::string, std::pair<const program::Program *, double>> distinct;
  for (const program::Program &program : programs) {
    texts.push_back(text_without_names(program));
    distinct.emplace(texts.back(), std::pair(&program, 0.0));
  }
  std::vector<std::pair<const std::string *, std::pair<const program::Program *, double> *>> asked;
  for (auto &[text, priced] : distinct) {
    const std::optional<std::string> known = kept.find(kSeconds, text);
    if (const std::optional<double> seconds = known ? parse_seconds(*known) : std::nullopt)
      priced.second = *seconds;
    else
      asked.emplace_back(&text, &priced);
  }
  ThreadPool pool(std::min(available_threads(), std::max(1, static_cast<int>(asked.size()))));
  pool.parallel_for(static_cast<std::int64_t>(asked.size()), [&](int, std::int64_t i) {
    const auto &[text, priced] = asked[at(i)];
    priced->second = weighed(*priced->first, target, kept);
    kept.keep(kSeconds, *text, fmt::to_string(priced->second));
  });
  std::vector<double> seconds;
  for (const std::string &text : texts)
    seconds.push_back(distinct.at(text).second);
  return seconds;
}

program::Program rewritten_where_quicker(const program::Program &program, Rewriting rewriting,
                                         const Target &target, KeptChoices &kept) {
  std::vector<program::Program> foreseen;
  rewriting(program, [&](program::Program of_form) {
    foreseen.push_back(std::move(of_form));
    return 1.0; // no form gains anything
  });
  predicted_seconds(foreseen, target, kept);
  return rewriting(program, [&](const program::Program &of_form) {
    return predicted_seconds(std::span(&of_form, 1), target, kept).front();
  });
}

} // namespace tilefuse::search
