// SPDX-License-Identifier: Apache-2.0
// The named convolution algorithms, as schedules. Each is a function of the nest's roles: which
// output indices move the filter only (channels), the data only (pixels) or both (shared), and
// which reduced ones share a subscript with a pixel (taps) or not (depth). A matrix product has no
// taps, a depthwise convolution no channels, a gradient the same roles in other places.
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
//   mma            matrix instructions on swizzled tiles (schedule/core.h)
//   mma_tf32       the same, f32 operands rounded to tf32
//   mma_nchw32     the same for channels in blocks of 32 bytes, as MegEngine has it
//   wgmma          matrix instructions of four warps, fed by tensor copies (schedule/wgmma.h)
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
#include "target/target.h"

namespace tilefuse::schedule {

// Output indices of extent 1 have no role.
struct Roles {
  int data = 0; // inputs
  int filter = 1;
  std::vector<int> channels, pixels, shared; // output indices, smallest result stride first
  std::vector<int> depth, taps;              // reduced indices
};

// Nothing for a nest that is not a sum of products of two inputs.
std::optional<Roles> roles_of(const nest::Nest &nest);

// Sizes of a form. They are targets: each is fitted to the extents, to waste little.
struct FormSizes {
  std::int64_t channel_lanes = 16;
  std::int64_t channel_vec = 4;
  std::int64_t channel_keep = 2;
  std::int64_t next_keep = 1; // of the next channel index
  std::int64_t pixel_lanes = 16;
  std::int64_t pixel_keep = 8;
  std::int64_t row_keep = 1; // of the next pixel index
  std::int64_t depth = 8;    // of a chunk
  bool near = false;         // copies of pixels are neighbours
  std::int64_t ring = 0;     // buffers that asynchronous copies fill; 0: none do
  int stream = 0;            // bodies of the streamed filter that registers hold; 0: none
  friend bool operator==(const FormSizes &, const FormSizes &) = default;
};

struct NamedSchedule {
  std::optional<Schedule> schedule;
  std::string refusal; // why the algorithm does not fit, when there is no schedule
};

std::vector<std::string> algorithm_names();
// The algorithm with its usual sizes, legal on the target. Error{Unsupported} for an unknown name.
NamedSchedule named_schedule(std::string_view name, const nest::Nest &nest, const Target &target);
// The same with other sizes, for a search. Not checked for legality.
NamedSchedule form(std::string_view name, const nest::Nest &nest, const Target &target,
                   const FormSizes &sizes);

} // namespace tilefuse::schedule
