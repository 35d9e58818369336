// SPDX-License-Identifier: Apache-2.0
#include "data/npy.h"

#include <gtest/gtest.h>

#include <random>

#include "base/error.h"

namespace tilefuse::data {
namespace {

using program::HostTensor;

HostTensor sample(DType type, program::Shape shape) {
  HostTensor tensor = program::make_host_tensor("x", type, std::move(shape));
  for (std::int64_t i = 0; i < program::elems(tensor.shape); ++i)
    program::set(tensor, i,
                 type == DType::Bool ? static_cast<double>(i % 2) : static_cast<double>(i % 100));
  return tensor;
}

// A file of one f32 with this header.
std::string file_with(const std::string &header, std::size_t elements = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += {'\1', '\0', static_cast<char>(header.size()), '\0'};
  return bytes + header + std::string(elements * 4, '\0');
}

TEST(Npy, EveryTypeComesBack) {
  for (DType type : {DType::F16, DType::F32, DType::F64, DType::I8, DType::U8, DType::I32,
                     DType::I64, DType::Bool}) {
    for (const program::Shape &shape : {program::Shape{}, {1}, {7}, {0}, {2, 3}, {1, 3, 5, 7}}) {
      const HostTensor tensor = sample(type, shape);
      const std::string bytes = to_npy(tensor);
      const HostTensor back = parse_npy(bytes, "x.npy");
      EXPECT_EQ(back.type, type);
      EXPECT_EQ(back.shape, shape);
      EXPECT_EQ(back.data, tensor.data);
      EXPECT_EQ((bytes.size() - tensor.data.size()) % 64, 0U);
    }
  }
}

TEST(Npy, Bfloat16IsWrittenAsFloat) {
  const HostTensor back = parse_npy(to_npy(sample(DType::BF16, {5})), "x.npy");
  EXPECT_EQ(back.type, DType::F32);
  EXPECT_EQ(program::get(back, 3), 3.0);
}

TEST(Npy, KeysInAnyOrderAndSpacing) {
  const HostTensor tensor =
      parse_npy(file_with("{\"shape\":(1,),'fortran_order':False , 'descr' : '=f4'}\n"), "x.npy");
  EXPECT_EQ(tensor.shape, program::Shape{1});
}

TEST(Npy, FormatTwo) {
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (), }\n";
  std::string bytes = "\x93NUMPY";
  bytes += {'\2', '\0', static_cast<char>(header.size()), '\0', '\0', '\0'};
  EXPECT_EQ(parse_npy(bytes + header + std::string(4, '\0'), "x.npy").shape, program::Shape{});
}

TEST(Npy, RefusesWhatItCannotRead) {
  for (const char *header :
       {"", "{}", "{'descr': '<f4'}", "{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': True, 'shape': (1, 1)}",
        "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': 1}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 1}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} text",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999999999999999,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,", "{'descr': '<f4"})
    EXPECT_THROW(parse_npy(file_with(header), "x.npy"), Error) << header;
}

TEST(Npy, TruncatedOrChangedAnywhereIsAnErrorOrATensor) {
  const std::string good = to_npy(sample(DType::F32, {2, 3}));
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_THROW(parse_npy(good.substr(0, size), "x.npy"), Error) << size;
  std::mt19937 random(1);
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = good;
    for (int k = 0; k < 3; ++k)
      bytes[random() % 80] =
          static_cast<char>(random() % 4 == 0 ? random() : "(){}',:012 "[random() % 11]);
    try {
      const HostTensor tensor = parse_npy(bytes, "x.npy");
      EXPECT_EQ(static_cast<std::int64_t>(tensor.data.size()),
                program::elems(tensor.shape) * size_bytes(tensor.type));
    } catch (const Error &) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
}

} // namespace
} // namespace tilefuse::data
