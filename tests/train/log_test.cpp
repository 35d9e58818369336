// SPDX-License-Identifier: Apache-2.0
// The log of a run: rows come back, a resumed run cuts off what it will do again.
#include <cmath>

#include <gtest/gtest.h>

#include "train/files.h"
#include "train/log.h"

namespace tilefuse::train {
namespace {

LogRow row_of(std::int64_t step) {
  const auto at = static_cast<double>(step);
  return {.step = step,
          .epoch = 1 + step / 10,
          .images = 128 * step,
          .rate = 0.1 / at,
          .loss = 1 / at,
          .top1 = 0.25,
          .images_per_second = 1e3 / 3,
          .step_ms = 1e-3,
          .input_wait_ms = 0,
          .exchange_wait_ms = 0.5,
          .gradient_norm = 1e20,
          .scale = 65536};
}

std::vector<LogRow> rows_of(std::initializer_list<std::int64_t> steps) {
  std::vector<LogRow> rows;
  for (const std::int64_t step : steps)
    rows.push_back(row_of(step));
  return rows;
}

void append(const std::string &path, std::int64_t resumed,
            std::initializer_list<std::int64_t> steps) {
  Log log(path, resumed);
  for (const LogRow &row : rows_of(steps))
    log.append(row);
}

TEST(Log, rows_come_back) {
  const Folder folder;
  append(folder / "log.csv", 0, {1, 2, 30});
  EXPECT_EQ(read_log(folder / "log.csv"), rows_of({1, 2, 30}));
  EXPECT_TRUE(
      bytes_of_file(folder / "log.csv")
          .starts_with(
              "step,epoch,images,rate,loss,top1,images_per_second,step_ms,input_wait_ms,"
              "exchange_wait_ms,gradient_norm,scale\n"
              "1,1,128,0.1,1,0.25,333.3333333333333,0.001,0,0.5,1e+20,65536\n"));
}

TEST(Log, a_resumed_run_leaves_the_log_of_an_unbroken_one) {
  const Folder folder;
  append(folder / "whole", 0, {10, 20, 30, 40});
  append(folder / "broken", 0, {10, 20, 30});
  append(folder / "broken", 20, {30, 40});
  EXPECT_EQ(bytes_of_file(folder / "broken"), bytes_of_file(folder / "whole"));
  append(folder / "broken", 0, {});
  EXPECT_TRUE(read_log(folder / "broken").empty());
}

TEST(Log, torn_rows_are_cut_off) {
  const Folder folder;
  append(folder / "whole", 0, {10, 20});
  const std::string whole = bytes_of_file(folder / "whole");
  const std::size_t first = whole.find("\n20,") + 1; // where the second row begins
  for (std::size_t size = first; size < whole.size(); ++size) {
    write_bytes(folder / "torn", whole.substr(0, size));
    append(folder / "torn", 20, {20});
    ASSERT_EQ(bytes_of_file(folder / "torn"), whole) << size;
  }
  write_bytes(folder / "torn", whole.substr(0, 9));
  append(folder / "torn", 0, {10, 20});
  EXPECT_EQ(bytes_of_file(folder / "torn"), whole);
}

TEST(Log, numbers_that_are_none_are_kept) {
  const Folder folder;
  LogRow row = row_of(1);
  row.loss = NAN;
  row.gradient_norm = INFINITY;
  Log(folder / "log.csv", 0).append(row);
  EXPECT_TRUE(std::isnan(read_log(folder / "log.csv").front().loss));
  EXPECT_TRUE(std::isinf(read_log(folder / "log.csv").front().gradient_norm));
}

TEST(Log, refusals) {
  const Folder folder;
  write_bytes(folder / "other.csv", "step,loss\n1,2\n");
  EXPECT_EQ(error_of([&] { Log(folder / "other.csv", 0); }),
            (folder / "other.csv") +
                ": error: not a log of training: its first line names other columns");
  append(folder / "bad.csv", 0, {1});
  write_bytes(folder / "bad.csv", bytes_of_file(folder / "bad.csv") + "2,3\n");
  EXPECT_EQ(error_of([&] { Log(folder / "bad.csv", 9); }),
            (folder / "bad.csv") +
                ":3: error: a row of the log is not as many numbers as there are columns");
  EXPECT_EQ(bytes_of_file(folder / "other.csv"), "step,loss\n1,2\n");
  EXPECT_EQ(error_of([&] { Log(folder / "none/log.csv", 0); }),
            (folder / "none/log.csv") + ": error: cannot write the log: No such file or directory");
}

TEST(Log, a_full_disk_is_said) {
  if (!std::filesystem::exists("/dev/full"))
    GTEST_SKIP() << "there is no /dev/full";
  EXPECT_NE(error_of([&] { Log("/dev/full", 0); }).find("/dev/full: error: "), std::string::npos);
}

} // namespace
} // namespace tilefuse::train
