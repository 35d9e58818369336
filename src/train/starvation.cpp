// SPDX-License-Identifier: Apache-2.0
#include "train/starvation.h"

#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tilefuse::train {

std::string advice(const Feeding &feeding) {
  const bool augments = feeding.times.augmenting > feeding.times.reading;
  std::vector<std::string> remedies;
  if (feeding.threads < feeding.cores)
    remedies.push_back(
        fmt::format("data.threads = {} in place of {}", feeding.cores, feeding.threads));
  if (augments)
    remedies.push_back("less augmentation");
  else if (feeding.decodes)
    remedies.push_back("pictures decoded once by 'tilefuse data pack'");
  else
    remedies.push_back("a faster disk, or memory that holds the files");
  const char *stage = augments ? "augmenting" : feeding.decodes ? "decoding" : "reading";
  return fmt::format(
      "starved  {:.0f} % of the time waits for pictures, whose loading is mostly {}; "
      "what helps: {}\n",
      feeding.waited * 100, stage, fmt::join(remedies, ", or "));
}

} // namespace tilefuse::train
