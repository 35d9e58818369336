// SPDX-License-Identifier: Apache-2.0
// The named algorithms that multiply and add scalars or vectors, as schedules of given sizes.
#pragma once

#include <cstdint>
#include <vector>

#include "nest/nest.h"
#include "schedule/algorithms.h"
#include "schedule/schedule.h"
#include "target/target.h"

namespace tilefuse::schedule {

// Builds one schedule of a nest whose indices play known roles: one call of a builder, once.
class Form {
public:
  Form(const nest::Nest &nest, const Target &target, const Roles &roles, const FormSizes &sizes);

  Schedule direct(bool cached);
  Schedule ilpm();
  Schedule plaidml();
  Schedule igemm();
  Schedule first_layer();
  Schedule depthwise();
  Schedule cpu();

private:
  std::int64_t extent(int i) const { return nest_.indices[static_cast<std::size_t>(i)].extent; }
  Split &split(int i) { return schedule_.splits[static_cast<std::size_t>(i)]; }

  void order_loops();
  std::int64_t fitted(std::int64_t count, std::int64_t most) const;
  void keep_pixels();
  void lanes_over(const std::vector<int> &indices, std::int64_t lanes);
  void channel_tile(std::int64_t lanes);
  void chunk_depth(bool padded);
  void unroll();
  void stage(int input, int level, Layout layout, bool twice);
  int innermost_chunk() const;
  bool constant_filter() const;
  Schedule finished();

  const nest::Nest &nest_;
  const Target &target_;
  const Roles &roles_;
  FormSizes sizes_;
  Schedule schedule_;
};

} // namespace tilefuse::schedule
