// SPDX-License-Identifier: Apache-2.0
// Tensor copies, their barriers and matrix instructions of four warps as statements.
// Error{Unsupported} where the dialect has none.
#pragma once

#include "emit/c/c_context.h"

namespace tilefuse::emit {

std::string map_parameters(const CContext &cx); // ", const TYPE t0, …"

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

} // namespace tilefuse::emit
