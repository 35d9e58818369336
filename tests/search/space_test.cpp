// SPDX-License-Identifier: Apache-2.0
// Forms that the search knows of, on layers that need them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <thread>

#include "base/random.h"
#include "cost/gpu/work_item_model.h"
#include "cost/model.h"
#include "nest/products.h"
#include "schedule/legal.h"
#include "schedule/members.h"
#include "schedule/staging.h"
#include "search/forms/copies.h"
#include "search/pick.h"
#include "search/work_items.h"
#include "target/rows.h"

namespace tilefuse {
namespace {

std::string picked(const nest::Nest &nest, const std::string &name) {
  return schedule::to_text(nest, search::pick(nest, testing::target_row(name)));
}

// Three planes of an image, stride 2: unrolled taps along the row would hold what its pixels share.
TEST(Space, PlanesOfAFirstLayerAreInnermost) {
  const nest::Nest nest = nest::parse_nest(R"(nest conv {
    index m 64, y 111, x 111 | c 3, r 3, s 3
    slot 0 f32 150528, 1 f32 1728, 2 f32 788544
    acc f32 = sum mul
    in 0 + 0 [c:3*50176, 2*y + r:224*224, 2*x + s:224*1]
    in 1 + 0 const [m:64*27, c:3*9, r:3*3, s:3*1]
    out 2 + 0 [m:64*1, y:111*7104, x:111*64]
    post acc
  })");
  const std::string text = picked(nest, "cpu_avx512");
  EXPECT_NE(text.find(" c:3"), std::string::npos) << text;
  EXPECT_NE(text.find("r s c\n"), std::string::npos) << text;
  EXPECT_EQ(text.find(" s:3"), std::string::npos) << text;
}

TEST(Space, ConstantsOfANextStepArePrefetchedByMachineCode) {
  EXPECT_NE(picked(testing::convolution_1x1(512, 196, 512), "cpu_avx512").find("prefetch 1\n"),
            std::string::npos);
  EXPECT_EQ(picked(testing::convolution_1x1(16, 196, 512), "cpu_avx512").find("prefetch"),
            std::string::npos);
  EXPECT_EQ(picked(testing::convolution_1x1(512, 196, 512), "opencl_cpu").find("prefetch"),
            std::string::npos);
  EXPECT_EQ(picked(testing::convolution_1x1(512, 196, 512), "opencl_gpu").find("prefetch"),
            std::string::npos);
}

// The filter gradient of a 1x1 layer: rows of 2048 channels lie two pages apart, so that what the
// lanes run through is copied into a panel that every step over c reads again.
TEST(Space, PanelsOfWhatLanesRunThroughAreStaged) {
  const std::string text = picked(testing::filter_gradient_1x1(512, 2048, 392), "cpu_avx512");
  EXPECT_NE(text.find("stage  1"), std::string::npos) << text;
}

// Few results of long rows, one beside the other: work-items share the points of a row.
TEST(Space, LongRowsAreDealtOverWorkItems) {
  const std::string text = picked(nest::parse_nest(R"(nest reduce {
    index o 64 | a 4096
    slot 0 f32 262144, 1 f32 64
    acc f32 = sum
    in 0 + 0 [o:64*4096, a:4096*1]
    out 1 + 0 [o:64*1]
    post acc
  })"),
                                  "cuda_sm80");
  EXPECT_TRUE(text.starts_with("schedule rows workitem\n")) << text;
  EXPECT_NE(text.find("vec    a:4\n"), std::string::npos) << text;
}

// A layer of `channels` at `size` x `size` pixels of 32 images.
nest::Nest of_images(int size, int channels, int taps, int stride) {
  const int in = size * stride, plane = in * in * channels, out = size * size * channels;
  return nest::parse_nest(fmt::format(
      R"(nest conv {{
    index n 32, y {0}, x {0}, m {1} | c {1}, r {2}, s {2}
    slot 0 f32 {3}, 1 f32 {4}, 2 f32 {5}
    acc f32 = sum mul
    in 0 + 0 [n:32*{6}, {7}*y + r - {8}:{9}{10}*{11}, {7}*x + s - {8}:{9}{10}*{1}, c:{1}*1]
    in 1 + 0 const [m:{1}*{12}, r:{2}*{13}, s:{2}*{1}, c:{1}*1]
    out 2 + 0 [n:32*{14}, y:{0}*{15}, x:{0}*{1}, m:{1}*1]
    post acc
  }})",
      size, channels, taps, 32 * plane, channels * channels * taps * taps, 32 * out, plane, stride,
      taps / 2, in, taps > 1 ? "?" : "", in * channels, channels * taps * taps, taps * channels,
      out, size * channels));
}

