// SPDX-License-Identifier: Apache-2.0
// What the statements of a scop ask of each other, for the sources of poly/ alone. Elements are
// written by one statement, or by the statements of one nest, so composing writes with reads is
// exact and no dataflow analysis is needed; the order in time drops what lies the other way.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "poly/isl_objects.h"
#include "poly/scop.h"

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
