// SPDX-License-Identifier: Apache-2.0
#include "data/npy_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "base/error.h"
#include "base/index.h"
#include "base/read_file.h"
#include "data/image.h"
#include "data/labels.h"
#include "data/npy_file.h"

namespace tilefuse::data {
namespace {

constexpr std::int64_t kMostChannels = 16;

PictureForm form_of(const NpyFile &file) {
  const auto &[type, shape, begin] = file.head();
  if (type != DType::U8 || (shape.size() != 3 && shape.size() != 4))
    throw Error(ErrorCode::Shape,
                fmt::format("elements are {}[{}], need u8 [N, H, W] or [N, H, W, C]",
                            to_string(type), fmt::join(shape, ", ")),
                file.path());
  const std::int64_t channels = shape.size() == 4 ? shape[3] : 1;
  if (*std::min_element(shape.begin(), shape.end()) < 1)
    throw Error(ErrorCode::Io, "the file has no pictures", file.path());
  if (channels > kMostChannels)
    throw Error(ErrorCode::Shape,
                fmt::format("pictures have {} channels, need 1 to {} as the last dimension",
                            channels, kMostChannels),
                file.path());
  if (shape[1] > kMaxPixels || shape[2] > kMaxPixels / shape[1])
    throw Error(ErrorCode::Limit,
                fmt::format("pictures of {} x {} have more than {} megapixels", shape[1], shape[2],
                            kMaxPixels >> 20),
                file.path());
  return {.height = static_cast<int>(shape[1]),
          .width = static_cast<int>(shape[2]),
          .channels = static_cast<int>(channels)};
}

bool is_integer(DType type) {
  return type == DType::I8 || type == DType::U8 || type == DType::I32 || type == DType::I64;
}

std::vector<std::int32_t> read_labels(const NpyFile &file, std::int64_t count,
                                      const std::string &images) {
  const auto &[type, shape, begin] = file.head();
  if (!is_integer(type))
    throw Error(ErrorCode::Type,
                fmt::format("labels are {}, need i8, u8, i32 or i64", to_string(type)),
                file.path());
  if (shape.empty() || shape[0] != count || program::elems(shape) != count)
    throw Error(ErrorCode::Shape,
                fmt::format("labels of shape [{}] for {} pictures of '{}'", fmt::join(shape, ", "),
                            count, images),
                file.path());
  program::HostTensor tensor = program::make_host_tensor({}, type, shape);
  file.read(0, {reinterpret_cast<std::uint8_t *>(tensor.data.data()), tensor.data.size()});
  std::vector<std::int32_t> labels;
  for (std::int64_t i = 0; i < count; ++i) { // what no label can be becomes -1 and is refused later
    const double label = program::get(tensor, i);
    const bool fits = label >= 0 && label < std::numeric_limits<std::int32_t>::max();
    labels.push_back(fits ? static_cast<std::int32_t>(label) : -1);
  }
  return labels;
}

class NpySource : public Source {
public:
  NpySource(const std::string &images, const std::string &labels, const OpenOptions &options)
      : images_(images), form_(form_of(images_)),
        labels_(read_labels(NpyFile(labels), images_.head().shape[0], images)),
        classes_(count_classes(labels_, options.classes, labels)) {}

  std::int64_t count() const override { return static_cast<std::int64_t>(labels_.size()); }
  PictureForm form() const override { return form_; }
  int classes() const override { return classes_; }

  std::int32_t read(std::int64_t number, std::span<std::uint8_t> pixels) const override {
    const std::size_t bytes = picture_bytes(form_);
    images_.read(number * static_cast<std::int64_t>(bytes), pixels.first(bytes));
    return labels_[at(number)];
  }

private:
  NpyFile images_;
  PictureForm form_;
  std::vector<std::int32_t> labels_;
  int classes_;
};

} // namespace

std::unique_ptr<Source> open_npy(const std::string &images, const std::string &labels,
                                 const OpenOptions &options) {
  return std::make_unique<NpySource>(images, labels, options);
}

} // namespace tilefuse::data
