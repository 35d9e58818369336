// SPDX-License-Identifier: Apache-2.0
#include "poly/dependences.h"

namespace tilefuse::poly {
namespace {

// The pairs (a, b) with time(a) before time(b).
Relation forward(const Relation &pairs, const Relation &schedule) {
  return pairs - schedule.not_before();
}

} // namespace

Dependences dependences(const Scop &scop) {
  Dependences found{.domain = Points(domain_text(scop)),
                    .reads = Relation(reads_text(scop)),
                    .writes = Relation(writes_text(scop)),
                    .schedule = Relation(schedule_text(scop))};
  found.flow = forward(found.writes.then(found.reads.reversed()), found.schedule);
  const Relation touched = found.reads | found.writes;
  found.anti = forward(touched.then(found.writes.reversed()), found.schedule);
  return found;
}

Points universe(const Scop &scop, const Chosen &statements) {
  return Points(domain_text(scop, statements));
}

} // namespace tilefuse::poly
