// SPDX-License-Identifier: Apache-2.0
// The log of a run as comma-separated values, one row per step that is reported:
//
//   step,epoch,images,rate,loss,top1,images_per_second,step_ms,input_wait_ms,exchange_wait_ms,gradient_norm,scale
//   50,1,6400,0.02,1.81,0.34,472.5,270.9,0.1,0,2.4,1
//
// Numbers are the shortest texts that read back as themselves. A row is on the disk once it is appended, but for crashes
// of the machine; a row that was torn is cut off when the log is taken up again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/append_file.h"

namespace tilefuse::train {

struct LogRow {
  std::int64_t step = 0;   // steps done
  std::int64_t epoch = 0;  // from 1
  std::int64_t images = 0; // seen since the run began
  double rate = 0;
  double loss = 0; // mean since the row before
  double top1 = 0; // the share that was right since the row before
  double images_per_second = 0;
  double step_ms = 0;       // median since the row before
  double input_wait_ms = 0; // by step
  double exchange_wait_ms = 0;
  double gradient_norm = 0;
  double scale = 1; // of the loss
  friend bool operator==(const LogRow &, const LogRow &) = default;
};

class Log {
public:
  // Makes the file, or takes up the one that is there: its rows up to `resumed_step` stay, what lies behind them is cut
  // off. Error{Io} when it cannot be written or has other columns.
  Log(const std::string &path, std::int64_t resumed_step);
  // Error{Io} when the disk takes no more; the row is then not there.
  void append(const LogRow &row);

private:
  AppendFile file_;
};

// The whole rows of a log. Error{Io} when it cannot be read, has other columns or a row that is not numbers.
std::vector<LogRow> read_log(const std::string &path);

} // namespace tilefuse::train
