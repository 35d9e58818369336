// SPDX-License-Identifier: Apache-2.0
#include "run_labels.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/error.h"
#include "base/read_file.h"
#include "labels.h"
#include "open_model.h"

namespace tilefuse::tool {
namespace {

constexpr std::int64_t kLabelsLimit = 64 << 20;

void check(const std::vector<std::string> &labels, const std::string &file, std::int64_t classes,
           const program::HostTensor &output) {
  if (classes == 0)
    throw Error(ErrorCode::Shape,
                fmt::format("labels were given, but output '{}' {} is not one value per class",
                            output.name, type_text(output)),
                file);
  if (static_cast<std::int64_t>(labels.size()) != classes)
    throw Error(ErrorCode::Shape,
                fmt::format("there are {} labels, output '{}' has {} classes", labels.size(),
                            output.name, classes),
                file);
}

} // namespace

RunLabels run_labels(const std::string &asked, const std::string &model, std::int64_t classes,
                     const program::HostTensor &output) {
  namespace fs = std::filesystem;
  if (!asked.empty()) {
    const auto names = parse_labels(read_file(asked, kLabelsLimit));
    check(names, asked, classes, output);
    return {names, {}};
  }
  const fs::path path(model);
  for (const fs::path &file :
       {fs::path(path).replace_extension(".labels.txt"), path.parent_path() / "labels.txt"}) {
    std::error_code failure;
    if (!fs::is_regular_file(file, failure))
      continue;
    const auto names = parse_labels(read_file(file.string(), kLabelsLimit));
    if (classes > 0 && static_cast<std::int64_t>(names.size()) == classes)
      return {names, file.string()};
  }
  return {};
}

} // namespace tilefuse::tool
