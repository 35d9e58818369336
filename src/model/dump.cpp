// SPDX-License-Identifier: Apache-2.0
#include "model/dump.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "cost/model.h"
#include "kernel/text/text.h"
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

} // namespace

void dump_levels(const std::string &directory, const program::Program &program,
                 const Compiled &compiled, const Target &target) {
  const std::filesystem::path folder(directory);
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  write_text(folder / "program.txt", program::to_text(program));
  write_text(folder / "simplified.txt", program::to_text(compiled.stored.program));
  write_text(folder / "target.txt", to_text(target));
  for (std::size_t k = 0; k < compiled.kernels.size(); ++k) {
    const CompiledKernel &kernel = compiled.kernels[k];
    const poly::Group &group = kernel.placed.group;
    const std::string stem = fmt::format("{:03}", k);
    write_text(folder / (stem + ".group"), poly::to_text(group));
    write_text(folder / (stem + ".schedule"), schedule::to_text(group, kernel.schedule));
    write_text(folder / (stem + ".cost"),
               cost::explain(cost::predict(group, kernel.schedule, target)));
    lower::lower(group, kernel.schedule, target,
                 [&](int number, std::string_view pass, const kernel::Kernel &level) {
                   write_text(folder / fmt::format("{}.{}.{}.kernel", stem, number, pass),
                              kernel::to_text(level));
                 });
  }
}

void dump_plan(const std::string &directory, const std::string &plan) {
  write_text(std::filesystem::path(directory) / "plan.txt", plan);
}

} // namespace tilefuse::model