// Rows of 14 pixels, read once: copies of a work-item are the same pixel of 8 images. Rows of 7, of
// whose window 9 taps read: all of a row.
TEST(Space, ShortRowsAreTiledAlongThemOrAlongImages) {
  const std::string strided = picked(of_images(14, 512, 1, 2), "opencl_nvidia_sm90");
  EXPECT_NE(strided.find("n:8"), std::string::npos) << strided;
  const std::string window = picked(of_images(7, 512, 3, 1), "opencl_nvidia_sm90");
  EXPECT_NE(window.find("reg    x:7 "), std::string::npos) << window;
}

TEST(Space, RingsOfTwoChunksAreTriedWhereThreeDoNotFit) {
  const nest::Nest nest = testing::convolution_1x1(2048, 1568, 512);
  const Target target = testing::target_row("opencl_nvidia_sm90");
  int found = 0;
  search::visit_multiply_adds(
      nest, target, [](const schedule::Schedule &schedule) { return schedule.pipes[0].is_async(); },
      [&](schedule::Schedule schedule) {
        if (schedule.pipes[0].stages == 3)
          return;
        ++found;
        for (schedule::Pipe &pipe : schedule.pipes)
          pipe.stages = 3;
        EXPECT_TRUE(illegal(nest, schedule, target)) << to_text(nest, schedule);
      });
  EXPECT_GT(found, 0);
}

// Rows of an image of 3 channels, the filter gradient of a first layer: the staged rows serve all
// places of the window, two of them at once.
// Several sums of one tensor are copies of a work-item, which reads it once.
TEST(Space, SumsOfTheSameDataAreCopies) {
  const std::string text = picked(nest::parse_nest(R"(nest gemm {
    index k 2, n 32, c 256 | x 3136
    slot 0 f32 2, 1 f16 25690112, 2 f32 16384
    acc f32 = sum term
    in 0 + 0 const [k:2*1]
    in 1 + 0 [n:32*802816, x:3136*256, c:256*1]
    term select($0 == 0, $1, $1 * $1)
    out 2 + 0 [k:2*8192, n:32*256, c:256*1]
    post acc
  })"),
                                  "cuda_sm90");
  EXPECT_NE(text.find("reg    k:2"), std::string::npos) << text;
  EXPECT_NE(text.find("lane   x:"), std::string::npos) << text;
}

// A row of 64 channels has too few vectors for a block's work-items: others take the pixels beside.
TEST(Space, VectorsOfShortRowsAreSharedByWorkItemsOfSeveralPixels) {
  const std::string text = picked(nest::parse_nest(R"(nest maxpool {
    index n 32, y 28, x 28, c 64 | j 3, i 3
    slot 0 f16 6422528, 1 f16 1605632
    acc f32 = max
    in 0 + 0 [n:32*200704, 2*y + j - 1:56?*3584, 2*x + i - 1:56?*64, c:64*1]
    out 1 + 0 [n:32*50176, y:28*1792, x:28*64, c:64*1]
    post acc
  })"),
                                  "cuda_sm90");
  EXPECT_NE(text.find("vec    c:8"), std::string::npos) << text;
  EXPECT_NE(text.find("c:8\n  vec"), std::string::npos) << text;
}

TEST(Space, WindowsOfFilterGradientsAreHeldByABlock) {
  const std::string text = picked(nest::parse_nest(R"(nest gemm {
    index np 8, yp 8, r 7, t 7, c 3, m 64 | y 14, x 112
    slot 0 f32 1204224, 1 f32 6422528, 2 f32 602112
    acc f32 = sum mul
    in 0 + 0 [np:8*150528, r + 2*y + 28*yp - 3:224?*672, t + 2*x - 3:224?*3, c:3*1]
    in 1 + 0 [np:8*802816, yp:8*100352, y:14*7168, x:112*64, m:64*1]
    out 2 + 0 [np:8*75264, yp:8*9408, r:7*1344, t:7*192, c:3*64, m:64*1]
    post acc
  })"),
                                  "cpu_avx512");
  EXPECT_NE(text.find("r:7 t:8 c:3 m:64"), std::string::npos) << text;
  EXPECT_NE(text.find("t:2 c:3 m:4"), std::string::npos) << text;
  EXPECT_NE(text.find("stage  0"), std::string::npos) << text;
}

