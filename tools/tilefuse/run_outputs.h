// SPDX-License-Identifier: Apache-2.0
// What `run` makes of a model's outputs: the best classes with their labels, a line about each
// tensor, or .npy files.
#pragma once

#include <string>
#include <vector>

#include "files.h"
#include "program/host_tensor.h"

namespace tilefuse::tool {

// Outputs of several runs as if they were one: joined along the first dimension, a scalar becoming
// a vector. `drop` places are cut off the end of those whose first dimension is the batch.
std::vector<program::HostTensor> join_runs(std::vector<std::vector<program::HostTensor>> runs,
                                           std::int64_t per_run, std::int64_t drop);

// Error{Shape} when labels are given and do not name each class of the first output once.
void check_labels(const std::vector<std::string> &labels, const std::string &file,
                  const program::HostTensor &output);

// "  1  0.9731  golden retriever" for the best `count` classes of place `n`.
std::string top_lines(const program::HostTensor &output, std::int64_t n, int count,
                      const std::vector<std::string> &labels);
// "output  'name' f32[1, 2]  min … max … mean …"
std::string summary_line(const program::HostTensor &output);

// `where` ends in .npy: the only output (Error{Shape} when there are more). Else a folder:
// output_K.npy for the K-th.
std::vector<OutputFile> output_files(const std::vector<program::HostTensor> &outputs,
                                     const std::string &where);
// The same check before anything is computed.
void check_output_place(std::size_t outputs, const std::string &where);

} // namespace tilefuse::tool
