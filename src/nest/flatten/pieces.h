// SPDX-License-Identifier: Apache-2.0
// The nests that compute the result of one contraction: one per run of residue classes
// (residues.h), each an exact box that writes every element of its class, with an interleaved
// output operand. Classes that no point reaches are filled with 0.
//
//   stride 2, 3 taps, 7 elements:   out [2*x:7], 4 elements, 2 taps
//                                   out [2*x + 1:7], 3 elements, 1 tap
#pragma once

#include <vector>

#include "nest/flatten/flat_builder.h"
#include "nest/flatten/flat_statement.h"
#include "nest/flatten/reach.h"
#include "nest/flatten/residues.h"

namespace tilefuse::nest {

// Which elements of a result its nests write.
enum class Cover {
  Whole,   // all; 0 where nothing is reached
  Box,     // all of the smallest box around those that are reached; 0 likewise
  Reached, // those that are reached; so is a result of which some subscripts follow from others
};

class PieceBuilder {
public:
  // `picked`: the dimensions of the first operand at which the last ones say the subscripts.
  PieceBuilder(const program::StoredProgram &stored, const program::Statement &statement,
               const program::Contraction &body, std::vector<std::size_t> picked,
               const Defracted &defracted)
      : stored_(stored), statement_(statement), body_(body), picked_(std::move(picked)),
        defracted_(defracted) {}

  // Throws Error{Shape} for an assignment that would write an element twice, Error{Unsupported}
  // where the elements that are reached cannot be told from the others.
  std::vector<FlatStatement> build(Cover cover);

private:
  // What the variables are made of: wholes, residues and digits, from `lo` on.
  struct Unknown {
    std::string name;
    Interval range;
    bool is_output = false;
  };
  struct Space {
    std::vector<Unknown> unknowns; // output ones first
    std::vector<Linear> variables; // over the unknowns
  };

  std::vector<Interval> variable_ranges(Cover cover) const;
  bool has_dependent_results() const;
  Space space_of(const Residues &residues, const std::vector<Run> &runs) const;
  void add_output(Space &space, const Residues &residues, std::size_t j, Run run) const;
  void add_reduced(Space &space, const Residues &residues, const std::vector<Run> &runs,
                   std::size_t k) const;
  bool bound_reduced(Space &space) const;
  void emit(Space space, Cover cover, std::vector<FlatStatement> &flats) const;
  void emit_box(Space space, const IndexBox &box, bool is_reached,
                std::vector<FlatStatement> &flats) const;
  FlatStatement computed(const Space &space, bool reaches_all) const;
  FlatStatement filled(const Space &space) const;
  std::vector<Condition> conditions(const Space &space) const;
  std::vector<Linear> add_indices(FlatBuilder &builder, const Space &space) const;
  Operand operand(FlatBuilder &builder, program::TensorId tensor, std::size_t first_row,
                  const std::vector<Linear> &variables) const;
  void add_constraints(Nest &nest, std::size_t first_row,
                       const std::vector<Linear> &variables) const;
  void check_assignment(const Space &space) const;
  DType value_type() const;
  DType kept_type(bool reaches_all) const;
  program::Expr post(const Nest &nest, bool reaches_all) const;

  const program::StoredProgram &stored_;
  const program::Statement &statement_;
  const program::Contraction &body_;
  const std::vector<std::size_t> picked_;
  const Defracted &defracted_;
};

} // namespace tilefuse::nest
