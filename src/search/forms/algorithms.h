// SPDX-License-Identifier: Apache-2.0
// The named convolution algorithms, as schedules. Each is a function of the nest's roles: which
// output indices move the filter only (channels), the data only (pixels) or both (shared), and
// which reduced ones share a subscript with a pixel (taps) or not (depth). A matrix product has no
// taps, a depthwise convolution no channels, or a few filters of each, a gradient the same roles in
// other places.
//
//   direct         lanes are pixels, channels are kept; data staged, the filter read by each
//   direct_cached  the same, the filter's current tap staged too: a barrier per refill
//   ilpm           lanes are channels, pixels are kept; data staged and read as broadcasts, the
//                  filter streamed from its packed form, no barrier between refills of the data
//   plaidml        lanes over channels and pixels by powers of two, both staged, odd strides
//   igemm          a register tile over channels and pixels, both staged chunk by chunk, twice
//   igemm_async    igemm whose chunks asynchronous copies fetch, two ahead
//   pointwise      igemm where there are no taps
//   first_layer    the whole depth at once, for few input channels; the filter stays staged
//   depthwise      lanes over the fastest output index, nothing staged
//   cpu            vector lanes over channels, register blocking, packed filter
//   mma            matrix instructions on swizzled tiles (schedule/mma/core.h)
//   mma_tf32       the same, f32 operands rounded to tf32
//   mma_nchw32     the same for channels in blocks of 32 bytes, as MegEngine has it
//   wgmma          matrix instructions of four warps, fed by tensor copies (schedule/mma/core.h)
//   wgmma_store    the same, results leave by tensor stores
//   wgmma_swapped  the same, the instruction's rows are channels, for few points
//   wgmma_window   the same, all taps of a tile from one window of data
//   wgmma_gather   the same, warps gather the data: channels in blocks, runs off 16 bytes
//   wgmma_stream   the same, beside a filter that no block keeps
//   wgmma_tf32     these six, f32 operands rounded to tf32: wgmma_tf32_store, …
//   wgmma_cluster  wgmma on clusters of two blocks that share the filter's tiles, or the data's
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nest/nest.h"
#include "schedule/schedule.h"
#include "search/forms/fma_forms.h"
#include "search/forms/named_schedule.h"
#include "target/target.h"

namespace tilefuse::search {

std::vector<std::string> algorithm_names();
// The algorithm with its usual sizes, legal on the target. Error{Unsupported} for an unknown name.
NamedSchedule named_schedule(std::string_view name, const Nest &nest, const Target &target);
// The same with other sizes. Not checked for legality.
NamedSchedule form(std::string_view name, const Nest &nest, const Target &target,
                   const FormSizes &sizes);
// The same for a search, which tries many sizes of a nest; nothing where the algorithm does not fit.
std::optional<Schedule> form(std::string_view name, const Nest &nest, const Target &target,
                             const FormStart &start, const FormSizes &sizes);

} // namespace tilefuse::search
