// SPDX-License-Identifier: Apache-2.0
#include "search/network/kept_choices.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/thread_pool.h"
#include "schedule/legal.h"
#include "schedule/members.h"
#include "schedule/text.h"

namespace tilefuse::search {
namespace {

constexpr std::string_view kNone = "none";

// Nothing when the text is no schedule for this group.
std::optional<schedule::Schedule> parse(const poly::Group &group, const Target &target,
                                        const std::string &text) {
  try {
    schedule::Schedule schedule = schedule::parse_schedule(group, text);
    if (schedule::to_text(group, schedule) == text && !schedule::illegal(group, schedule, target))
      return schedule;
  } catch (const Error &) { // searched for anew
  }
  return std::nullopt;
}

} // namespace

KeptChoices::KeptChoices(runtime::KernelCache *cache, const Target &target,
                         std::string_view version)
    : cache_(cache), target_(target),
      filed_under_(fmt::format("{}\n{}", tilefuse::to_text(target), version)) {}

std::string KeptChoices::key(std::string_view question, std::string_view subject) const {
  return content_hash(fmt::format("{}\n{}\n{}", question, subject, filed_under_));
}

std::optional<std::string> KeptChoices::find(std::string_view question, const poly::Group &group) {
  return find(question, poly::to_text(group));
}

void KeptChoices::keep(std::string_view question, const poly::Group &group, std::string text) {
  keep(question, poly::to_text(group), std::move(text));
}

std::optional<std::string> KeptChoices::find(std::string_view question, std::string_view subject) {
  const std::string filed = key(question, subject);
  const std::lock_guard lock(mutex_);
  if (const auto known = answers_.find(filed); known != answers_.end()) {
    known->second.is_new = true;
    return known->second.text;
  }
  return cache_ == nullptr ? std::nullopt : cache_->get_text(filed);
}

void KeptChoices::keep(std::string_view question, std::string_view subject, std::string text) {
  const std::string filed = key(question, subject);
  const std::lock_guard lock(mutex_);
  answers_[filed] = {std::move(text), true};
  ++searched_;
}

void KeptChoices::note(std::string_view question, const poly::Group &group,
                       const schedule::Schedule &found) {
  const std::string filed = key(question, poly::to_text(group));
  const std::lock_guard lock(mutex_);
  answers_.emplace(filed, Answer{schedule::to_text(group, found)});
}

std::optional<schedule::Schedule> KeptChoices::noted(std::string_view question,
                                                     const poly::Group &group) {
  const std::string filed = key(question, poly::to_text(group));
  std::string text;
  {
    const std::lock_guard lock(mutex_);
    const auto known = answers_.find(filed);
    if (known == answers_.end())
      return std::nullopt;
    text = known->second.text;
  }
  return parse(group, target_, text);
}

schedule::Schedule KeptChoices::schedule(std::string_view question, const poly::Group &group,
                                         const std::function<schedule::Schedule()> &search) {
  if (const std::optional<std::string> text = find(question, group))
    if (std::optional<schedule::Schedule> read = parse(group, target_, *text))
      return std::move(*read);
  schedule::Schedule found = search();
  keep(question, group, schedule::to_text(group, found));
  return found;
}

void KeptChoices::foresee(std::string_view question, std::span<const poly::Group *const> groups,
                          const std::function<schedule::Schedule(const poly::Group &)> &search) {
  std::map<std::string, const poly::Group *> distinct;
  for (const poly::Group *group : groups)
    distinct.emplace(poly::to_text(*group), group);
  const std::vector all(distinct.begin(), distinct.end());
  ThreadPool pool(std::min(available_threads(), std::max(1, static_cast<int>(all.size()))));
  pool.parallel_for(static_cast<std::int64_t>(all.size()), [&](int, std::int64_t i) {
    const poly::Group &group = *all[at(i)].second;
    schedule(question, group, [&] { return search(group); });
  });
}

std::optional<schedule::Schedule>
KeptChoices::schedule_if_any(std::string_view question, const poly::Group &group,
                             const std::function<std::optional<schedule::Schedule>()> &search) {
  if (const std::optional<std::string> text = find(question, group)) {
    std::optional<schedule::Schedule> read = parse(group, target_, *text);
    if (read || *text == kNone)
      return read;
  }
  std::optional<schedule::Schedule> found = search();
  keep(question, group, found ? schedule::to_text(group, *found) : std::string(kNone));
  return found;
}

void KeptChoices::write() {
  const std::lock_guard lock(mutex_);
  std::vector<std::pair<std::string, std::string>> rows;
  for (auto &[filed, answer] : answers_)
    if (std::exchange(answer.is_new, false))
      rows.emplace_back(filed, answer.text);
  if (cache_ != nullptr)
    cache_->put_texts(rows);
}

} // namespace tilefuse::search
