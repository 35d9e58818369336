// SPDX-License-Identifier: Apache-2.0
// What `run` makes of a model's outputs: the best classes with their labels, a line about each
// tensor, .npy files, or a picture.
#pragma once

#include <string>
#include <vector>

#include "files.h"
#include "program/host_tensor.h"
#include "report/table.h"

namespace tilefuse::tool {

// Outputs of several runs as if they were one: joined along the first dimension, a scalar becoming
// a vector. `drop` places are cut off the end of those whose first dimension is the batch.
std::vector<program::HostTensor> join_runs(std::vector<std::vector<program::HostTensor>> runs,
                                           std::int64_t per_run, std::int64_t drop);

// "  1  0.9731  golden retriever" for the best `count` classes of place `n`, cut at `width` columns; 0:
// whole.
std::string top_lines(const program::HostTensor &output, std::int64_t n, int count,
                      const std::vector<std::string> &labels, std::size_t width);
// A row for each of them: the picture, rank, class, label, value.
report::Table class_table(const program::HostTensor &output, const std::vector<std::string> &places,
                          int count, const std::vector<std::string> &labels);

// A row for each output: name, type, least, most and mean.
report::Table output_table(const std::vector<program::HostTensor> &outputs);

// What --output names, by its ending. Error{Io} for another one.
enum class Place { Array, Picture, Folder };
Place output_place(const std::string &where);

// Where --output goes: FILE.npy for the only output, FILE.png for the only output as a picture
// (output_picture.h), else a folder, NAME.npy in it for each output. Error{Shape|Io} when that cannot be,
// before anything is computed.
void check_output_place(std::size_t outputs, const std::string &where);
// The files of it. Names of outputs are names of files with '_' for what a file cannot be called;
// an output without one is output_K.npy.
std::vector<OutputFile> output_files(const std::vector<program::HostTensor> &outputs,
                                     const std::string &where);

} // namespace tilefuse::tool
