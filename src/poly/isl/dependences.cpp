// SPDX-License-Identifier: Apache-2.0
#include "poly/isl/dependences.h"

#include <algorithm>
#include <vector>

namespace tilefuse::poly {
namespace {

bool reads_memory(const ScopStatement &statement, const std::string &memory) {
  return std::any_of(statement.reads.begin(), statement.reads.end(),
                     [&](const ScopAccess &access) { return access.memory == memory; });
}

// The accesses and the time of one statement.
struct Accesses {
  Relation reads;
  Relation writes;
  Relation schedule;
};

// Pairs of instances of `from` and `to` that touch one element, of one statement only those in the
// order of time.
Relation together(const Relation &from, const Relation &to, bool is_one, const Relation &schedule) {
  const Relation pairs = from.then(to.reversed());
  return is_one ? pairs - schedule.not_before() : pairs;
}

} // namespace

Dependences dependences(const Scop &scop) {
  Dependences found{.domain = Points(domain_text(scop)),
                    .reads = Relation(reads_text(scop)),
                    .writes = Relation(writes_text(scop)),
                    .schedule = Relation(schedule_text(scop)),
                    .flow = Relation(std::string("{ }")),
                    .anti = Relation(std::string("{ }"))};
  std::vector<Accesses> of;
  for (const ScopStatement &statement : scop.statements) {
    const Chosen one = {statement.name};
    of.push_back({Relation(reads_text(scop, one)), Relation(writes_text(scop, one)),
                  Relation(schedule_text(scop, one))});
  }
  for (std::size_t a = 0; a < of.size(); ++a)
    for (std::size_t b = a; b < of.size(); ++b) {
      const ScopStatement &first = scop.statements[a];
      const ScopStatement &then = scop.statements[b];
      const bool is_one = a == b;
      if (is_one && first.is_reduction)
        continue;
      if (reads_memory(then, first.write.memory))
        found.flow = found.flow | together(of[a].writes, of[b].reads, is_one, of[a].schedule);
      if (reads_memory(first, then.write.memory))
        found.anti = found.anti | together(of[a].reads, of[b].writes, is_one, of[a].schedule);
      if (first.write.memory == then.write.memory && !is_one)
        found.anti = found.anti | together(of[a].writes, of[b].writes, false, of[a].schedule);
    }
  return found;
}

Points universe(const Scop &scop, const Chosen &statements) {
  return Points(domain_text(scop, statements));
}

} // namespace tilefuse::poly
