// SPDX-License-Identifier: Apache-2.0
// Files of tensors: back as they were, as others read and write them, and refused where they are damaged.
#include <cstring>
#include <sstream>

#include <gtest/gtest.h>

#include "paths.h"
#include "target/dtype_traits.h"
#include "train/files.h"
#include "train/safetensors.h"

namespace tilefuse::train {
namespace {

// A tensor of each type, one without elements and one without dimensions.
TensorFile every_type() {
  TensorFile file;
  for (const DTypeTraits &row : dtypes())
    file.tensors.emplace(row.name, tensor_of(std::string(row.name), row.type, {3, 5}, 1));
  file.tensors.emplace("empty", tensor_of("empty", DType::F32, {2, 0, 4}));
  file.tensors.emplace("scalar \"é\"\n", tensor_of("scalar \"é\"\n", DType::F32, {}, -7.5));
  file.metadata = {{"tilefuse.step", "12"}, {"recipe", "model = \"a\"\n"}};
  return file;
}

void expect_equal(const TensorFile &got, const TensorFile &want) {
  EXPECT_EQ(got.metadata, want.metadata);
  ASSERT_EQ(got.tensors.size(), want.tensors.size());
  for (const auto &[name, tensor] : want.tensors) {
    ASSERT_TRUE(got.tensors.contains(name)) << name;
    const program::HostTensor &other = got.tensors.at(name);
    EXPECT_EQ(other.name, name);
    EXPECT_EQ(other.type, tensor.type) << name;
    EXPECT_EQ(other.shape, tensor.shape) << name;
    EXPECT_EQ(other.data, tensor.data) << name;
  }
}

// A file as a stranger writes it: a header's text and bytes of elements.
std::string stranger(const std::string &header, std::size_t bytes) {
  const std::uint64_t length = header.size();
  std::string file(8, '\0');
  std::memcpy(file.data(), &length, 8);
  return file + header + std::string(bytes, '\1');
}

SealedFile parse_sealed(const std::string &bytes) {
  std::istringstream in(bytes);
  return read_sealed(in, static_cast<std::int64_t>(bytes.size()), "file");
}

TensorFile parse(const std::string &bytes) { return parse_sealed(bytes).content; }

TEST(Safetensors, comes_back_as_it_was) {
  const Folder folder;
  write_safetensors(folder / "a.safetensors", every_type());
  expect_equal(read_safetensors(folder / "a.safetensors"), every_type());
  EXPECT_TRUE(read_sealed(folder / "a.safetensors").is_sealed);
}

TEST(Safetensors, equal_contents_are_equal_files) {
  const Folder folder;
  write_safetensors(folder / "a", every_type());
  write_safetensors(folder / "b", every_type());
  EXPECT_EQ(bytes_of_file(folder / "a"), bytes_of_file(folder / "b"));
}

TEST(Safetensors, an_empty_file_is_one) {
  const Folder folder;
  write_safetensors(folder / "a", TensorFile{});
  EXPECT_TRUE(read_safetensors(folder / "a").tensors.empty());
}

TEST(Safetensors, another_reader_and_writer_agree) {
  const Folder folder;
  write_safetensors(folder / "ours", every_type());
  const std::string command = "/usr/bin/python3 " TILEFUSE_SOURCE_DIR
                              "/tests/train/safetensors_peer.py " +
                              (folder / "ours") + " " + (folder / "theirs");
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  const TensorFile theirs = read_safetensors(folder / "theirs");
  EXPECT_FALSE(read_sealed(folder / "theirs").is_sealed);
  expect_equal(theirs, every_type());
}

TEST(Safetensors, refusals) {
  struct Case {
    std::string bytes, why;
  };
  const auto f32 = [](const std::string &shape, const std::string &offsets) {
    return "{\"w\":{\"dtype\":\"F32\",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}}";
  };
  const std::vector<Case> cases = {
      {"", "it is cut short"},
      {"1234567", "it is cut short"},
      {std::string(8, '\xff') + "{}", "it has no header of 18446744073709551615 bytes"},
      {stranger("", 0), "its header is not a JSON object"},
      {stranger("[1]", 0), "its header is not a JSON object"},
      {stranger("{\"w\":", 0), "its header is not a JSON object"},
      {stranger("{\"w\":1}", 0), "tensor \"w\" is not described"},
      {stranger("{\"w\":{}}", 0), "tensor \"w\" has no proper \"dtype\""},
      {stranger(f32("3", "[0,12]"), 12), "tensor \"w\" has no proper \"shape\""},
      {stranger(f32("[3]", "[0]"), 12), "tensor \"w\" has 1 offsets, need 2"},
      {stranger(f32("[-3]", "[0,12]"), 12),
       "dimensions of tensor \"w\" must be whole numbers of at least 0"},
      {stranger(f32("[3.5]", "[0,12]"), 12),
       "dimensions of tensor \"w\" must be whole numbers of at least 0"},
      {stranger(f32("[[[[[3]]]]]", "[0,12]"), 12),
       "dimensions of tensor \"w\" must be whole numbers of at least 0"},
      {stranger(f32("[3]", "[0,16]"), 16),
       "tensor \"w\" lies at 0 to 16; [3] of f32 need 12 bytes"},
      {stranger(f32("[3]", "[12,0]"), 12),
       "tensor \"w\" lies at 12 to 0; [3] of f32 need 12 bytes"},
      {stranger(f32("[3]", "[4,16]"), 16),
       "tensor \"w\" begins at 4, where the one before it ends at 0"},
      {stranger(f32("[3]", "[0,12]"), 11), "its tensors need 12 bytes, it holds 11"},
      {stranger(f32("[3]", "[0,12]"), 13), "its tensors need 12 bytes, it holds 13"},
      {stranger(f32("[4294967296,4294967296]", "[0,12]"), 12),
       "the shape of tensor \"w\" is larger than any file"},
      {stranger(f32("[0,18446744073709551615]", "[0,0]"), 0),
       "the shape of tensor \"w\" is larger than any file"},
      {stranger("{\"w\":{\"dtype\":\"F8_E4M3\",\"shape\":[],\"data_offsets\":[0,1]}}", 1),
       "elements of \"F8_E4M3\" are not supported"},
      {stranger("{\"a\":1,\"a\":2}", 0), "its header says \"a\" twice"},
      {stranger("{\"__metadata__\":[]}", 0), "its metadata is not a JSON object"},
      {stranger("{\"__metadata__\":{\"n\":1}}", 0), "the metadata's \"n\" is not a text"},
  };
  for (const Case &each : cases)
    EXPECT_NE(error_of([&] { parse(each.bytes); }).find(each.why), std::string::npos)
        << each.why << "\n"
        << error_of([&] { parse(each.bytes); });
  EXPECT_EQ(parse(stranger(f32("[3]", "[0,12]") + "   ", 12)).tensors.at("w").shape,
            program::Shape{3});
}

TEST(Safetensors, overlapping_tensors_are_refused) {
  const std::string two = "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
                          "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[2,6]}}";
  EXPECT_EQ(error_of([&] { parse(stranger(two, 6)); }),
            "file: error: not a whole safetensors file: tensor \"b\" begins at 2, where the one "
            "before it ends at 4");
}

TEST(Safetensors, every_cut_and_every_flipped_bit_is_found) {
  const Folder folder;
  TensorFile file;
  file.tensors.emplace("w", tensor_of("w", DType::F32, {4}));
  file.metadata["key"] = "value";
  write_safetensors(folder / "a", file);
  const std::string whole = bytes_of_file(folder / "a");
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_NE(error_of([&] { parse(whole.substr(0, size)); }), "") << size;
  int unsealed = 0; // a flip in the hash's own key: the file then has none
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    try {
      unsealed += parse_sealed(flipped).is_sealed ? 1000 : 1;
    } catch (const Error &) {
    }
  }
  EXPECT_LE(unsealed, 8 * 13);
}

TEST(Safetensors, texts_that_are_no_utf8_are_refused) {
  const Folder folder;
  TensorFile file;
  file.tensors.emplace("\xff", tensor_of("\xff", DType::F32, {1}));
  EXPECT_EQ(error_of([&] { write_safetensors(folder / "a", file); }),
            (folder / "a") + ": error: a name or a text of the metadata is not UTF-8");
  EXPECT_FALSE(std::filesystem::exists(folder / "a"));
}

TEST(Safetensors, files_that_are_none) {
  const Folder folder;
  EXPECT_EQ(error_of([&] { read_safetensors(folder / "a"); }),
            (folder / "a") + ": error: there is no such file");
  EXPECT_EQ(error_of([&] { read_safetensors(folder.path()); }),
            folder.path() + ": error: not a regular file");
}

} // namespace
} // namespace tilefuse::train
