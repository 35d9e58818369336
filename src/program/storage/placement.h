// SPDX-License-Identifier: Apache-2.0
// The work of assign_storage. Statements are visited from the last to the first, so that consumers
// come before producers: a consumer that can say where an operand should lie claims it (gives it a
// window), and what nobody claimed gets a buffer of its own when its definition is reached. A claim
// is safe by itself, whatever is claimed later.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/index.h"
#include "program/storage/boxes.h"
#include "program/storage/canonical.h"
#include "program/storage/layout.h"
#include "program/storage/stored_program.h"

namespace tilefuse::program {

class Placer {
public:
  Placer(const Program &program, Layout layout, bool pads_rows = false);
  StoredProgram run();

private:
  // One contraction of a chain of inserts; all of them write the same window.
  struct Insert {
    TensorId out{};
    std::size_t statement = 0;
    std::optional<Slice> slice; // set when the statement copies a box and leaves the rest alone
    Box writes;                 // at least what it writes
  };

  // Layouts and views (placement.cpp).
  Window new_window(TensorId owner, Shape strides, bool is_output);
  void settle(TensorId id);
  Shape preferred(TensorId id) const;
  Shape padded(TensorId id, Shape strides) const;
  Shape own_layout(TensorId id) const;
  bool is_assignment(TensorId id) const;
  void place_view(TensorId source, TensorId view, std::vector<TensorId> &copies);
  bool alias(TensorId source, TensorId view);
  bool can_return(TensorId source) const;
  void place_constants();
  StoredProgram finish();

  // Inserts (placement_inserts.cpp).
  void place_inserts(std::size_t statement);
  std::vector<Insert> gather_chain(std::size_t last);
  bool can_share_init(TensorId init) const;
  bool claim_slice(const Insert &insert);
  bool claim_permuted(const Statement &statement);
  bool is_claimable(TensorId id) const;
  bool suits(TensorId id, const Shape &strides, const Slice &slice, TensorId slab) const;
  int all_reads(TensorId source) const;
  bool is_written(TensorId owner) const;
  int writers(BufferId buffer) const;

  const Shape &shape(TensorId id) const { return program_[id].shape; }
  std::optional<Window> &window(TensorId id) { return windows_[at(id)]; }
  const std::optional<Window> &window(TensorId id) const { return windows_[at(id)]; }

  Program program_;                   // canonical, then with copies
  Uses uses_;                         // of the canonical program
  bool pads_rows_ = false;            // of temporaries that are row-major
  std::vector<std::size_t> channels_; // by TensorId: dimensions that it would like innermost
  std::vector<std::optional<Window>> windows_; // by TensorId
  std::vector<Buffer> buffers_;
  std::vector<TensorId> owners_;               // by BufferId: the tensor that spans it
  std::vector<bool> is_chained_;               // by statement: in a gathered chain
  std::vector<bool> is_in_place_;              // by statement: writes over its init
  std::vector<bool> is_dropped_;               // by statement: its operand is written in place
  std::vector<std::vector<Statement>> copies_; // by statement: to run before it
};

} // namespace tilefuse::program
