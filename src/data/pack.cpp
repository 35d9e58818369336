// SPDX-License-Identifier: Apache-2.0
#include "data/pack.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <span>

#include <fmt/format.h>

#include "base/append_file.h"
#include "base/durable_file.h"
#include "base/error.h"
#include "data/loader.h"
#include "data/npy.h"
#include "program/host_tensor.h"

namespace tilefuse::data {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kBatchBytes = 8 << 20; // of pictures that are written at once

std::string images_path(const std::string &name) { return name + ".images.npy"; }
std::string labels_path(const std::string &name) { return name + ".labels.npy"; }

// Removed where it did not get its name.
class Unfinished {
public:
  explicit Unfinished(std::string path) : path_(std::move(path)) {}
  ~Unfinished() {
    std::error_code ignored;
    fs::remove(part(), ignored);
  }
  Unfinished(const Unfinished &) = delete;
  Unfinished &operator=(const Unfinished &) = delete;
  std::string part() const { return path_ + std::string(kUnfinished); }
  void finish() const { fs::rename(part(), path_); }

private:
  std::string path_;
};

LoaderOptions in_order(const Source &source, int threads) {
  const auto bytes = static_cast<std::int64_t>(picture_bytes(source.form()));
  return {.batch = std::clamp<std::int64_t>(kBatchBytes / bytes, 1, source.count()),
          .threads = threads};
}

} // namespace

std::string packed_name(const std::string &name) {
  return fmt::format("npy:{},{}", images_path(name), labels_path(name));
}

void pack(const Source &source, const std::string &name, int threads,
          const std::function<void(std::int64_t, std::int64_t)> &progress) {
  const PictureForm form = source.form();
  const Unfinished images(images_path(name));
  AppendFile file(images.part(), 0, "packed pictures");
  file.append(npy_head(DType::U8, {source.count(), form.height, form.width, form.channels}));
  program::HostTensor labels = program::make_host_tensor("labels", DType::I32, {source.count()});
  std::int64_t done = 0;
  for (Loader loader(source, in_order(source, threads)); loader.more();) {
    const Batch &batch = loader.next();
    const auto count = static_cast<std::size_t>(batch.count);
    file.append({reinterpret_cast<const char *>(batch.pixels.data()), count * picture_bytes(form)});
    std::memcpy(labels.data.data() + done * 4, batch.labels.data(), count * 4);
    done += batch.count;
    if (progress)
      progress(done, source.count());
  }
  write_durably(labels_path(name), to_npy(labels));
  images.finish();
}

} // namespace tilefuse::data
