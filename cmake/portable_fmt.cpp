// SPDX-License-Identifier: Apache-2.0
// The part of the formatting library that Debian ships as a shared library alone.
#include <fmt/format-inl.h>

namespace fmt::detail {

template auto dragonbox::to_decimal(float) noexcept -> dragonbox::decimal_fp<float>;
template auto dragonbox::to_decimal(double) noexcept -> dragonbox::decimal_fp<double>;
template auto thousands_sep_impl(locale_ref) -> thousands_sep_result<char>;
template auto decimal_point_impl(locale_ref) -> char;

} // namespace fmt::detail
