// SPDX-License-Identifier: Apache-2.0
// Type rules of the kernel level, stated once: the builder aborts on a broken one, the parser
// throws it, the verifier returns it. Each rule gives the empty string when it holds, else one
// clause such as "add needs equal types; got f32 and i32".
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "kernel/nodes.h"

namespace tilefuse::kernel {

constexpr std::int64_t kMostElems = std::int64_t{1} << 40; // of a buffer

constexpr int kMaxLanes = 64;
constexpr int kMaxRows = 16; // of a register
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

// A sum of lanes, and op.products neighbours of each operand for each of them.
std::string dot_rule(const DotOp &op, Type a, Type b, Type c);

// A scalar, or a vector a whole number of times.
std::string broadcast_rule(Type value, int lanes);

// An access of `lanes` elements at an index of type `index`; `valid` is null where there is none.
std::string access_rule(const Buffer &buffer, Type index, int lanes, std::int64_t lane_stride,
                        const Type *valid);

// A store of a value to a buffer.
std::string store_rule(const Buffer &buffer, Type value);

// Blocks, work-items, and the cluster that divides the blocks.
std::string shape_rule(const Kernel &kernel);
std::string barrier_rule(const Kernel &kernel, const Barrier &barrier);
std::string tensor_map_rule(const Kernel &kernel, const TensorMap &map);
std::string remote_load_rule(const Kernel &kernel, const Load &load);

// Elements of a map's box, and bytes.
std::int64_t box_elems(const TensorMap &map);
std::int64_t box_bytes(const Kernel &kernel, const TensorMap &map);
// Where byte `at` of a box, counted without swizzle from an aligned address, lies.
std::int64_t swizzled(std::int64_t at, int row_bytes);

// Parts of the rules of intrinsics (kernel/intrinsics.h): a value of a Register buffer of that
// type; an element of a Local buffer of that type, of `what`; an int that names blocks of a
// cluster, within [low, high] where it is constant.
std::string register_rule(const Kernel &kernel, const RegisterRef &ref, Type type);
std::string local_rule(const Kernel &kernel, const LocalRef &ref, DType type,
                       std::string_view what);
std::string cluster_rule(const Kernel &kernel, ExprRef named, std::int64_t low, std::int64_t high,
                         std::string_view what);

// Values of the Register buffer that a fragment takes up.
std::int64_t fragment_values(const Kernel &kernel, const RegisterRef &ref,
                             const Fragment &fragment);
// The fragment in registers that is operand a of a wgmma; nothing where local memory holds a.
std::optional<RegisterRef> fragment_of(const Kernel &kernel, const Wgmma &wgmma);
// Elements of one work-item in a LoadMatrix, and the values of `to` they fill.
int load_matrix_elems(const LoadMatrix &load, DType elem);
std::int64_t load_matrix_values(const Kernel &kernel, const LoadMatrix &load);

// A buffer's own type and size.
std::string buffer_rule(const Buffer &buffer);

// A letter or `_`, then letters, digits and `_`; not a word of the kernel text.
bool is_identifier(std::string_view name);

} // namespace tilefuse::kernel
