// SPDX-License-Identifier: Apache-2.0
// Numbers of a run by step, as TensorBoard reads them: `events.out.tfevents.SECONDS.PID` in the folder. A
// file is records (TensorFlow's TFRecord):
//
//   u64 length, u32 crc(length), bytes, u32 crc(bytes)      little-endian; crc: CRC-32C, rotated by 15, plus 0xa282ead8
//
// each of an Event: wall_time = 1, step = 2, one of file_version = 3, summary = 5, session_log = 7. A run that is
// taken up writes a file of its own, which begins with START at its step: TensorBoard then forgets what other files
// have from there on.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/append_file.h"

namespace tilefuse::train {

struct Scalar {
  std::string_view tag; // "train/loss"
  double value = 0;
};

// CRC-32C (Castagnoli, Bräuer, Herrmann 1993).
std::uint32_t crc32c(std::string_view bytes);
// What files hold of each event. `wall_time`: seconds since 1970.
std::string record_of(double wall_time, std::int64_t step, std::span<const Scalar> scalars);

class EventFile {
public:
  // A new one. Error{Io} when it cannot be made.
  EventFile(const std::string &folder, std::int64_t resumed_step);
  // Error{Io} when the disk takes no more; the event is then not there.
  void add(std::int64_t step, std::span<const Scalar> scalars);

private:
  AppendFile file_;
};

} // namespace tilefuse::train
