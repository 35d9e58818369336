// SPDX-License-Identifier: Apache-2.0
#include "lower/random_nests.h"

#include <algorithm>
#include <functional>

#include "base/index.h"
#include "kernel/simulate.h"
#include "lower/pipeline.h"
#include "model/oracle/simulate_group.h"
#include "model/plan/pack.h"
#include "nest/evaluate/evaluate.h"
#include "nest/index.h"
#include "schedule/guards.h"
#include "schedule/legal.h"
#include "schedule/staging.h"

namespace tilefuse::testing {
namespace {

using nest::Dim;
using nest::Linear;
using nest::Nest;
using nest::Operand;

// Builds a nest index by index, operand by operand.
class Maker {
public:
  Maker(std::string name, DType type) : type_(type) {
    nest_.name = std::move(name);
    nest_.acc_type = accumulator_type(type);
    nest_.post = program::acc(nest_.acc_type);
  }

  int index(const std::string &name, std::int64_t extent, bool reduced = false) {
    if (!reduced)
      ++nest_.output_indices;
    nest_.indices.push_back({name, extent});
    return static_cast<int>(nest_.indices.size()) - 1;
  }

  // sum of coeff * index + constant as a subscript of a dimension of `size` elements.
  struct Subscript {
    std::vector<std::pair<int, std::int64_t>> terms;
    std::int64_t constant = 0;
    std::int64_t size = 1;
    bool guarded = false;
  };

  // `order` lists dimensions from slowest to fastest in memory.
  Operand operand(const std::vector<Subscript> &subscripts, const std::vector<int> &order,
                  bool constant, DType type) {
    Operand operand{.slot = nest_.slots.next_id(), .offset = 0, .constant = constant};
    std::int64_t elems = 1;
    operand.dims.resize(subscripts.size());
    for (auto d = order.rbegin(); d != order.rend(); ++d) {
      const Subscript &from = subscripts[at(*d)];
      Dim &dim = operand.dims[at(*d)];
      dim.at.constant = from.constant;
      dim.at.coeff.assign(nest_.indices.size(), 0);
      for (const auto &[i, coeff] : from.terms)
        dim.at.coeff[at(i)] += coeff;
      dim.size = from.size;
      dim.stride = elems;
      dim.guarded = from.guarded;
      elems *= from.size;
    }
    nest_.slots.push_back({type, elems});
    return operand;
  }

