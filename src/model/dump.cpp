// SPDX-License-Identifier: Apache-2.0
#include "model/dump.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "cost/group_model.h"
#include "kernel/text/text.h"
#include "launch/text.h"
#include "lower/launch/lower_launch.h"
#include "lower/pipeline.h"
#include "schedule/members.h"

namespace tilefuse::model {
namespace {

void write_text(const std::filesystem::path &path, const std::string &text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush())
    throw Error(ErrorCode::Io, "cannot write the dump", path.string());
}

// The levels of one part of a launch.
void dump_part(const std::string &stem, const launch::Part &part, const Target &target) {
  const poly::Group &group = part.placed.group;
  write_text(stem + ".group", poly::to_text(group));
  write_text(stem + ".schedule", schedule::to_text(group, part.schedule));
  write_text(stem + ".cost", cost::explain(cost::predict(group, part.schedule, target)));
  lower::lower(group, part.schedule, target,
               [&](int number, std::string_view pass, const kernel::Kernel &level) {
                 write_text(fmt::format("{}.{}.{}.kernel", stem, number, pass),
                            kernel::to_text(level));
               });
}

} // namespace

void dump_levels(const std::string &directory, const program::Program &program,
                 const Compiled &compiled, const Target &target) {
  const std::filesystem::path folder(directory);
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  write_text(folder / "program.txt", program::to_text(program));
  write_text(folder / "simplified.txt", program::to_text(compiled.stored.program));
  write_text(folder / "target.txt", to_text(target));
  for (std::size_t l = 0; l < compiled.launches.size(); ++l) {
    const launch::Launch &launch = compiled.launches[l].launch;
    const std::string stem = (folder / fmt::format("{:03}", l)).string();
    if (launch.parts.size() == 1) {
      dump_part(stem, launch.parts[0], target);
      continue;
    }
    for (std::size_t p = 0; p < launch.parts.size(); ++p)
      dump_part(fmt::format("{}.part{}", stem, p), launch.parts[p], target);
    write_text(stem + ".launch", launch::to_text(launch));
    write_text(stem + ".kernel", kernel::to_text(lower::lower_launch(launch, target)));
  }
}

void dump_plan(const std::string &directory, const std::string &plan) {
  write_text(std::filesystem::path(directory) / "plan.txt", plan);
}

} // namespace tilefuse::model