// A trained filter whose channels lie innermost: rows of it that lanes run through are copied into a
// panel, and the image is read where it lies.
TEST(Space, TrainedFiltersAreStagedBesideImagesInPlace) {
  const std::string text = picked(nest::parse_nest(R"(nest conv {
    index n 32, m 128, y 28, x 28 | r 3, s 3, c 128
    slot 0 f32 3211264, 1 f32 147456, 2 f32 3211264
    acc f32 = sum mul
    in 0 + 0 [n:32*100352, y + r - 1:28?*3584, x + s - 1:28?*128, c:128*1]
    in 1 + 0 [r:3*49152, s:3*16384, c:128*128, m:128*1]
    out 2 + 0 [n:32*100352, y:28*3584, x:28*128, m:128*1]
    post acc
  })"),
                                  "cpu_avx512");
  EXPECT_NE(text.find("peel   x\n"), std::string::npos) << text;
  EXPECT_NE(text.find("stage  1\n"), std::string::npos) << text;
}

// Rows of a few channels are short: a block has several of them, of many images.
TEST(Space, BlocksHaveSeveralRowsOfABatch) {
  const std::string text = picked(nest::parse_nest(R"(nest conv {
    index n 128, m 16, y 32, x 32 | c 16, r 3, s 3
    slot 0 f32 2097152, 1 f32 2304, 2 f32 2097152
    acc f32 = sum mul
    in 0 + 0 [n:128*16384, c:16*1, y + r - 1:32?*512, x + s - 1:32?*16]
    in 1 + 0 [m:16*144, c:16*9, r:3*3, s:3*1]
    out 2 + 0 [n:128*16384, m:16*1, y:32*512, x:32*16]
    post acc
  })"),
                                  "cpu_avx512");
  EXPECT_NE(text.find("stage  1 transposed\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("y:1 "), std::string::npos) << text;
}

// A row of the window in registers reads each element of both once for three places.
TEST(Space, RowsOfAWindowAreHeldInRegisters) {
  const std::string text = picked(nest::parse_nest(R"(nest gemm_part {
    index np 128, m 16, c 16, r 3, s 3 | y 32, x 32
    slot 0 f32 2097152, 1 f32 2097152, 2 f32 294912
    acc f32 = sum mul
    in 0 + 0 [np:128*16384, m:16*1, y:32*512, x:32*16]
    in 1 + 0 [np:128*16384, c:16*1, r + y - 1:32?*512, s + x - 1:32?*16]
    out 2 + 0 [np:128*2304, m:16*144, r:3*48, s:3*16, c:16*1]
    post acc
  })"),
                                  "cpu_avx512");
  EXPECT_NE(text.find("r:3 s:3\n"), std::string::npos) << text;
  EXPECT_NE(text.find(" s:3\n  loop"), std::string::npos) << text;
  EXPECT_EQ(text.find("stage  0"), std::string::npos) << text;
}

// Groups lie next to the channels of the result, yet copies along them would share nothing: they
// stand along the row, as those of a layer of one group do.
TEST(Space, CopiesOfAGroupedLayerStandAlongTheRow) {
  const std::string text = picked(nest::parse_nest(R"(nest conv {
    index g 2, m 128, y 26, x 26 | c 48, r 5, s 5
    slot 0 f32 64896, 1 f32 307200, 2 f32 173056
    acc f32 = sum mul
    in 0 + 0 [g:2*48, c:48*1, y + r - 2:26?*2496, x + s - 2:26?*96]
    in 1 + 0 const [g:2*153600, m:128*1200, c:48*25, r:5*5, s:5*1]
    out 2 + 0 [g:2*128, m:128*1, y:26*6656, x:26*256]
    post acc
  })"),
                                  "cpu_avx512");
  EXPECT_NE(text.find("reg    m:2 x:1"), std::string::npos) << text;
  EXPECT_EQ(text.find(" g:2"), std::string::npos) << text;
}

