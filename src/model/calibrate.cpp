// SPDX-License-Identifier: Apache-2.0
#include "model/calibrate.h"

#include <cmath>

#include <fmt/format.h>

#include "base/error.h"
#include "base/index.h"
#include "model/session.h"

namespace tilefuse::model {

using program::HostTensor;

Calibration calibrate(const program::Program &program, std::size_t own, const Runs &runs,
                      const Clip &clip, runtime::Device &device, runtime::KernelCache &cache) {
  if (runs.empty())
    throw Error(ErrorCode::Unsupported,
                "precision int8 needs inputs to calibrate with, and there are none", {},
                {"give some like those that the model will see; the verbs take --calibrate FILE",
                 "models that are quantised already (QDQ, QLinearConv) run without it",
                 "f16 and bf16 need no calibration"});
  Session session(program, device, cache, {});
  std::vector<Magnitudes> seen(program.outputs.size());
  Calibration result;
  for (const std::vector<HostTensor> &inputs : runs) {
    std::vector<HostTensor> outputs = session.run(inputs);
    for (std::size_t k = 0; k < seen.size(); ++k)
      seen[k].add(outputs[k]);
    outputs.resize(own);
    result.outputs.push_back(std::move(outputs));
  }
  for (const Magnitudes &each : seen)
    result.ranges.push_back(each.range(clip.by, clip.percentile));
  return result;
}

Accuracy accuracy(const Runs &got, const Runs &reference) {
  Accuracy result;
  double apart = 0;
  double all = 0;
  for (std::size_t r = 0; r < reference.size(); ++r) {
    const HostTensor &ours = got[r][0];
    const HostTensor &theirs = reference[r][0];
    const std::int64_t count = program::elems(theirs.shape);
    const std::int64_t rows = theirs.shape.empty() ? 1 : theirs.shape[0];
    for (std::int64_t row = 0; row < rows && count > 0; ++row) {
      std::int64_t most = row * (count / rows);
      std::int64_t most_of_ours = most;
      for (std::int64_t i = most; i < (row + 1) * (count / rows); ++i) {
        const double a = get(ours, i), b = get(theirs, i);
        apart += (a - b) * (a - b);
        all += b * b;
        most = b > get(theirs, most) ? i : most;
        most_of_ours = a > get(ours, most_of_ours) ? i : most_of_ours;
      }
      ++result.rows;
      result.equal_rows += most == most_of_ours ? 1 : 0;
    }
  }
  result.relative_error = all > 0 ? std::sqrt(apart / all) : 0;
  return result;
}

std::string to_text(const Accuracy &accuracy) {
  return fmt::format("accuracy relative error {:.2g} against f32 on the calibration inputs; the "
                     "largest result is the same in {} of {}\n",
                     accuracy.relative_error, accuracy.equal_rows, accuracy.rows);
}

} // namespace tilefuse::model
