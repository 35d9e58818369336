// SPDX-License-Identifier: Apache-2.0
// What the parts of the C-like printer share: the kernel, the dialect, and the helper functions
// asked for so far.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "emit/c/dialect.h"
#include "package/package.h"

namespace tilefuse::emit {

struct CContext {
  const kernel::Kernel &kernel;
  const Dialect &dialect;
  bool wide = false;            // int is 64 bits
  bool vector_target = false;   // rare paths of helpers stay functions
  std::vector<bool> split = {}; // by BufferId: a register array held as one variable per value
  std::vector<bool> words = {}; // by BufferId: fragments of matrix instructions, as 4-byte words
  std::vector<std::int64_t> divisors = {};         // by VarId: see c_align.h
  std::map<std::string, std::string> helpers = {}; // name → definition

  // A block of one work-item keeps its scratch to itself, like its registers.
  std::string_view scratch_space() const {
    return kernel.block_size == 1 ? dialect.private_space : dialect.local_space;
  }
  std::string_view scratch_array() const {
    return kernel.block_size == 1 ? dialect.private_space : dialect.local_array;
  }
  // A choice between values of `lanes` lanes by a condition of as many.
  std::string select(int lanes, const std::string &condition, const std::string &a,
                     const std::string &b) const;
  std::string index_type() const { return wide ? "long" : "int"; }
};

// C type of a value, and the name of a type inside helpers' names ("f32x8").
std::string value_type(const CContext &cx, const kernel::Type &type);
std::string type_tag(const kernel::Type &type);

// A number as a value of the type, in every lane.
std::string literal(const CContext &cx, const kernel::Type &type, double value);
std::string integer_literal(const CContext &cx, std::int64_t value);

std::string buffer_name(const CContext &cx, kernel::BufferId id);
std::string register_name(const CContext &cx, kernel::BufferId id, std::int64_t index);
std::string variable_name(kernel::VarId id);
// "__global const float*".
std::string pointer_type(const CContext &cx, const kernel::Buffer &buffer);

// Each makes sure that a helper function exists and gives its name. Arguments of the functions:
std::string select_helper(CContext &cx, ScalarOp min_or_max, const kernel::Type &type); // (a, b)
std::string division_helper(CContext &cx, ScalarOp div_or_mod,
                            const kernel::Type &type); // (a, b), safe for every b
// (a), for RoundF16 and RoundBF16.
std::string rounding_helper(CContext &cx, ScalarOp op, const kernel::Type &type);
std::string load_helper(CContext &cx, const kernel::Buffer &buffer,
                        int lanes); // (pointer, valid, fill)
std::string store_helper(CContext &cx, const kernel::Buffer &buffer,
                         int lanes); // (pointer, value, valid)
// (pointer, stride, valid, fill) and (pointer, stride, value, valid).
std::string gather_helper(CContext &cx, const kernel::Buffer &buffer, int lanes);
std::string scatter_helper(CContext &cx, const kernel::Buffer &buffer, int lanes);

// Matrix instructions and asynchronous copies as statements. Error{Unsupported} where the dialect
// has none.
std::vector<bool> fragment_buffers(const kernel::Kernel &kernel);
std::string declare_words(const CContext &cx, kernel::BufferId id);
std::string load_matrix_text(CContext &cx, const kernel::LoadMatrix &node);
std::string mma_text(CContext &cx, const kernel::Mma &node);
std::string async_copy_text(CContext &cx, const kernel::AsyncCopy &node);
std::string async_commit_text(const CContext &cx);
std::string async_wait_text(const CContext &cx, const kernel::AsyncWait &node);
// The values of an accumulator: variables, or lanes of one.
std::vector<std::string> accumulator_names(const CContext &cx, const kernel::RegisterRef &ref,
                                           const Fragment &fragment);
std::string map_parameters(const CContext &cx);  // ", const TYPE t0, …"
std::string fetch_maps_text(const CContext &cx); // a line of an entry point, or none
// Of an entry point, with a blank in front; empty without clusters.
std::string cluster_attribute(const CContext &cx);
std::string cluster_barrier_text(const CContext &cx);
std::string mbarrier_text(CContext &cx, const kernel::Mbarrier &node);
// A pointer to the same element of the cluster's block of a rank.
std::string pointer_of_rank(CContext &cx, const std::string &pointer, kernel::ExprRef rank);
std::string tensor_copy_text(CContext &cx, const kernel::TensorCopy &node);
std::string tensor_store_text(CContext &cx, const kernel::TensorStore &node);
std::string store_sync_text(const CContext &cx, const kernel::StoreSync &node);
std::string wgmma_text(CContext &cx, const kernel::Wgmma &node);
std::string wgmma_sync_text(const CContext &cx, const kernel::WgmmaSync &node);
std::string register_limit_text(const CContext &cx, const kernel::RegisterLimit &node);
TensorView view_of(const kernel::Kernel &kernel, const kernel::TensorMap &map);

// An expression as C text, in parentheses where it is not a single term; `bare` is without the
// outer ones.
std::string expression(CContext &cx, kernel::ExprRef expr);
std::string bare(std::string text);
// "base + index" of a bare index.
std::string offset(const std::string &base, const std::string &index);

// A load and a store (a statement without indentation).
std::string load_text(CContext &cx, const kernel::Type &type, const kernel::Load &load);
std::string store_text(CContext &cx, const kernel::Store &store);

} // namespace tilefuse::emit
