// SPDX-License-Identifier: Apache-2.0
// Several kernels as one that is launched once: the classes of a strided input gradient, say.
//
// Blocks of the whole are those of its parts, one part's behind the other's; a block runs the body
// of the part that its number falls into. All of these have the block size of the first. Local and
// register buffers of one name and type are one buffer, so that a block takes what its largest part
// does.
//
// A part that is *dealt* has no blocks of its own: its work-items are dealt to the blocks of the
// first part, which run them before their own body. Where one work-item of the first part starts
// tensor copies (schedule/mma/core.h), the warps beside it would be idle: they run the dealt
// parts while the others multiply. So the zeros between the pixels of a strided input gradient are
// written while the pixels are computed. Where they lie as far from a result each, whoever stores
// that stores them too (launch/between.h). Parts *in step* have no blocks of their own
// either: those of the first take their tiles in turn with its own (lower/launch/in_step.h). Bodies
// of parts that *follow* stand behind the first one's, for the same blocks and work-items
// (launch/following.h).
//
//   if block < 132 { … if lane == 0 { copies } else if 32 <= lane { dealt } … }
//   else { the second part, `block - 132` its block }
#pragma once

#include <vector>

#include "lower/launch/side_parts.h"

namespace tilefuse::lower {

// Work-items of the kernel may run in any block, in any order, beside any others.
bool can_be_dealt(const kernel::Kernel &kernel);

// The first part is not dealt; the others have its block size or are, and can be. None runs in
// clusters: the blocks of one would be those of two parts. Parts write
// nothing that another part reads or writes, but what follows. Arguments are numbered without gaps.
kernel::Kernel side_by_side(const std::vector<SidePart> &parts);

} // namespace tilefuse::lower
