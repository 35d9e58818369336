// SPDX-License-Identifier: Apache-2.0
// What the search answered, kept beside the kernels: a second start asks and does not search.
// An answer is filed under the hash of the question with its options, the group, the target and the
// version of the search. It is used when it reads back as a legal answer for that group; any other
// is searched for anew and replaced.
//
//   KeptChoices kept(&cache, target);
//   schedule = kept.schedule("pick", group, [&] { return search::pick(group, target); });
//   kept.write();
//
// Several threads may ask at once; questions that two of them ask at the same time are searched for
// twice.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "poly/group.h"
#include "runtime/store/kernel_cache.h"
#include "schedule/schedule.h"
#include "search/version.h"
#include "target/target.h"

namespace tilefuse::search {

// The best schedule by the cost model (search::pick).
inline constexpr std::string_view kPick = "pick";

class KeptChoices {
public:
  // Without a cache answers last as long as the object.
  KeptChoices(runtime::KernelCache *cache, const Target &target,
              std::string_view version = search::version());

  // A group's schedule, searched for when it is not kept.
  schedule::Schedule schedule(std::string_view question, const poly::Group &group,
                              const std::function<schedule::Schedule()> &search);
  // The same for groups whose answers are about to be asked for: each once, on all threads.
  void foresee(std::string_view question, std::span<const poly::Group *const> groups,
               const std::function<schedule::Schedule(const poly::Group &)> &search);
  // The same for a search that may find none.
  std::optional<schedule::Schedule>
  schedule_if_any(std::string_view question, const poly::Group &group,
                  const std::function<std::optional<schedule::Schedule>()> &search);
  // What a search found on the way to another answer: it need not be repeated, but is written only
  // if it is asked for.
  void note(std::string_view question, const poly::Group &group, const schedule::Schedule &found);
  // What was noted or kept under this question since the object was made.
  std::optional<schedule::Schedule> noted(std::string_view question, const poly::Group &group);

  // The same for answers that the caller reads and writes as text, about a group or about anything
  // else that its text says.
  std::optional<std::string> find(std::string_view question, std::string_view subject);
  std::optional<std::string> find(std::string_view question, const poly::Group &group);
  void keep(std::string_view question, std::string_view subject, std::string text);
  void keep(std::string_view question, const poly::Group &group, std::string text);

  int searched() const { return searched_; } // questions that were not answered by what was kept
  void write();                              // new answers, in one transaction

private:
  struct Answer {
    std::string text;
    bool is_new = false; // to be written
  };
  std::string key(std::string_view question, std::string_view subject) const;

  runtime::KernelCache *cache_;
  const Target &target_;
  std::string filed_under_; // target and version
  std::mutex mutex_;        // of the cache and the answers
  std::map<std::string, Answer> answers_;
  std::atomic<int> searched_ = 0;
};

} // namespace tilefuse::search
