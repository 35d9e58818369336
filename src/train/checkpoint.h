// SPDX-License-Identifier: Apache-2.0
// Checkpoints of a run: one file per step that was kept, `step-00012000.safetensors`, in one folder. A file appears
// whole or not at all (base/durable_file.h) and holds a hash (safetensors.h), so that after a kill, a crash of the machine or a
// full disk the newest readable checkpoint is one that was written to its end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "train/safetensors.h"

namespace tilefuse::train {

struct Checkpoint {
  std::int64_t step = 0; // steps that were done
  TensorFile content;    // its metadata gain "tilefuse.step" in the file
};

// "FOLDER/step-00012000.safetensors".
std::string checkpoint_path(const std::string &folder, std::int64_t step);

// One file by itself, under any name. Error{Io} as below, and for what is no checkpoint.
void save_checkpoint(const std::string &path, const Checkpoint &checkpoint);
Checkpoint load_checkpoint(const std::string &path);

// Makes the folder, writes, then removes the oldest before this one so that `keep` are left of these; at least this one
// stays. Those of later steps, which a run that was resumed before them leaves, are not touched. Error{Io} when the
// disk takes no more: nothing that was there is lost.
void write_checkpoint(const std::string &folder, const Checkpoint &checkpoint, int keep);

// Error{Io} says why a file is no checkpoint of the step in its name.
Checkpoint read_checkpoint(const std::string &path);

// Of the bytes of such a file.
Checkpoint parse_checkpoint(const std::string &bytes);

// The readable one of the latest step; none where there is none or no folder. `skipped`, which may be null, gets a
// sentence for each later one that is not readable.
std::optional<Checkpoint> newest_checkpoint(const std::string &folder,
                                            std::vector<std::string> *skipped);

} // namespace tilefuse::train
