// SPDX-License-Identifier: Apache-2.0
// The models behind cost::predict, one per kind of lane. Each requires a legal schedule.
#pragma once

#include "cost/estimate.h"
#include "nest/nest.h"
#include "poly/group.h"
#include "schedule/schedule.h"
#include "target/target.h"

namespace tilefuse::cost {

// Explicit vectors: cores with caches of their own, one block at a time. With `whole` the nest is a
// tile anywhere in it, whose results stay local.
Estimate predict_vector(const nest::Nest &nest, const schedule::Schedule &schedule,
                        const Target &target, const nest::Nest *whole = nullptr);

// Work-items: multiprocessors that run many blocks at a time.
Estimate predict_work_items(const nest::Nest &nest, const schedule::Schedule &schedule,
                            const Target &target);

// The same for cost::figures.
Figures vector_figures(const nest::Nest &nest, const schedule::Schedule &schedule);
Figures work_item_figures(const nest::Nest &nest, const schedule::Schedule &schedule,
                          const Target &target);
Figures core_figures(const nest::Nest &nest, const schedule::Schedule &schedule,
                     const Target &target);

Figures wgmma_figures(const nest::Nest &nest, const schedule::Schedule &schedule);

// What maps in the ring add to a kernel with matrix instructions (schedule/mma/core_feeds.h).
struct FedRing {
  double issued = 0;        // instructions of warps that map, in a step of a block
  double copied_bytes = 0;  // in a step of a block
  double local_bytes = 0;   // of a block
  double memory_bytes = 0;  // of the tensors that are read, beyond those that the anchor names
  double spread_cycles = 0; // of a step whose window a copy spreads to
};
FedRing fed_ring(const poly::Group &group, const schedule::Schedule &schedule);

// Matrix instructions: multiprocessors that run many blocks at a time.
Estimate predict_core(const nest::Nest &nest, const schedule::Schedule &schedule,
                      const Target &target, const FedRing &fed = {});
// Of the products for one tile of a consumer, on a target of one unit.
Estimate predict_core_tile(const nest::Nest &tile, const schedule::Schedule &schedule,
                           const Target &unit);

// Matrix instructions of four warps: a block to a multiprocessor.
Estimate predict_wgmma(const nest::Nest &nest, const schedule::Schedule &schedule,
                       const Target &target, const FedRing &fed = {});

// Vector or work-item operations of one evaluation of an expression, in multiply-adds.
double expression_slots(const program::Expr &expr);

} // namespace tilefuse::cost
