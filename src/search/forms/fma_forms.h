// SPDX-License-Identifier: Apache-2.0
// The named algorithms that multiply and add scalars or vectors, as schedules of given sizes.
#pragma once

#include <cstdint>
#include <vector>

#include "base/index.h"
#include "nest/nest.h"
#include "schedule/roles.h"
#include "schedule/schedule.h"
#include "target/target.h"

namespace tilefuse::search {

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
  bool turned = false; // channels are the fastest lanes, however results lie: these are turned
  friend bool operator==(const FormSizes &, const FormSizes &) = default;
};

// What all forms of a nest begin with.
struct FormStart {
  schedule::Roles roles; // taps that are fastest in the result come behind an index of many points
  nest::Linear out;      // where results lie
  schedule::Schedule schedule; // of work-items, loops in order, nothing split
};
FormStart form_start(const nest::Nest &nest, const schedule::Roles &roles);
// That one and, where pixels that are fastest in the result are few in a row and those of another
// index many, the one in which the other of the two comes first: a row of 7 or 14 pixels is all of it
// a work-item's copies, or they are the same pixel of 8 images.
std::vector<FormStart> form_starts(const nest::Nest &nest, const schedule::Roles &roles);

// Builds one schedule of a nest whose indices play known roles: one call of a builder, once.
class FmaForm {
public:
  // Keeps references.
  FmaForm(const nest::Nest &nest, const Target &target, const FormStart &start,
          const FormSizes &sizes);

  schedule::Schedule direct(bool cached);
  schedule::Schedule ilpm();
  schedule::Schedule plaidml();
  schedule::Schedule igemm();
  schedule::Schedule first_layer();
  schedule::Schedule depthwise();
  schedule::Schedule cpu();

private:
  std::int64_t extent(nest::IndexId i) const { return nest_.indices[i].extent; }
  schedule::Split &split(nest::IndexId i) { return schedule_.splits[i]; }

  void turn();
  std::int64_t fitted(std::int64_t count, std::int64_t most) const;
  void keep_pixels();
  void lanes_over(const std::vector<nest::IndexId> &indices, std::int64_t lanes);
  void channel_tile(std::int64_t lanes);
  void chunk_depth(bool padded);
  void unroll();
  void stage(int input, std::optional<nest::IndexId> level, schedule::Layout layout, bool twice);
  std::optional<nest::IndexId> innermost_chunk() const;
  bool constant_filter() const;
  schedule::Schedule finished();

  const nest::Nest &nest_;
  const Target &target_;
  const schedule::Roles &roles_;
  const nest::Linear &out_;
  FormSizes sizes_;
  schedule::Schedule schedule_;
};

} // namespace tilefuse::search
