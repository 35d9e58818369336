// SPDX-License-Identifier: Apache-2.0
// Labelled pictures by number: what a data set is to training and evaluation. All pictures of a
// source have one form. Access is by number alone, without a place that is kept between calls, so
// that any step of a run can be drawn again (order.h says which pictures a step has).
//
//   const std::unique_ptr<Source> source = open_source("cifar:train.bin.gz", {}); // open.h
//   std::vector<std::uint8_t> pixels(picture_bytes(source->form()));             // [32, 32, 3]
//   const std::int32_t label = source->read(17, pixels);
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace tilefuse::data {

// Of pictures of u8, laid out as [height, width, channels].
struct PictureForm {
  int height = 0;
  int width = 0;
  int channels = 0;

  bool operator==(const PictureForm &) const = default;
};

constexpr std::size_t picture_bytes(const PictureForm &form) {
  return static_cast<std::size_t>(form.height) * static_cast<std::size_t>(form.width) *
         static_cast<std::size_t>(form.channels);
}

class Source {
public:
  virtual ~Source() = default;

  virtual std::int64_t count() const = 0;
  virtual PictureForm form() const = 0;
  // Largest label + 1, or the number of class folders; 0: unknown.
  virtual int classes() const = 0;
  // Whether read() decodes files of pictures, which takes longer than to copy bytes.
  virtual bool decodes() const { return false; }
  // Writes picture `number` of [0, count()) into picture_bytes(form()) bytes; returns its label.
  // Threads may call it at once. Error{Io} names the picture and its number where it is damaged.
  virtual std::int32_t read(std::int64_t number, std::span<std::uint8_t> pixels) const = 0;
};

struct OpenOptions {
  int side = 224;  // pictures of folder: and list: are made side x side
  int classes = 0; // labels must be below it; 0: any number of classes
  std::int64_t most_bytes = std::int64_t{4} << 30; // of pictures that are kept in memory
};

} // namespace tilefuse::data
