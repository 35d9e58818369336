// SPDX-License-Identifier: Apache-2.0
#include "base/words.h"
#include "poly/fuse.h"

namespace tilefuse::poly {
namespace {

constexpr auto kLevels = words<FuseLevel>(
    {{FuseLevel::None, "none"}, {FuseLevel::Pointwise, "pointwise"}, {FuseLevel::All, "all"}});

} // namespace

std::string_view to_string(FuseLevel level) { return kLevels[level]; }

std::optional<FuseLevel> parse_fuse_level(std::string_view text) { return kLevels.find(text); }

} // namespace tilefuse::poly
