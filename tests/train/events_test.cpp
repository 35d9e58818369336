// SPDX-License-Identifier: Apache-2.0
// Events as TensorBoard reads them: known hashes, the bytes of TensorBoard's own writer, and files read back.
#include <array>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/read_file.h"
#include "train/events.h"
#include "train/files.h"

namespace tilefuse::train {
namespace {

std::string hex(const std::string &bytes) {
  std::string text;
  for (const char byte : bytes)
    text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

template <class Number> Number number_at(const std::string &bytes, std::size_t place) {
  Number number{};
  std::memcpy(&number, bytes.data() + place, sizeof(number));
  return number;
}

std::uint32_t masked(const std::string &bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

// The events of a folder's only file, their frames checked.
std::vector<std::string> read_events(const Folder &folder) {
  std::vector<std::string> events;
  for (const auto &entry : std::filesystem::directory_iterator(folder.path())) {
    EXPECT_TRUE(entry.path().filename().string().starts_with("events.out.tfevents."));
    const std::string bytes = read_file(entry.path().string());
    for (std::size_t place = 0; place < bytes.size();) {
      const auto length = number_at<std::uint64_t>(bytes, place);
      EXPECT_EQ(number_at<std::uint32_t>(bytes, place + 8), masked(bytes.substr(place, 8)));
      events.push_back(bytes.substr(place + 12, length));
      EXPECT_EQ(number_at<std::uint32_t>(bytes, place + 12 + length), masked(events.back()));
      place += 16 + length;
    }
  }
  return events;
}

TEST(Events, HashesAreCastagnolis) { // RFC 3720, B.4
  EXPECT_EQ(crc32c("123456789"), 0xe3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43U);
}

// tensorboard.summary.writer.record_writer.RecordWriter of event_pb2.Event(wall_time=1.5, step=300,
// summary=Summary(value=[Value(tag="train/loss", simple_value=0.25)])).
TEST(Events, BytesAreTensorBoards) {
  EXPECT_EQ(hex(record_of(1.5, 300, std::array{Scalar{"train/loss", 0.25}})),
            "2100000000000000017becf609000000000000f83f10ac022a130a110a0a747261696e2f6c6f7373150000"
            "803e6557981f");
}

TEST(Events, AFileBeginsWithItsVersion) {
  const Folder folder;
  {
    EventFile file(folder.path(), 0);
    file.add(7, std::array{Scalar{"test/top1", 0.5}, Scalar{"test/loss", 2}});
  }
  const std::vector<std::string> events = read_events(folder);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_TRUE(events[0].ends_with("brain.Event:2"));
  EXPECT_NE(events[1].find("test/top1"), std::string::npos);
  EXPECT_EQ(events[1][10], 7);
}

TEST(Events, ARunThatGoesOnStartsBehindItsStep) {
  const Folder folder;
  EventFile(folder.path(), 41);
  const std::vector<std::string> events = read_events(folder);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[1][10], 42);
  EXPECT_TRUE(
      events[1].ends_with(std::string("\x3a\x02\x08\x01", 4))); // session_log {status: START}
}

} // namespace
} // namespace tilefuse::train
