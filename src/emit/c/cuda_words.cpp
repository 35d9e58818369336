// SPDX-License-Identifier: Apache-2.0
#include "emit/c/cuda_words.h"

#include <string_view>

#include <fmt/format.h>

#include "emit/c/c_expr.h"
#include "emit/c/c_names.h"

namespace tilefuse::emit {
namespace {

constexpr std::string_view kNeighbours =
    R"cuda(template <int N> {0} tf_vec<uint, N> tf_words(const ushort *p, {1} valid) {{
  const int odd = (int)((ulong)p >> 1 & 1);
  const uint *words = (const uint*)(p - odd);
  valid = valid < 2 * N ? valid : 2 * N;
  uint low = valid > 0 ? words[0] : 0u;
  tf_vec<uint, N> r;
  _Pragma("unroll") TF_EACH {{
    const uint high = 2 * i + 2 - odd < valid ? words[i + 1] : 0u;
    const uint both = __byte_perm(low, high, odd ? 0x5432u : 0x3210u);
    r.v[i] = both & (2 * i + 1 < valid ? 0xffffffffu : 2 * i < valid ? 0xffffu : 0u);
    low = high; }}
  return r; }}
)cuda";

constexpr std::string_view kApart =
    R"cuda(template <int N> {0} tf_vec<uint, N> tf_words_apart(const ushort *p, {1} stride, {1} valid) {{
  tf_vec<uint, N> r;
  _Pragma("unroll") TF_EACH {{
    const uint low = 2 * i < valid ? p[2 * i * stride] : 0u;
    const uint high = 2 * i + 1 < valid ? p[(2 * i + 1) * stride] : 0u;
    r.v[i] = low | high << 16; }}
  return r; }}
)cuda";

} // namespace

std::string words_text(CContext &cx, const kernel::Load &load, int lanes) {
  const bool is_apart = load.lane_stride != 1;
  const std::string name = is_apart ? "tf_words_apart" : "tf_words";
  cx.helpers.emplace(name, fmt::format(fmt::runtime(is_apart ? kApart : kNeighbours),
                                       cx.words().helper, cx.index_type()));
  const std::string from = offset(buffer_name(cx, load.buffer), bare(expression(cx, load.index)));
  const std::string valid =
      load.valid == nullptr ? integer_literal(cx, lanes) : bare(expression(cx, load.valid));
  const std::string stride =
      is_apart ? fmt::format("{}, ", integer_literal(cx, load.lane_stride)) : std::string();
  return fmt::format("{}<{}>({}, {}{})", name, lanes / 2, from, stride, valid);
}

} // namespace tilefuse::emit
