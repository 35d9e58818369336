// SPDX-License-Identifier: Apache-2.0
// What the statements of a scop ask of each other, for the sources of poly/ alone. The statements
// of a scop run one after the other and sums may be taken in any order, so composing writes with
// reads is exact and no dataflow analysis is needed: only a statement that is no sum and reads what
// it writes has its instances compared in time.
#pragma once

#include "poly/isl/isl_objects.h"
#include "poly/isl/scop.h"

namespace tilefuse::poly {

struct Dependences {
  Points domain;
  Relation reads;    // instance → element
  Relation writes;   // instance → element
  Relation schedule; // instance → time
  Relation flow;     // what writes an element → what reads it later
  Relation anti;     // what reads or writes an element → what writes it later
  Relation all() const { return flow | anti; }
};

Dependences dependences(const Scop &scop);

// The instances of some statements, all of them.
Points universe(const Scop &scop, const Chosen &statements);

} // namespace tilefuse::poly
