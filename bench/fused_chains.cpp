// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/error.h"
#include "fused.h"
#include "nest/nest.h"

namespace tilefuse::bench {

using program::BufferId;

std::vector<ChainBlock> chain_blocks() {
  using enum ChainStep::Kind;
  const auto residual = [](const char *name, std::int64_t in, std::int64_t size, std::int64_t mid,
                           std::int64_t stride, std::int64_t out) {
    return ChainBlock{name, in, size, {{Mix, mid}, {Deep, mid, 3, stride}, {Mix, out}}};
  };
  return {residual("residual_112_16_96_s2_24", 16, 112, 96, 2, 24),
          residual("residual_112_16_96_s1_24", 16, 112, 96, 1, 24),
          residual("residual_56_24_144_s1_24", 24, 56, 144, 1, 24),
          residual("residual_28_32_192_s1_32", 32, 28, 192, 1, 32),
          {"stem_224_3_64_pool", 3, 224, {{Conv, 64, 7, 2}, {Pool, 64, 3, 2}}},
          {"separable_56_64_64", 64, 56, {{Deep, 64, 3, 1}, {Mix, 64}}},
          {"act_conv3_56_64", 64, 56, {{Activate, 64}, {Conv, 64, 3, 1}}},
          {"act_conv3_28_128", 128, 28, {{Activate, 128}, {Conv, 128, 3, 1}}},
          {"act_conv3_224_64", 64, 224, {{Activate, 64}, {Conv, 64, 3, 1}}},
          {"act_conv3_112_128", 128, 112, {{Activate, 128}, {Conv, 128, 3, 1}}}};
}

std::vector<poly::PlacedGroup> chain(const ChainBlock &block) {
  std::vector<poly::PlacedGroup> all;
  std::int64_t c = block.channels;
  std::int64_t size = block.size;
  int buffers = 1;
  for (const ChainStep &step : block.steps) {
    using enum ChainStep::Kind;
    const std::int64_t pad = step.taps / 2;
    const std::int64_t made = (size + 2 * pad - step.taps) / step.stride + 1;
    const bool own = step.kind == Deep || step.kind == Pool || step.kind == Activate;
    const std::string at = fmt::format("{}*y + r - {}:{}?*{}, {}*x + s - {}:{}?*{}", step.stride,
                                       pad, size, size * c, step.stride, pad, size, c);
    const std::string plain = fmt::format("y:{}*{}, x:{}*{}", size, size * c, size, c);
    const std::string index = own ? "c" : "m";
    const std::int64_t taps = step.taps * step.taps;
    const std::string filter =
        own ? fmt::format("[r:{0}*{1}, s:{0}*{2}, c:{2}*1]", step.taps, step.taps * c, c)
            : fmt::format("[m:{}*{}, c:{}*1{}]", step.outputs, c * taps, c,
                          taps > 1
                              ? fmt::format(", r:{0}*{1}, s:{0}*{2}", step.taps, step.taps * c, c)
                              : "");
    std::string reduced = own ? "" : fmt::format("c {}", c);
    if (taps > 1)
      reduced += fmt::format("{}r {}, s {}", own ? "" : ", ", step.taps, step.taps);
    const std::int64_t filter_elems = step.outputs * (own ? 1 : c) * taps;
    const std::string out =
        fmt::format("out 2 + 0 [y:{}*{}, x:{}*{}, {}:{}*1]\n", made, made * step.outputs, made,
                    step.outputs, index, step.outputs);
    const std::string head =
        fmt::format("nest {} {{ index y {}, x {}, {} {} {}\n slot 0 f32 {}, 1 f32 {}, 2 f32 {}, 3 "
                    "f32 {}\n",
                    step.kind == Pool ? "maxpool" : (step.kind == Activate ? "map" : "conv"), made,
                    made, index, step.outputs, reduced.empty() ? "" : "| " + reduced,
                    size * size * c, filter_elems, made * made * step.outputs, step.outputs);
    const std::string bias = fmt::format("extra 3 + 0 const [{}:{}*1]\n", index, step.outputs);
    const std::string in = fmt::format("in 0 + 0 [{}, c:{}*1]\n", taps > 1 ? at : plain, c);
    std::string text = head;
    if (step.kind == Activate)
      text += fmt::format("acc f32 = assign\n {}extra 0 + 0 [{}, c:{}*1]\n {}extra 1 + 0 const "
                          "[c:{}*1]\n post max($0 * $2 + $1, 0) }}",
                          out, plain, c, bias, c);
    else if (step.kind == Pool)
      text += "acc f32 = max\n" + in + out + bias + "post acc }";
    else
      text += "acc f32 = sum mul\n" + in + "in 1 + 0 const " + filter + "\n" + out + bias +
              "post max(acc + $0, 0) }";
    all.push_back(
        {{nest::parse_nest(text), {}},
         {BufferId{buffers - 1}, BufferId{buffers}, BufferId{buffers + 2}, BufferId{buffers + 1}},
         "",
         {}});
    buffers += 3;
    c = step.outputs;
    size = made;
  }
  return all;
}

poly::PlacedGroup fused_chain(const std::vector<poly::PlacedGroup> &all) {
  poly::PlacedGroup fused = all.back();
  for (std::size_t k = all.size() - 1; k-- > 0;) {
    std::string why;
    const auto member = static_cast<poly::MemberId>(fused.group.producers.size());
    std::optional<poly::PlacedGroup> next = attach(fused, member, 0, all[k], &why);
    if (!next)
      throw Error(ErrorCode::Unsupported, why);
    fused = std::move(*next);
  }
  return fused;
}

} // namespace tilefuse::bench
