// SPDX-License-Identifier: Apache-2.0
// The rows against the formulas of the PTX manual, written out per instruction.
#include "target/core_ops.h"

#include <functional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tilefuse {
namespace {

using Formula = std::function<Place(int t, int g, int i)>;

void expect_fragment(const Fragment &fragment, int values, const Formula &formula) {
  ASSERT_EQ(fragment.values(), values);
  for (int lane = 0; lane < kCoreLanes; ++lane)
    for (int i = 0; i < values; ++i)
      ASSERT_EQ(place(fragment, lane, i), formula(lane & 3, lane >> 2, i))
          << "lane " << lane << " value " << i;
}

const CoreOp &op(const std::string &name) {
  const CoreOp *found = find_core_op(name);
  EXPECT_NE(found, nullptr) << name;
  return *found;
}

void expect_result(const CoreOp &row) {
  expect_fragment(row.d, row.m / 4, [](int t, int g, int i) {
    return Place{g + 8 * (i >> 1), 2 * t + (i & 1)};
  });
}

TEST(CoreOps, HalfDepth16) {
  for (const char *name : {"m16n8k16.f16.f32", "m16n8k16.f16.f16", "m16n8k16.bf16.f32"}) {
    expect_fragment(op(name).a, 8, [](int t, int g, int i) {
      return Place{g + 8 * ((i >> 1) & 1), 2 * t + (i & 1) + 8 * (i >> 2)};
    });
    expect_fragment(op(name).b, 4, [](int t, int g, int i) {
      return Place{2 * t + (i & 1) + 8 * (i >> 1), g};
    });
    expect_result(op(name));
  }
}

TEST(CoreOps, HalfDepth8) {
  for (const char *name : {"m16n8k8.f16.f32", "m16n8k8.f16.f16", "m16n8k8.bf16.f32"}) {
    expect_fragment(op(name).a, 4, [](int t, int g, int i) {
      return Place{g + 8 * (i >> 1), 2 * t + (i & 1)};
    });
    expect_fragment(op(name).b, 2, [](int t, int g, int i) { return Place{2 * t + i, g}; });
    expect_result(op(name));
  }
}

TEST(CoreOps, Tf32) {
  const CoreOp &deep = op("m16n8k8.tf32.f32");
  expect_fragment(deep.a, 4, [](int t, int g, int i) {
    return Place{g + 8 * (i & 1), t + 4 * (i >> 1)};
  });
  expect_fragment(deep.b, 2, [](int t, int g, int i) { return Place{t + 4 * i, g}; });
  expect_result(deep);
  const CoreOp &flat = op("m16n8k4.tf32.f32");
  expect_fragment(flat.a, 2, [](int t, int g, int i) { return Place{g + 8 * i, t}; });
  expect_fragment(flat.b, 1, [](int t, int g, int) { return Place{t, g}; });
  expect_result(flat);
}

// Of four warps with 16 rows each; of a warp's the fragment is that of an mma.
TEST(CoreOps, FragmentsOfFourWarps) {
  for (const auto &[wide, narrow] : {std::pair{"m64n64k16.f16.f32", "m16n8k16.f16.f32"},
                                     {"m64n64k8.tf32.f32", "m16n8k8.tf32.f32"},
                                     {"m64n64k32.s8.s32", "m16n8k32.s8.s32"}}) {
    const Fragment &a = op(wide).a;
    ASSERT_EQ(a.values(), op(narrow).a.values());
    for (int lane = 0; lane < a.lanes(); ++lane)
      for (int i = 0; i < a.values(); ++i) {
        Place at = place(op(narrow).a, lane % kCoreLanes, i);
        at.row += lane / kCoreLanes * 16;
        EXPECT_EQ(place(a, lane, i), at) << wide << " lane " << lane << " value " << i;
      }
  }
}

TEST(CoreOps, Bytes) {
  for (const char *name :
       {"m16n8k32.s8.s32", "m16n8k32.u8.s32", "m16n8k32.u8.s8.s32", "m16n8k32.s8.u8.s32"}) {
    expect_fragment(op(name).a, 16, [](int t, int g, int i) {
      return Place{g + 8 * ((i >> 2) & 1), 4 * t + (i & 3) + 16 * (i >> 3)};
    });
    expect_fragment(op(name).b, 8, [](int t, int g, int i) {
      return Place{4 * t + (i & 3) + 16 * (i >> 2), g};
    });
    expect_result(op(name));
  }
  for (const char *name : {"m16n8k16.s8.s32", "m16n8k16.u8.s32"}) {
    expect_fragment(op(name).a, 8, [](int t, int g, int i) {
      return Place{g + 8 * (i >> 2), 4 * t + (i & 3)};
    });
    expect_fragment(op(name).b, 4, [](int t, int g, int i) { return Place{4 * t + i, g}; });
    expect_result(op(name));
  }
  for (const char *name : {"m8n8k16.s8.s32", "m8n8k16.u8.s32"}) {
    expect_fragment(op(name).a, 4, [](int t, int g, int i) { return Place{g, 4 * t + i}; });
    expect_fragment(op(name).b, 4, [](int t, int g, int i) { return Place{4 * t + i, g}; });
    expect_result(op(name));
  }
}

TEST(CoreOps, TurnedOperands) {
  for (const bool is_of_wgmma : {false, true}) {
    EXPECT_EQ(turned_operands(DType::F32, is_of_wgmma), Turned::Words);
    EXPECT_EQ(turned_operands(DType::F16, is_of_wgmma), Turned::Matrices);
    EXPECT_EQ(turned_operands(DType::I8, is_of_wgmma), Turned::Never);
    EXPECT_EQ(turned_operands(DType::I32, is_of_wgmma), Turned::Never);
  }
}

TEST(CoreOps, EveryElementHasOneLaneAndValue) {
  std::set<std::string_view> names;
  for (const CoreOp &row : core_ops()) {
    EXPECT_TRUE(names.insert(row.name).second);
    EXPECT_EQ(row.a.rows, row.m);
    EXPECT_EQ(row.a.columns, row.k);
    EXPECT_EQ(row.b.rows, row.k);
    EXPECT_EQ(row.b.columns, row.n);
    EXPECT_EQ(row.d.rows, row.m);
    EXPECT_EQ(row.d.columns, row.n);
    const std::vector<Fragment> spread =
        is_wgmma(row) ? std::vector{row.a, row.d} : std::vector{row.a, row.b, row.d};
    for (const Fragment &fragment : spread) {
      std::set<std::pair<int, int>> seen;
      for (int lane = 0; lane < fragment.lanes(); ++lane)
        for (int i = 0; i < fragment.values(); ++i) {
          const Place at = place(fragment, lane, i);
          EXPECT_TRUE(at.row >= 0 && at.row < fragment.rows);
          EXPECT_TRUE(at.column >= 0 && at.column < fragment.columns);
          seen.emplace(at.row, at.column);
        }
      EXPECT_EQ(seen.size(), static_cast<std::size_t>(fragment.rows * fragment.columns));
    }
  }
  EXPECT_EQ(find_core_op("m16n8k16"), nullptr);
}

} // namespace
} // namespace tilefuse