TEST(Space, WindowsOfDepthwiseLayersAreNotPrefetched) {
  const nest::Nest nest = nest::parse_nest(R"(nest conv {
    index c 512, y 14, x 14 | r 3, s 3
    slot 0 f32 100352, 1 f32 4608, 2 f32 100352
    acc f32 = sum mul
    in 0 + 0 [c:512*1, y + r - 1:14?*7168, x + s - 1:14?*512]
    in 1 + 0 const [c:512*9, r:3*3, s:3*1]
    out 2 + 0 [c:512*1, y:14*7168, x:14*512]
    post acc
  })");
  const std::string text = picked(nest, "cpu_avx512");
  EXPECT_EQ(text.find("prefetch"), std::string::npos) << text;
}

// 729 pixels in steps of 6 for two units: 366 and 363 of them.
TEST(Space, BlocksAreEqualSharesOfTheUnits) {
  const nest::Nest nest = testing::convolution_1x1(64, 729, 512);
  const Target target = testing::target_row("cpu_avx512");
  const cost::Estimate estimate = search::candidates(nest, target, 1).front().estimate;
  EXPECT_LT(estimate.waves, 1.02 * static_cast<double>(estimate.blocks) / target.compute_units);
}

// Rows of 2048 channels: a step reads long runs, many of them in one straight piece of code.
TEST(Space, SumsOfRowsFarApartReadLongRuns) {
  const nest::Nest nest = nest::parse_nest(R"(nest mean {
    index c 2048 | y 49
    slot 0 f32 100352, 1 f32 2048
    acc f32 = sum
    in 0 + 0 [y:49*2048, c:2048*1]
    out 1 + 0 [c:2048*1]
    post acc
  })");
  const std::string text = picked(nest, "cpu_avx512");
  EXPECT_NE(text.find(" c:16 y:16\n"), std::string::npos) << text;
}

// Four groups of channels are shuffled: vectors of what lies together, four of them side by side.
TEST(Space, VectorsOfAShuffleRunAlongWhatItReads) {
  const nest::Nest nest = nest::parse_nest(R"(nest shuffle {
    index i 34, g 4, y_x 784
    slot 0 f32 106624, 1 f32 106624
    acc f32 = assign
    in 0 + 0 [y_x:784*136, g:4*34, i:34*1]
    out 1 + 0 [y_x:784*136, i:34*4, g:4*1]
    post acc
  })");
  const std::string text = picked(nest, "cpu_avx512");
  EXPECT_NE(text.find("lane   i:4\n  reg    g:4\n"), std::string::npos) << text;
}

// Windows of 12 x 12 elements, turned: no index has many neighbours, two of them together do.
TEST(Space, TurnedCopiesOfShortRowsHaveWorkItemsAlongSeveralIndices) {
  const std::string text = picked(nest::parse_nest(R"(nest copy {
    index i 81920, a 12, b 12
    slot 0 f16 11796480, 1 f16 11796480
    acc f32 = assign
    in 0 + 0 [i:81920*144, b:12*12, a:12*1]
    out 1 + 0 [i:81920*144, a:12*12, b:12*1]
    post acc
  })"),
                                  "cuda_sm90");
  EXPECT_NE(text.find("lane   i:10 a:4 b:6\n"), std::string::npos) << text;
}

// Steps of a map that take one row walk as the result lies.
TEST(Space, MapsTakeRows) {
  const std::string text = picked(nest::parse_nest(R"(nest map {
    index c 256, p 196
    slot 0 f32 50176, 1 f32 50176
    acc f32 = assign
    out 1 + 0 [c:256*1, p:196*256]
    extra 0 + 0 [c:256*1, p:196*256]
    post $0 / 4
  })"),
                                  "cpu_avx512");
  EXPECT_NE(text.find("reg    c:8\n"), std::string::npos) << text;
  EXPECT_NE(text.find("loop   p c\n"), std::string::npos) << text;
}

// Tiles that are more than the multiprocessors, on clusters that share the filter, or the data.
TEST(Space, ClustersAreOffered) {
  const nest::Nest nest = nest::parse_nest(R"(nest conv {
    index n 256, y 14, x 14, m 256 | r 3, s 3, c 256
    slot 0 f16 12845056, 1 f16 589824, 2 f16 12845056
    acc f32 = sum mul
    in 0 + 0 [n:256*50176, y + r - 1:14?*3584, x + s - 1:14?*256, c:256*1]
    in 1 + 0 const [m:256*2304, r:3*768, s:3*256, c:256*1]
    out 2 + 0 [n:256*50176, y:14*3584, x:14*256, m:256*1]
    post f16(acc)
  })");
  const Target target = testing::target_row("cuda_sm90");
  std::string all;
  for (const search::Candidate &candidate : search::candidates(nest, target, 400))
    all += schedule::to_text(nest, candidate.schedule);
  for (const char *cluster : {"cluster 2 1", "cluster 1 2"})
    EXPECT_NE(all.find(cluster), std::string::npos) << cluster;
}