  Nest &nest() { return nest_; }
  DType type() const { return type_; }

private:
  Nest nest_;
  DType type_;
};

struct Window {
  std::int64_t kernel, stride, dilation, pad, in, out;
};

Window random_window(Random &random) {
  Window w{};
  w.kernel = random.between(1, 3);
  w.stride = random.between(1, 3);
  w.dilation = random.chance(25) ? 2 : 1;
  w.pad = random.chance(60) ? random.between(0, w.kernel) : 0;
  w.in = random.of<std::int64_t>({1, 3, 5, 7, 8, 13});
  const std::int64_t reach = (w.kernel - 1) * w.dilation + 1;
  w.out = std::max<std::int64_t>(1, (w.in + 2 * w.pad - reach) / w.stride + 1);
  return w;
}

Maker::Subscript through(const Window &w, int point, int tap) {
  const std::int64_t highest = (w.out - 1) * w.stride + (w.kernel - 1) * w.dilation - w.pad;
  return {{{point, w.stride}, {tap, w.dilation}}, -w.pad, w.in, w.pad > 0 || highest >= w.in};
}

const std::vector<int> kChannelsLast = {0, 2, 3, 1};
const std::vector<int> kRowMajor = {0, 1, 2, 3};

void add_relu_and_bias(Random &random, Maker &maker, int channel, std::int64_t channels) {
  Nest &nest = maker.nest();
  if (random.chance(50)) {
    nest.extras.push_back(maker.operand({{{{channel, 1}}, 0, channels}}, {0}, true, maker.type()));
    nest.post = program::call(ScalarOp::Add, {nest.post, program::operand(0, maker.type())});
  }
  if (random.chance(50))
    nest.post = program::call(ScalarOp::Max, {nest.post, program::constant(0, nest.acc_type)});
}

// Convolution; `depthwise` shares the channel between input, filter and output; no filter at all is
// pooling.
Nest random_window_nest(Random &random, DType type, bool depthwise, bool pooling) {
  Maker maker(pooling ? "maxpool" : "conv", type);
  const Window wy = random_window(random);
  const Window wx = random_window(random);
  const std::int64_t images = random.between(1, 2);
  const std::int64_t channels = random.of<std::int64_t>({1, 2, 3, 5, 8, 12, 17});
  const std::int64_t inner = depthwise || pooling ? 1 : random.of<std::int64_t>({1, 3, 4, 7});
  const int n = maker.index("n", images);
  const int m = maker.index("m", channels);
  const int y = maker.index("y", wy.out);
  const int x = maker.index("x", wx.out);
  const int c = depthwise || pooling ? m : maker.index("c", inner, true);
  const int r = maker.index("r", wy.kernel, true);
  const int s = maker.index("s", wx.kernel, true);
  const std::int64_t in_channels = depthwise || pooling ? channels : inner;
  const std::vector<int> &in_order = random.chance(60) ? kChannelsLast : kRowMajor;
  Nest &nest = maker.nest();
  nest.inputs.push_back(maker.operand(
      {{{{n, 1}}, 0, images}, {{{c, 1}}, 0, in_channels}, through(wy, y, r), through(wx, x, s)},
      in_order, false, type));
  if (pooling) {
    nest.agg = random.chance(50) ? program::Agg::Max : program::Agg::Sum;
  } else {
    nest.agg = program::Agg::Sum;
    nest.comb = program::Comb::Mul;
    std::vector<Maker::Subscript> filter = {{{{m, 1}}, 0, channels}};
    if (!depthwise)
      filter.push_back({{{c, 1}}, 0, inner});
    filter.push_back({{{r, 1}}, 0, wy.kernel});
    filter.push_back({{{s, 1}}, 0, wx.kernel});
    std::vector<int> order;
    for (std::size_t d = 0; d < filter.size(); ++d)
      order.push_back(static_cast<int>(d));
    nest.inputs.push_back(maker.operand(filter, order, true, type));
  }
  nest.out = maker.operand({{{{n, 1}}, 0, images},
                            {{{m, 1}}, 0, channels},
                            {{{y, 1}}, 0, wy.out},
                            {{{x, 1}}, 0, wx.out}},
                           random.chance(60) ? kChannelsLast : kRowMajor, false, type);
  add_relu_and_bias(random, maker, m, channels);
  return nest;
}

Nest random_product(Random &random, DType type) {
  Maker maker("gemm", type);
  const std::int64_t rows = random.of<std::int64_t>({1, 2, 7});
  const std::int64_t columns = random.of<std::int64_t>({1, 3, 8, 19});
  const std::int64_t depth = random.of<std::int64_t>({1, 5, 16});
  const int m = maker.index("m", rows);
  const int n = maker.index("n", columns);
  const int k = maker.index("k", depth, true);
  Nest &nest = maker.nest();
  nest.agg = program::Agg::Sum;
  nest.comb = program::Comb::Mul;
  nest.inputs.push_back(
      maker.operand({{{{m, 1}}, 0, rows}, {{{k, 1}}, 0, depth}}, {0, 1}, false, type));
  nest.inputs.push_back(
      maker.operand({{{{k, 1}}, 0, depth}, {{{n, 1}}, 0, columns}},
                    random.chance(50) ? std::vector<int>{0, 1} : std::vector<int>{1, 0},
                    random.chance(70), type));
  nest.out = maker.operand({{{{m, 1}}, 0, rows}, {{{n, 1}}, 0, columns}}, {0, 1}, false, type);
  add_relu_and_bias(random, maker, n, columns);
  return nest;
}

// Where the largest element of each row stands: out[m, n] = agg_k(A[m, k] == B[n, k] ? C[n, k]), or
// the count of equal pairs. The compared types differ.
Nest random_comparison(Random &random, DType type) {
  Maker maker("select", type);
  const std::int64_t rows = random.of<std::int64_t>({1, 3, 11});
  const std::int64_t columns = random.of<std::int64_t>({1, 2, 8, 21});
  const std::int64_t depth = random.of<std::int64_t>({1, 5, 9});
  const bool guarded = random.chance(30);
  const int m = maker.index("m", rows);
  const int n = maker.index("n", columns);
  const int k = maker.index("k", depth, true);
  Nest &nest = maker.nest();
  nest.agg = random.of<program::Agg>({program::Agg::Sum, program::Agg::Max, program::Agg::Min});
  nest.comb = random.chance(50) ? program::Comb::Equal : program::Comb::Select;
  const DType compared = random.of<DType>({DType::I8, DType::U8, DType::I32, type});
  nest.inputs.push_back(
      maker.operand({{{{m, 1}}, 0, rows}, {{{k, 1}}, 0, depth}}, {0, 1}, true, compared));
  nest.inputs.push_back(
      maker.operand({{{{n, 1}, {k, 1}}, guarded ? -1 : 0, columns + depth - 1, guarded}}, {0},
                    random.chance(50), random.of<DType>({DType::I8, type})));
  if (nest.comb == program::Comb::Select)
    nest.inputs.push_back(
        maker.operand({{{{n, 1}}, 0, columns}, {{{k, 1}}, 0, depth}}, {1, 0}, true, type));
  nest.out = maker.operand({{{{m, 1}}, 0, rows}, {{{n, 1}}, 0, columns}}, {0, 1}, false, type);
  add_relu_and_bias(random, maker, n, columns);
  return nest;
}

Nest random_map(Random &random, DType type) {
  Maker maker("map", type);
  const std::int64_t rows = random.of<std::int64_t>({1, 3, 11});
  const std::int64_t columns = random.of<std::int64_t>({1, 2, 8, 21});
  const int y = maker.index("y", rows);
  const int x = maker.index("x", columns);
  Nest &nest = maker.nest();
  nest.acc_type = type;
  const std::vector<int> order =
      random.chance(50) ? std::vector<int>{0, 1} : std::vector<int>{1, 0};
  nest.extras.push_back(
      maker.operand({{{{y, 1}}, 0, rows}, {{{x, 1}}, 0, columns}}, order, false, type));
  nest.extras.push_back(maker.operand({{{{x, 1}}, 0, columns}}, {0}, false, type));
  nest.out = maker.operand({{{{y, 1}}, 0, rows}, {{{x, 1}}, 0, columns}}, {0, 1}, false, type);
  nest.post = program::call(
      ScalarOp::Max,
      {program::call(ScalarOp::Mul, {program::operand(0, type), program::operand(1, type)}),
       program::constant(-3, type)});
  return nest;
}

// The subscript of a pixel and its tap, with `before` elements of padding.
Maker::Subscript padded(const ConvShape &c, int pixel, int tap, std::int64_t size) {
  return {{{pixel, c.stride}, {tap, c.dilation}}, -c.before, size, c.before + c.after > 0};
}

} // namespace

Nest conv_nest(const ConvShape &c) {
  Maker maker("conv", DType::F32);
  const auto points = [&](std::int64_t size) {
    return (size + c.before + c.after - (c.kernel - 1) * c.dilation - 1) / c.stride + 1;
  };
  const std::int64_t rows = points(c.height);
  const std::int64_t columns = points(c.width);
  const int n = maker.index("n", c.images);
  const int g = maker.index("g", c.groups);
  const int m = maker.index("m", c.outputs);
  const int y = maker.index("y", rows);
  const int x = maker.index("x", columns);
  const int k = maker.index("c", c.inputs, true);
  const int r = maker.index("r", c.kernel, true);
  const int s = maker.index("s", c.kernel, true);
  const std::vector<int> order =
      c.channels_last ? std::vector<int>{0, 3, 4, 1, 2} : std::vector<int>{0, 1, 2, 3, 4};
  Nest &nest = maker.nest();
  nest.agg = program::Agg::Sum;
  nest.comb = program::Comb::Mul;
  nest.inputs.push_back(maker.operand({{{{n, 1}}, 0, c.images},
                                       {{{g, 1}}, 0, c.groups},
                                       {{{k, 1}}, 0, c.inputs},
                                       padded(c, y, r, c.height),
                                       padded(c, x, s, c.width)},
                                      order, false, DType::F32));
  nest.inputs.push_back(maker.operand({{{{g, 1}}, 0, c.groups},
                                       {{{m, 1}}, 0, c.outputs},
                                       {{{k, 1}}, 0, c.inputs},
                                       {{{r, 1}}, 0, c.kernel},
                                       {{{s, 1}}, 0, c.kernel}},
                                      {0, 1, 2, 3, 4}, true, DType::F32));
  nest.out = maker.operand({{{{n, 1}}, 0, c.images},
                            {{{g, 1}}, 0, c.groups},
                            {{{m, 1}}, 0, c.outputs},
                            {{{y, 1}}, 0, rows},
                            {{{x, 1}}, 0, columns}},
                           order, false, DType::F32);
  nest.post = program::call(ScalarOp::Max, {nest.post, program::constant(0, nest.acc_type)});
  return nest;
}

Nest random_nest(Random &random, DType type) {
  switch (random.between(0, 5)) {
  case 0:
    return random_window_nest(random, type, false, false);
  case 1:
    return random_window_nest(random, type, true, false);
  case 2:
    return random_window_nest(random, type, false, true);
  case 3:
    return random_product(random, type);
  case 4:
    return random_comparison(random, type);
  default:
    return random_map(random, type);
  }
}

namespace {

using schedule::Schedule;
using schedule::Split;

nest::IndexId random_output(Random &random, const Nest &nest) {
  return static_cast<nest::IndexId>(random.between(0, nest.output_indices - 1));
}

void draw_vector_lanes(Random &random, const Nest &nest, Schedule &schedule) {
  if (random.chance(80))
    schedule.splits[random_output(random, nest)].lane = random.of<std::int64_t>({2, 4, 8});
}

// Up to four parts over any output indices, and perhaps a vector.
void draw_work_items(Random &random, const Nest &nest, Schedule &schedule) {
  const std::int64_t parts = random.between(0, 4);
  for (std::int64_t part = 0; part < parts; ++part) {
    const nest::IndexId index = random_output(random, nest);
    const std::int64_t count = random.of<std::int64_t>({2, 3, 4, 8});
    schedule.lane_parts.push_back({index, count});
    schedule.splits[index].lane *= count;
  }
  if (schedule.lane_parts.size() < 2)
    schedule.lane_parts.clear();
  if (random.chance(40))
    schedule.splits[random_output(random, nest)].vec = random.of<std::int64_t>({2, 4});
}

void draw_factors(Random &random, const Nest &nest, Schedule &schedule) {
  for (const nest::IndexId i : nest.indices.ids()) {
    Split &split = schedule.splits[i];
    const std::int64_t extent = nest::extent(nest, i);
    if (!is_output(nest, i)) {
      split.tile = random.chance(50) ? random.between(1, extent) : extent;
      split.keep = random.chance(50) ? random.between(1, std::min<std::int64_t>(split.tile, 4)) : 1;
      continue;
    }
    split.keep = random.chance(50) ? random.between(1, std::min<std::int64_t>(extent, 4)) : 1;
    split.tile =
        split.step() * (random.chance(50) ? 1 : random.between(1, 1 + extent / split.step()));
  }
}

void draw_fills(Random &random, const Nest &nest, Schedule &schedule) {
  using schedule::Fill;
  using schedule::Layout;
  const std::vector<nest::IndexId> chunks = chunked_indices(nest, schedule);
  const bool twice = random.chance(45);
  for (std::size_t k = 0; k < nest.inputs.size(); ++k) {
    schedule.fills[k] =
        random.of<Fill>({Fill::Direct, Fill::Local, Fill::Packed, Fill::PackedLocal});
    if (!is_staged(schedule.fills[k]))
      continue;
    schedule.pipes[k].layout = random.of<Layout>({Layout::Plain, Layout::Transposed, Layout::Odd});
    if (!chunks.empty() && random.chance(70))
      schedule.pipes[k].at = twice ? chunks.back() : random.of<nest::IndexId>(chunks);
    schedule.pipes[k].stages = twice && schedule.pipes[k].at ? 2 : 1;
  }
}

} // namespace

// Clips and edges where they settle a test.
void draw_guards(Random &random, const Nest &nest, Schedule &schedule) {
  for (const nest::IndexId i : nest.indices.ids()) {
    schedule::Split &split = schedule.splits[i];
    if (!is_output(nest, i) && random.chance(30))
      split.keep = split.tile;
    split.clip = can_clip(nest, schedule, i) && random.chance(70);
  }
  for (const nest::IndexId i : output_indices(nest))
    if (can_have_edges(nest, schedule, i))
      schedule.splits[i].edge = random.chance(70);
}

// Results and staged inputs are turned where that is legal.
void turn_some(Random &random, const Nest &nest, const Target &target, Schedule &schedule) {
  const auto attempt = [&](const auto &change) {
    Schedule changed = schedule;
    change(changed);
    if (random.chance(50) && !schedule::illegal(nest, changed, target))
      schedule = std::move(changed);
  };
  attempt([](Schedule &changed) { changed.store = schedule::Store::Local; });
  for (std::size_t k = 0; k < nest.inputs.size(); ++k)
    if (is_staged(schedule.fills[k]))
      attempt([&](Schedule &changed) { changed.pipes[k].layout = schedule::Layout::Transposed; });
}

Schedule random_schedule(Random &random, const Nest &nest, const Target &target) {
  for (int attempt = 0; attempt < 300; ++attempt) {
    Schedule schedule = schedule::scalar_schedule(nest);
    schedule.name = "random";
    schedule.lanes = target.lanes;
    if (target.lanes == LaneKind::Vector)
      draw_vector_lanes(random, nest, schedule);
    else
      draw_work_items(random, nest, schedule);
    draw_factors(random, nest, schedule);
    const auto middle = schedule.order.begin() + nest.output_indices;
    std::shuffle(schedule.order.begin(), middle, random.engine());
    std::shuffle(middle, schedule.order.end(), random.engine());
    draw_fills(random, nest, schedule);
    draw_guards(random, nest, schedule);
    if (schedule::illegal(nest, schedule, target))
      continue;
    turn_some(random, nest, target, schedule);
    return schedule;
  }
  return schedule::scalar_schedule(nest);
}

std::vector<std::vector<std::byte>> integer_slots(Random &random, const Nest &nest) {
  std::vector<std::vector<std::byte>> slots;
  for (const nest::Slot &slot : nest.slots) {
    slots.emplace_back(static_cast<std::size_t>(slot.elems * size_bytes(slot.type)));
    for (std::int64_t i = 0; i < slot.elems; ++i)
      store_element(slots.back().data(), slot.type, i, static_cast<double>(random.between(-4, 4)));
  }
  return slots;
}

std::vector<std::span<std::byte>> arguments(const Nest &nest, const Schedule &schedule,
                                            std::vector<std::vector<std::byte>> &slots,
                                            std::vector<std::vector<std::byte>> &packed) {
  std::vector<std::span<std::byte>> args;
  const std::vector<schedule::KernelArg> list = kernel_args(nest, schedule);
  packed.reserve(list.size());
  for (const schedule::KernelArg &arg : list) {
    if (arg.slot) {
      args.emplace_back(slots[at(*arg.slot)]);
      continue;
    }
    const nest::SlotId slot = nest.inputs[at(arg.packed_input)].slot;
    packed.push_back(model::pack(nest, schedule, arg.packed_input, slots[at(slot)]));
    args.emplace_back(packed.back());
  }
  return args;
}

std::vector<std::byte> simulated(const Nest &nest, const Schedule &schedule, const Target &target,
                                 std::vector<std::vector<std::byte>> slots) {
  std::vector<std::vector<std::byte>> packed;
  const std::vector<std::span<std::byte>> args = arguments(nest, schedule, slots, packed);
  kernel::SimulationOptions options = model::simulation_options({nest, {}}, schedule, target);
  options.target->vector_registers = 1 << 20; // a random schedule may spill
  options.count = false;
  kernel::simulate(lower::lower({nest}, schedule, target), args, options);
  return slots[at(nest.out.slot)];
}

std::vector<std::byte> evaluated(const Nest &nest, std::vector<std::vector<std::byte>> slots) {
  std::vector<std::span<std::byte>> spans(slots.begin(), slots.end());
  nest::evaluate(nest, spans);
  return slots[at(nest.out.slot)];
}

} // namespace tilefuse::testing
