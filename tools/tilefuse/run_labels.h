// SPDX-License-Identifier: Apache-2.0
// Names of a model's classes for `run`: those asked for or named by the settings, else those of a file beside the model,
// MODEL.labels.txt or labels.txt, with a line for each class.
#pragma once

#include <string>
#include <vector>

#include "program/host_tensor.h"

namespace tilefuse::tool {

struct RunLabels {
  std::vector<std::string> names; // none where there is no file
  std::string found;              // the file beside the model that was taken unasked, or empty
};

// Error{Shape} when `asked` is a file that does not name each of the `classes` of `output` once.
RunLabels run_labels(const std::string &asked, const std::string &model, std::int64_t classes,
                     const program::HostTensor &output);

} // namespace tilefuse::tool
