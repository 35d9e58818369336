// SPDX-License-Identifier: Apache-2.0
// A golden of kernel text by hash: what is scheduled, and the text of every kernel, are compared
// with kernel_hashes.expected. A cell there is `column=SCHEDULES.KERNELS`, eight hex digits each,
// so that another choice is told apart from another lowering of the same choice.
//
//   TILEFUSE_UPDATE_HASHES=1 build/bin/test_kernel_hashes    writes the file anew, to be reviewed
//   as
//                                                            a diff; with --gtest_filter its part
//   TILEFUSE_DUMP_HASHED=DIR build/bin/test_kernel_hashes    leaves the hashed texts there, by row
//                                                            and column: two builds can be compared
//
// Fast is a sample of every kind of row; Slow is all but what Nightly has: other batches.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "base/hash.h"
#include "lower/hash_rows.h"
#include "paths.h"

namespace tilefuse::testing {
namespace {

const std::string kFile = TILEFUSE_SOURCE_DIR "/tests/lower/kernel_hashes.expected";

using Cells = std::map<std::string, std::string>; // digits by column

bool is_set(const char *variable) {
  const char *value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

std::vector<HashRow> all_rows() {
  std::vector<HashRow> rows;
  for (const auto &more : {algorithm_rows(), form_rows(), group_rows(), layer_rows()})
    rows.insert(rows.end(), more.begin(), more.end());
  return rows;
}

// Every so many rows; cheap beside the whole.
bool is_sampled(std::size_t number) {
  constexpr std::size_t kEach = 67;
  return number % kEach == 0;
}

std::string digits_of(const Cell &cell) {
  return content_hash(cell.schedules).substr(0, 8) + "." + content_hash(cell.kernels).substr(0, 8);
}

std::map<std::string, Cells> read_expected() {
  std::map<std::string, Cells> rows;
  std::ifstream file(kFile);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    for (std::string word; words >> word;) {
      const std::size_t sign = word.rfind('=');
      rows[name][word.substr(0, sign)] = word.substr(sign + 1);
    }
  }
  return rows;
}

// In the order of the rows; what is of no row is dropped.
void write_expected(const std::map<std::string, Cells> &expected) {
  std::ofstream file(kFile);
  for (const HashRow &row : all_rows()) {
    const auto found = expected.find(row.name);
    if (found == expected.end())
      continue;
    file << row.name;
    for (const auto &[column, digits] : found->second)
      file << " " << column << "=" << digits;
    file << "\n";
  }
}

// The text of a cell as a file of its own.
void dump(const std::string &row, const Cell &cell) {
  std::string name = row + "/" + cell.column;
  for (char &letter : name)
    letter = letter == '/' || letter == ':' ? '_' : letter;
  const std::filesystem::path folder = std::getenv("TILEFUSE_DUMP_HASHED");
  std::filesystem::create_directories(folder);
  std::ofstream(folder / (name + ".schedules")) << cell.schedules;
  std::ofstream(folder / (name + ".kernels")) << cell.kernels;
}

// "other schedules" or "other kernels of the same schedules", or nothing.
std::string difference(const std::string &expected, const std::string &got) {
  if (expected == got)
    return {};
  const bool same_choice = expected.substr(0, 8) == got.substr(0, 8);
  return fmt::format("{}: expected {}, got {}",
                     same_choice ? "other kernels of the same schedules" : "other schedules",
                     expected, got);
}

// What a whole golden has: every way into a launch, every feed, every footprint and order.
constexpr auto kWords = std::to_array<std::string_view>({
    "\njoined launch\n", "\ndealt\n",      "\nbetween\n", "\nin step\n", "\nmap input",
    "\nproduce input",   "\nspread input", " stored\n",   " pingpong ",  " swap_ab",
    "\n  pipe   extra ", " halo ",         " resident ",  " cluster ",   " split_k ",
    "\n  store  tma",    "\n  pipeline ",  "\n  slide ",  "\n  trim ",   "\n  peel ",
});

class Golden {
public:
  void check(const HashRow &row) {
    Cells got;
    for (const Cell &cell : row.cells()) {
      EXPECT_TRUE(got.emplace(cell.column, digits_of(cell)).second) << row.name << cell.column;
      for (const std::string_view word : kWords)
        if (cell.schedules.find(word) != std::string::npos)
          seen_.insert(word);
      if (is_set("TILEFUSE_DUMP_HASHED"))
        dump(row.name, cell);
    }
    EXPECT_FALSE(got.empty()) << row.name << " computes nothing";
    if (!updates_)
      compare(row.name, got);
    expected_[row.name] = std::move(got);
  }

  void finish() const {
    if (updates_)
      write_expected(expected_);
    else if (::testing::Test::HasFailure())
      ADD_FAILURE() << "kernels changed; where that is meant, TILEFUSE_UPDATE_HASHES=1 "
                       "test_kernel_hashes writes kernel_hashes.expected anew";
  }

  // Everything of kWords is in what was checked.
  void expect_all_words() const {
    for (const std::string_view word : kWords)
      EXPECT_TRUE(seen_.contains(word)) << "no row has" << word;
  }

private:
  void compare(const std::string &row, const Cells &got) {
    Cells &expected = expected_[row];
    for (const auto &[column, digits] : got) {
      const auto found = expected.find(column);
      EXPECT_NE(found, expected.end()) << row << " " << column << " is not in the file";
      if (found != expected.end()) {
        EXPECT_EQ(difference(found->second, digits), "") << row << " " << column;
      }
    }
    for (const auto &[column, digits] : expected)
      EXPECT_TRUE(got.contains(column)) << row << " " << column << " is in the file alone";
  }

  const bool updates_ = is_set("TILEFUSE_UPDATE_HASHES");
  std::map<std::string, Cells> expected_ = read_expected();
  std::set<std::string_view> seen_;
};

Golden check_rows(const std::function<bool(std::size_t, const HashRow &)> &takes) {
  Golden golden;
  const std::vector<HashRow> rows = all_rows();
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (takes(i, rows[i]))
      golden.check(rows[i]);
  golden.finish();
  return golden;
}

TEST(KernelHashes, Fast) {
  check_rows([](std::size_t i, const HashRow &) { return is_sampled(i); });
}

TEST(KernelHashes, Slow) {
  check_rows([](std::size_t, const HashRow &row) {
    return row.part == Part::Slow;
  }).expect_all_words();
}

TEST(KernelHashes, Nightly) {
  check_rows([](std::size_t, const HashRow &row) { return row.part == Part::Nightly; });
}

// The file has a line for each row and no other.
TEST(KernelHashes, FastEveryRowIsInTheFile) {
  if (is_set("TILEFUSE_UPDATE_HASHES"))
    GTEST_SKIP() << "the file is being written";
  std::set<std::string> names, in_file;
  for (const HashRow &row : all_rows())
    EXPECT_TRUE(names.insert(row.name).second) << row.name << " is there twice";
  for (const auto &[name, cells] : read_expected())
    in_file.insert(name);
  EXPECT_EQ(names, in_file);
}

} // namespace
} // namespace tilefuse::testing
