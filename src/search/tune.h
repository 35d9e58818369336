// SPDX-License-Identifier: Apache-2.0
// What tuning tries next: a search over the schedules of one kernel that is told what was measured,
// and the sharing of one budget among the kernels of a network. No device here, and the answers
// follow from what was told.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "poly/group.h"
#include "search/pick.h"

namespace tilefuse::search {

// Where a candidate comes from.
enum class Source { Model, Start, Ranking, Neighbour, Random };
std::string_view to_string(Source source);

struct Proposal {
  schedule::Schedule schedule;
  Source source = Source::Ranking;
};

// Candidates of one kernel: starting points, then the cost model's ranking beside neighbours of the
// best measured and a few random schedules. No schedule is proposed twice. Of a group with producers
// or sums the ranking is the model's choice alone, and random schedules stand for neighbours.
class KernelSearch {
public:
  // `group` and `target` must outlive the search. Error{Unsupported} where no schedule of the group
  // fits the target.
  KernelSearch(const poly::Group &group, const Target &target);

  const schedule::Schedule &model_choice() const { return ranking_.front().schedule; }
  void add_start(const schedule::Schedule &schedule);
  // A schedule measured earlier, or now: its time over that of the model's choice. A ratio of 0:
  // it is known and of no use.
  void tell(const schedule::Schedule &schedule, double ratio, Source source);
  // At most `count`, fewer when the space seems exhausted.
  std::vector<Proposal> propose(std::size_t count);

  bool is_known(const schedule::Schedule &schedule) const;
  std::size_t tried() const { return told_; }

private:
  struct Measured {
    schedule::Schedule schedule;
    double ratio = 1;
    Source source = Source::Model;
  };

  bool propose_ranked(std::vector<Proposal> &into);
  bool propose_neighbour(std::vector<Proposal> &into);
  bool propose_random(std::vector<Proposal> &into);
  bool is_promising(const schedule::Schedule &schedule) const;
  bool add(std::vector<Proposal> &into, const schedule::Schedule &schedule, Source source);

  const poly::Group &group_;
  const Target &target_;
  std::vector<Candidate> ranking_;
  std::vector<schedule::Schedule> starts_;
  std::vector<Measured> best_; // by ratio, a few
  std::map<std::string, bool> known_;
  std::size_t next_ranked_ = 1;
  std::size_t told_ = 0;
  std::uint64_t seed_ = 0;
  Random random_; // of the batch being proposed
};

// One kernel as the sharing of the budget sees it.
struct Stake {
  double seconds = 0;   // of one launch, as well as is known now
  double launches = 1;  // in the network
  double hope = 0.2;    // share of the time that rounds saved lately
  double fruitless = 0; // rounds since one that saved something
  double cost = 1;      // seconds of a round
  bool is_done = false; // nothing left to try
};

// After a round that took `cost` seconds and brought `before` seconds down to `after`.
void learn(Stake &stake, double before, double after, double cost);
// The share of its time that a kernel's next round is expected to save. Each round that brings
// nothing lowers it, so that a kernel's rounds come to be in proportion to its time.
double expected_gain(const Stake &stake);
// The stake whose next round saves most per second of tuning, or size() when all are done.
std::size_t next_stake(std::span<const Stake> stakes);

} // namespace tilefuse::search
