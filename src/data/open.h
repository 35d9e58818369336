// SPDX-License-Identifier: Apache-2.0
// A data set by what users write, KIND:PATH:
//
//   cifar:train.bin.gz,more.bin     CIFAR-10's binary files, joined     (cifar.h)
//   mnist:IMAGES,LABELS             idx3 and idx1                       (mnist.h)
//   npy:IMAGES.npy,LABELS.npy       u8 [N, H, W, C], integers [N]       (npy_source.h)
//   folder:DIR                      a folder per class, JPEG and PNG    (picture_files.h)
//   tar:SHARD.tar,SHARDS-*.tar      members NAME.jpg and NAME.cls       (tar_source.h)
//   list:FILE                       lines "path label"                  (picture_files.h)
//
// cifar: and mnist: may be packed by gzip.
#pragma once

#include <memory>
#include <string>

#include "data/source.h"

namespace tilefuse::data {

// A source of at least one picture. Error{Syntax} for another kind or number of files; the others
// as the kinds say.
std::unique_ptr<Source> open_source(const std::string &text, const OpenOptions &options);

} // namespace tilefuse::data