// A thread remembers what it was asked last: neither another nest nor another target gets that
// answer, and a thread that remembers nothing gives the same.
TEST(Space, AnswersDoNotDependOnWhatWasAskedBefore) {
  const auto all = [](const nest::Nest &nest, const std::string &row) {
    std::string text;
    for (const search::Candidate &candidate :
         search::candidates(nest, testing::target_row(row), 4096))
      text += fmt::format("{}{}\n", schedule::to_text(nest, candidate.schedule),
                          candidate.estimate.seconds);
    return text;
  };
  const auto in_f16 = [](int features) {
    nest::Nest nest = testing::convolution_1x1(features, 196, 512);
    for (nest::Slot &slot : nest.slots)
      slot.type = DType::F16;
    nest.post = program::cast(nest.post, DType::F16);
    return nest;
  };
  for (const int features : {64, 72, 64})
    for (const char *row : {"cuda_sm90", "cuda_sm80", "opencl_gpu", "cuda_sm90"}) {
      std::string fresh;
      std::thread([&] { fresh = all(in_f16(features), row); }).join();
      EXPECT_EQ(all(in_f16(features), row), fresh) << features << " " << row;
      EXPECT_EQ(search::candidates(in_f16(features), testing::target_row(row), 1).size(), 1u);
    }
}

// Dense or depthwise, with padding.
nest::Nest random_convolution(Random &random) {
  using namespace fmt::literals;
  const std::int64_t m = random.between(1, 130), t = random.of<std::int64_t>({1, 3, 5});
  const std::int64_t size = random.between(3, 40), stride = random.between(1, 2);
  const bool is_depthwise = random.chance(30);
  const std::int64_t c = is_depthwise ? m : random.between(1, 130);
  const std::int64_t out = (size + stride - 1) / stride;
  const std::int64_t of_filter = t * t * (is_depthwise ? 1 : c);
  return nest::parse_nest(fmt::format(
      R"(nest conv {{
    index m {m}, y {out}, x {out} | {c_index}r {t}, s {t}
    slot 0 f32 {data}, 1 f32 {filter}, 2 f32 {result}
    acc f32 = sum mul
    in 0 + 0 [{stride}*y + r - {pad}:{size}?*{row}, {stride}*x + s - {pad}:{size}?*{c}, {moved}:{c}*1]
    in 1 + 0 const [m:{m}*{of_filter}, {c_filter}r:{t}*{t}, s:{t}*1]
    out 2 + 0 [y:{out}*{out_row}, x:{out}*{m}, m:{m}*1]
    post max(acc, 0)
  }})",
      "m"_a = m, "c"_a = c, "t"_a = t, "out"_a = out, "size"_a = size, "stride"_a = stride,
      "pad"_a = t / 2, "row"_a = c * size, "out_row"_a = m * out, "of_filter"_a = of_filter,
      "data"_a = c * size * size, "filter"_a = m * of_filter, "result"_a = m * out * out,
      "moved"_a = is_depthwise ? "m" : "c",
      "c_index"_a = is_depthwise ? "" : fmt::format("c {}, ", c),
      "c_filter"_a = is_depthwise ? "" : fmt::format("c:{}*{}, ", c, t * t)));
}

// A product of bytes, which dot products take four at a time.
nest::Nest random_product_of_bytes(Random &random) {
  using namespace fmt::literals;
  const std::int64_t m = random.between(1, 200), p = random.between(1, 400);
  const std::int64_t c = 4 * random.between(1, 40);
  return nest::parse_nest(fmt::format(
      R"(nest gemm {{
    index m {m}, p {p} | c {c}
    slot 0 i8 {data}, 1 i8 {filter}, 2 i32 {result}
    acc i32 = sum mul
    in 0 + 0 [p:{p}*{c}, c:{c}*1]
    in 1 + 0 const [m:{m}*{c}, c:{c}*1]
    out 2 + 0 [m:{m}*1, p:{p}*{m}]
    post acc
  }})",
      "m"_a = m, "p"_a = p, "c"_a = c, "data"_a = p * c, "filter"_a = m * c, "result"_a = m * p));
}

