// SPDX-License-Identifier: Apache-2.0
#include "train/lanes/exchange.h"

#include <vector>

#include "base/error.h"
#include "base/index.h"
#include "train/lanes/sum_program.h"
#include "train/parameters.h"

namespace tilefuse::train {

Exchange::Exchange(const Compilation &given, const runtime::Binding &learned,
                   runtime::Workers &workers, const std::string &order, double factor)
    : workers_(workers), learned_(learned) {
  const int count = workers.count();
  const std::int64_t part = learned.bytes / count; // bytes
  TILEFUSE_CHECK(part * count == learned.bytes && part % (4 * kRow) == 0,
                 "rows that cannot be shared out");
  Compilation compilation = given;
  compilation.precision = "f32";
  if (order == "library") {
    sum_.emplace(sum_program(learned.bytes / (4 * kRow), 1, factor), compilation,
                 std::vector<model::PlacedPort>{{{false, 0}, learned}, {{true, 0}, learned}});
    check_in_place(sum_->resident(), 0, 0);
    return;
  }
  parts_ = compilation.device.allocate(learned.bytes);
  std::vector<model::PlacedPort> placed;
  for (int worker = 0; worker < count; ++worker)
    placed.push_back({{false, at(worker)}, {parts_.get(), worker * part, part}});
  placed.push_back({{true, 0}, {learned.memory, learned.offset + workers.rank() * part, part}});
  sum_.emplace(sum_program(part / (4 * kRow), count, factor), compilation, placed);
}

void Exchange::run() {
  if (!parts_) {
    workers_.sum(learned_);
    sum_->launch();
    return;
  }
  workers_.swap_parts(learned_, {parts_.get(), 0, parts_->bytes()});
  sum_->launch();
  workers_.gather_parts(learned_);
}

} // namespace tilefuse::train
