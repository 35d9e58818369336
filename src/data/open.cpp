// SPDX-License-Identifier: Apache-2.0
#include "data/open.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "data/cifar.h"
#include "data/mnist.h"
#include "data/npy_source.h"
#include "data/picture_files.h"
#include "data/tar_source.h"

namespace tilefuse::data {
namespace {

std::vector<std::string> split(const std::string &text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

} // namespace

std::unique_ptr<Source> open_source(const std::string &text, const OpenOptions &options) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::string path = text.substr(std::min(colon + 1, text.size()));
  const std::string kind = path.empty() ? "" : text.substr(0, colon);
  const std::vector<std::string> files = split(path);
  const bool is_pair = kind == "mnist" || kind == "npy";
  if (is_pair && files.size() != 2)
    throw Error(ErrorCode::Syntax, fmt::format("'{}' names {} files, need {}:PICTURES,LABELS", text,
                                               files.size(), kind));
  if (kind == "cifar")
    return open_cifar(files, options);
  if (kind == "mnist")
    return open_mnist(files[0], files[1], options);
  if (kind == "npy")
    return open_npy(files[0], files[1], options);
  if (kind == "folder")
    return open_folder(path, options);
  if (kind == "tar")
    return open_tar(files, options);
  if (kind == "list")
    return open_list(path, options);
  throw Error(ErrorCode::Syntax,
              fmt::format("'{}' names no data; need cifar:, mnist:, npy:, folder:, tar: or list: "
                          "and a path",
                          text));
}

} // namespace tilefuse::data