// What the search leaves out when it is asked for the best alone is not the best.
TEST(Space, TheBestAloneIsTheFirstOfAll) {
  Random random(20);
  for (int i = 0; i < 12; ++i) {
    const nest::Nest nest = random_convolution(random);
    for (const char *row : {"cpu_avx512", "cpu_avx2", "opencl_cpu"}) {
      const Target target = testing::target_row(row);
      const search::Candidate best = search::candidates(nest, target, 1).front();
      const search::Candidate first = search::candidates(nest, target, 4096).front();
      EXPECT_EQ(best.schedule, first.schedule) << nest::to_text(nest) << row;
      EXPECT_EQ(best.estimate.seconds, first.estimate.seconds);
    }
  }
}

// Nor are schedules that it leaves out when it is asked for some among these.
TEST(Space, TheBestOfWorkItemsAreTheFirstOfAll) {
  Random random(21);
  for (int i = 0; i < 6; ++i) {
    const nest::Nest nest =
        i % 3 < 2 ? random_convolution(random) : random_product_of_bytes(random);
    for (const char *row : {"cuda_sm90", "opencl_nvidia"}) {
      const Target target = testing::target_row(row);
      const std::vector<search::Candidate> all = search::candidates(nest, target, 4096);
      for (const std::size_t count : {1, 64}) {
        const std::vector<search::Candidate> best = search::candidates(nest, target, count);
        ASSERT_EQ(best.size(), std::min(count, all.size()));
        for (std::size_t k = 0; k < best.size(); ++k) {
          EXPECT_EQ(best[k].schedule, all[k].schedule) << nest::to_text(nest) << row;
          EXPECT_EQ(best[k].estimate.seconds, all[k].estimate.seconds);
        }
      }
    }
  }
}

// By which a search leaves forms out unpriced.
TEST(Space, FormsTakeNoLessThanTheirLeastTime) {
  Random random(22);
  int dots = 0;
  for (int i = 0; i < 9; ++i) {
    const nest::Nest nest =
        i % 3 < 2 ? random_convolution(random) : random_product_of_bytes(random);
    for (const char *row : {"cuda_sm90", "opencl_gpu", "opencl_nvidia"}) {
      const Target target = testing::target_row(row);
      const auto is_wanted = [](const schedule::Schedule &) { return true; };
      search::visit_multiply_adds(nest, target, is_wanted, [&](schedule::Schedule schedule) {
        dots += schedule.dot != nullptr ? 1 : 0;
        const double least = cost::least_seconds(nest, schedule, target);
        ASSERT_FALSE(search::assign_copies(nest, schedule, target));
        EXPECT_LE(least * 0.999, cost::predict(nest, schedule, target).seconds)
            << schedule::to_text(nest, schedule);
      });
    }
  }
  EXPECT_GT(dots, 0);
}

// Without a tile that is laid out its points are known.
TEST(Space, PointsOfStagedTilesAreThoseOfTheirRanges) {
  Random random(23);
  for (int i = 0; i < 4; ++i) {
    const nest::Nest nest = random_convolution(random);
    for (const char *row : {"cuda_sm90", "cpu_avx2"})
      for (const search::Candidate &one : search::candidates(nest, testing::target_row(row), 4096))
        for (int input = 0; input < 2; ++input) {
          if (has_core(one.schedule) || !is_staged(one.schedule.fills[at(input)]))
            continue;
          std::int64_t points = 1;
          for (const schedule::StageDim &dim : stage_tile(nest, one.schedule, input).dims)
            points *= dim.range;
          EXPECT_EQ(staged_points(nest, one.schedule, input), points)
              << schedule::to_text(nest, one.schedule);
        }
  }
}

// A nest alone is judged without a group; the judgement is that of the group of it.
TEST(Space, ANestAloneIsAsLegalAsItsGroup) {
  const nest::Nest nest = testing::convolution_1x1(64, 196, 512);
  const Target target = testing::target_row("opencl_gpu");
  for (const search::Candidate &candidate : search::candidates(nest, target, 64)) {
    std::vector<schedule::Schedule> all(5, candidate.schedule);
    all[1].fills[0] = schedule::Fill::Produced;
    all[2].splits[0].roll = 2;
    all[3].producers.resize(1);
    all[4].order.back() = all[4].order.front();
    for (const schedule::Schedule &one : all)
      EXPECT_EQ(schedule::illegal(nest, one, target),
                schedule::illegal(poly::Group{nest, {}}, one, target));
  }
}

} // namespace
} // namespace tilefuse
