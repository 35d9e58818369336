// SPDX-License-Identifier: Apache-2.0
// Files that tests write and read back, and what reading them says.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/source.h"

namespace tilefuse::data {

// An empty folder that goes with its contents.
class WrittenFolder {
public:
  WrittenFolder();
  ~WrittenFolder();
  WrittenFolder(const WrittenFolder &) = delete;
  WrittenFolder &operator=(const WrittenFolder &) = delete;

  std::string path(const std::string &name) const { return (path_ / name).string(); }
  // Writes the file, with the folders it lies in; returns its path.
  std::string write(const std::string &name, const std::string &bytes) const;

private:
  std::filesystem::path path_;
};

std::string gzipped(const std::string &bytes);
// A record of CIFAR-10 whose bytes follow from `number`, and that byte (channel, i) of its planes.
std::string cifar_record(int label, int number);
std::uint8_t cifar_byte(int number, int channel, int i);
// An idx file: a magic number, sizes and bytes.
std::string idx(unsigned magic, const std::vector<unsigned> &sizes, const std::string &bytes);
// Files of a picture whose pixels are (10 x, 10 y, 70).
std::string png(int width, int height);
std::string jpeg(int width, int height);

// The pixels of a picture; its label where that is asked for.
std::vector<std::uint8_t> read(const Source &source, std::int64_t number,
                               std::int32_t *label = nullptr);

// "input/output error: text" of the Error that a call ends in; "" where it ends in none.
std::string refusal(const std::function<void()> &call);
// Whether `part` stands in it: EXPECT_PRED2(has, refusal(…), "truncated").
bool has(const std::string &text, const std::string &part);

} // namespace tilefuse::data
