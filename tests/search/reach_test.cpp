// SPDX-License-Identifier: Apache-2.0
// Steps from one schedule to the next, and drawn schedules, reach every field of what lanes compute
// (matrix_neighbours_test.cpp has those of matrix instructions): no axis of the space is search's
// own, out of the tuner's and the random tests' sight.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "nest/nest.h"
#include "schedule/legal.h"
#include "schedule/text.h"
#include "search/neighbours.h"
#include "search/pick.h"
#include "search/sample.h"
#include "target/rows.h"

namespace tilefuse::testing {
namespace {

using schedule::Engine;
using schedule::Fill;
using schedule::Layout;
using schedule::Pipe;
using schedule::Schedule;
using schedule::Split;

nest::Nest conv() {
  return nest::parse_nest(R"(nest conv {
  index n 2, y 12, x 12, m 32 | r 3, s 3, c 16
  slot 0 f32 4608, 1 f32 4608, 2 f32 9216
  acc f32 = sum mul
  in 0 + 0 [n:2*2304, y + r - 1:12?*192, x + s - 1:12?*16, c:16*1]
  in 1 + 0 const [m:32*144, r:3*48, s:3*16, c:16*1]
  out 2 + 0 [n:2*4608, y:12*384, x:12*32, m:32*1]
  post max(acc, 0)
})");
}

// Results whose neighbours are no lanes of the data: pixels outermost, channels of bytes.
nest::Nest bytes() {
  return nest::parse_nest(R"(nest dense {
  index m 64, n 48 | c 64
  slot 0 u8 3072, 1 i8 4096, 2 i32 3072
  acc i32 = sum mul
  in 0 + 0 [n:48*64, c:64*1]
  in 1 + 0 const [m:64*64, c:64*1]
  out 2 + 0 [m:64*48, n:48*1]
  post acc
})");
}

using Axis = std::function<bool(const Schedule &)>;
using Axes = std::map<std::string, Axis>;

Axis some_split(bool (*has)(const Split &)) {
  return [has](const Schedule &s) { return std::any_of(s.splits.begin(), s.splits.end(), has); };
}
Axis some_pipe(bool (*has)(const Pipe &)) {
  return [has](const Schedule &s) { return std::any_of(s.pipes.begin(), s.pipes.end(), has); };
}
Axis some_fill(Fill fill) {
  return [fill](const Schedule &s) {
    return std::find(s.fills.begin(), s.fills.end(), fill) != s.fills.end();
  };
}

// Of an index of conv() that is summed over.
Axis some_reduced(bool (*has)(const Split &)) {
  return [has](const Schedule &s) {
    return s.dot == nullptr && std::any_of(s.splits.begin() + 4, s.splits.end(), has);
  };
}

Axes common() {
  return {
      {"tile", some_split([](const Split &s) { return s.tile > s.step(); })},
      {"reg", some_split([](const Split &s) { return s.keep == 3; })},
      {"lane", some_split([](const Split &s) { return s.lane > 1; })},
      {"order", [](const Schedule &s) { return !std::is_sorted(s.order.begin(), s.order.end()); }},
      {"stage", some_fill(Fill::Local)},
      {"pack", some_fill(Fill::Packed)},
      {"pack and stage", some_fill(Fill::PackedLocal)},
      {"stage at", some_pipe([](const Pipe &p) { return p.at.has_value(); })},
      {"transposed", some_pipe([](const Pipe &p) { return p.layout == Layout::Transposed; })},
      {"pipeline", some_pipe([](const Pipe &p) { return p.stream > 0; })},
  };
}

Axes of_items() {
  Axes axes = common();
  axes.merge(Axes{
      {"vec", some_split([](const Split &s) { return s.vec == 4; })},
      {"lane of a reduced index", some_reduced([](const Split &s) { return s.lane > 1; })},
      {"vec of a reduced index", some_reduced([](const Split &s) { return s.vec > 1; })},
      {"blocked", some_split([](const Split &s) { return s.near; })},
      {"lanes of two indices", [](const Schedule &s) { return s.lane_parts.size() > 1; }},
      {"two buffers", some_pipe([](const Pipe &p) { return p.is_double_buffered(); })},
      {"cp_async", some_pipe([](const Pipe &p) { return p.engine == Engine::CpAsync; })},
      {"three stages", some_pipe([](const Pipe &p) { return p.stages == 3; })},
      {"odd", some_pipe([](const Pipe &p) { return p.layout == Layout::Odd; })},
      {"width", some_pipe([](const Pipe &p) { return p.width == 4; })},
      {"unroll", some_pipe([](const Pipe &p) { return p.rounds == schedule::Rounds::Unrolled; })},
      {"hold", some_pipe([](const Pipe &p) { return p.rounds == schedule::Rounds::Held; })},
      {"store local", [](const Schedule &s) { return s.store == schedule::Store::Local; }},
  });
  return axes;
}

Axes of_vectors() {
  Axes axes = common();
  axes.merge(Axes{
      {"trim", some_split([](const Split &s) { return s.clip; })},
      {"peel", some_split([](const Split &s) { return s.edge; })},
      {"prefetch", some_pipe([](const Pipe &p) { return p.prefetch; })},
  });
  return axes;
}

using Next = std::function<std::optional<Schedule>(const std::optional<Schedule> &)>;

// Walks of some steps; nothing of `open` is left that a step had.
void walk(const nest::Nest &nest, const Target &target, Axes &open, int walks, const Next &next) {
  for (int one = 0; one < walks && !open.empty(); ++one) {
    std::optional<Schedule> at;
    for (int step = 0; step < 24; ++step) {
      at = next(at);
      if (!at)
        break;
      ASSERT_FALSE(illegal(nest, *at, target)) << to_text(nest, *at);
      std::erase_if(open, [&](const auto &axis) { return axis.second(*at); });
    }
  }
}

void expect_reached(const nest::Nest &nest, const Target &target, const Axes &axes,
                    const std::string &what) {
  Random random(3);
  Axes by_steps = axes, by_draws = axes;
  const std::vector<search::Candidate> starts = search::candidates(nest, target, 40);
  ASSERT_FALSE(starts.empty());
  walk(nest, target, by_steps, 1000, [&](const auto &from) {
    return search::neighbour(nest, target, from.value_or(random.of(starts).schedule), random);
  });
  walk(nest, target, by_draws, 1000,
       [&](const auto &) { return search::sample(nest, target, random); });
  for (const auto &[name, axis] : by_steps)
    ADD_FAILURE() << what << ": no step reached " << name;
  for (const auto &[name, axis] : by_draws)
    ADD_FAILURE() << what << ": no draw had " << name;
}

TEST(Reach, WorkItems) { expect_reached(conv(), target_row("cuda_sm80"), of_items(), "items"); }

TEST(Reach, Vectors) { expect_reached(conv(), target_row("cpu_avx512"), of_vectors(), "vectors"); }

TEST(Reach, DotProducts) {
  Axes axes = {
      {"dot", [](const Schedule &s) { return s.dot != nullptr; }},
      {"none", [](const Schedule &s) { return s.dot == nullptr; }},
      {"store local", [](const Schedule &s) { return s.store == schedule::Store::Local; }}};
  expect_reached(bytes(), target_row("cpu_avx512"), axes, "bytes");
}

} // namespace
} // namespace tilefuse::testing
