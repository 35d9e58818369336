// SPDX-License-Identifier: Apache-2.0
#include "data/cifar.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/index.h"
#include "data/labels.h"
#include "data/packed_file.h"

namespace tilefuse::data {
namespace {

constexpr PictureForm kForm = {.height = 32, .width = 32, .channels = 3};
constexpr std::size_t kPlane = 32 * 32;
constexpr std::size_t kRecord = 1 + 3 * kPlane;

class Cifar : public Source {
public:
  Cifar(std::vector<std::vector<std::uint8_t>> parts, int classes)
      : parts_(std::move(parts)), classes_(classes) {
    for (const std::vector<std::uint8_t> &part : parts_)
      ends_.push_back(count() + static_cast<std::int64_t>(part.size() / kRecord));
  }

  std::int64_t count() const override { return ends_.empty() ? 0 : ends_.back(); }
  PictureForm form() const override { return kForm; }
  int classes() const override { return classes_; }

  std::int32_t read(std::int64_t number, std::span<std::uint8_t> pixels) const override {
    const auto end = std::upper_bound(ends_.begin(), ends_.end(), number);
    const std::int64_t first = end == ends_.begin() ? 0 : *std::prev(end);
    const std::vector<std::uint8_t> &part = parts_[at(end - ends_.begin())];
    const std::uint8_t *record = part.data() + at(number - first) * kRecord;
    for (std::size_t i = 0; i < kPlane; ++i) // (channel, y, x) to (y, x, channel)
      for (std::size_t channel = 0; channel < 3; ++channel)
        pixels[i * 3 + channel] = record[1 + channel * kPlane + i];
    return record[0];
  }

private:
  std::vector<std::vector<std::uint8_t>> parts_; // (record, byte) of each file
  std::vector<std::int64_t> ends_;               // number of the picture behind each file's last
  int classes_;
};

std::vector<std::int32_t> labels_of(const std::vector<std::uint8_t> &records) {
  std::vector<std::int32_t> labels;
  for (std::size_t i = 0; i < records.size(); i += kRecord)
    labels.push_back(records[i]);
  return labels;
}

} // namespace

std::unique_ptr<Source> open_cifar(std::span<const std::string> files, const OpenOptions &options) {
  std::vector<std::vector<std::uint8_t>> parts;
  std::int64_t left = options.most_bytes;
  int classes = 0;
  for (const std::string &file : files) {
    std::vector<std::uint8_t> records = PackedFile(file).rest(left);
    if (records.empty() || records.size() % kRecord != 0)
      throw Error(ErrorCode::Io,
                  fmt::format("{} bytes are no whole number of CIFAR-10's records of {} bytes",
                              records.size(), kRecord),
                  file);
    left -= static_cast<std::int64_t>(records.size());
    classes = std::max(classes, count_classes(labels_of(records), options.classes, file));
    parts.push_back(std::move(records));
  }
  return std::make_unique<Cifar>(std::move(parts), classes);
}

} // namespace tilefuse::data
