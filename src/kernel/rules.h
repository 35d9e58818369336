// SPDX-License-Identifier: Apache-2.0
// Type rules of the kernel level, stated once: the builder aborts on a broken one, the parser
// throws it, the verifier returns it. Each rule gives the empty string when it holds, else one
// clause such as "add needs equal types; got f32 and i32".
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "kernel/nodes.h"

namespace tilefuse::kernel {

constexpr std::int64_t kMostElems = std::int64_t{1} << 40; // of a buffer

constexpr int kMaxLanes = 64;
// The type of index arithmetic.
constexpr Type kInt{DType::I32, 1};

// "f32" or "f32x8".
std::string to_string(Type type);

// A type that has arithmetic of whole numbers: neither floating point nor Bool.
bool is_integer(DType type);

// The value as an element of the type holds it: rounded for floats, truncated and saturated for
// integers, 0 or 1 for Bool.
double narrowed(double value, DType type);

// What an operation on these types gives, once its rule holds.
Type scalar_type(ScalarOp op, std::span<const Type> args);
std::string scalar_rule(ScalarOp op, std::span<const Type> args);

// a * b + c: one floating-point type.
std::string fma_rule(Type a, Type b, Type c);

// An access of `lanes` elements at an index of type `index`; `valid` is null where there is none.
std::string access_rule(const Buffer &buffer, Type index, int lanes, std::int64_t lane_stride,
                        const Type *valid);

// A store of a value to a buffer.
std::string store_rule(const Buffer &buffer, Type value);

// Operations of a warp or on memory beside it, with the buffers and types they name.
// Blocks, work-items, and the cluster that divides the blocks.
std::string shape_rule(const Kernel &kernel);
std::string barrier_rule(const Kernel &kernel, const Barrier &barrier);
std::string load_matrix_rule(const Kernel &kernel, const LoadMatrix &load);
std::string mma_rule(const Kernel &kernel, const Mma &mma);
std::string async_copy_rule(const Kernel &kernel, const AsyncCopy &copy);
std::string async_wait_rule(std::int64_t pending);
std::string tensor_map_rule(const Kernel &kernel, const TensorMap &map);
std::string ticket_rule(const Kernel &kernel, const Ticket &ticket);
std::string remote_load_rule(const Kernel &kernel, const Load &load);
std::string mbarrier_rule(const Kernel &kernel, const Mbarrier &mbarrier);
std::string tensor_copy_rule(const Kernel &kernel, const TensorCopy &copy);
std::string tensor_store_rule(const Kernel &kernel, const TensorStore &store);
std::string store_sync_rule(const StoreSync &sync);
std::string wgmma_rule(const Kernel &kernel, const Wgmma &wgmma);
std::string wgmma_sync_rule(const WgmmaSync &sync);
std::string register_limit_rule(const RegisterLimit &limit);

// Elements of a map's box, and bytes.
std::int64_t box_elems(const TensorMap &map);
std::int64_t box_bytes(const Kernel &kernel, const TensorMap &map);
// Where byte `at` of a box, counted without swizzle from an aligned address, lies.
std::int64_t swizzled(std::int64_t at, int row_bytes);
// The accumulator's rule, shared with Mma.
std::string register_rule(const Kernel &kernel, const RegisterRef &ref, Type type);

// Values of the Register buffer that a fragment takes up.
std::int64_t fragment_values(const Kernel &kernel, const RegisterRef &ref,
                             const Fragment &fragment);
// Elements of one work-item in a LoadMatrix, and the values of `to` they fill.
int load_matrix_elems(const LoadMatrix &load, DType elem);
std::int64_t load_matrix_values(const Kernel &kernel, const LoadMatrix &load);

// A buffer's own type and size.
std::string buffer_rule(const Buffer &buffer);

// A letter or `_`, then letters, digits and `_`; not a word of the kernel text.
bool is_identifier(std::string_view name);

} // namespace tilefuse::kernel
