// SPDX-License-Identifier: Apache-2.0
// Batches of a source in order, read, decoded and augmented ahead by threads: while one batch is
// used, the next two are filled. What a batch holds is a function of the source, the options and
// its step, for any number of threads.
//
// Training goes through each epoch in its own order (order.h) and drops what is left behind the
// last whole round of batches. Evaluation goes from picture 0 to the last and fills the last batch up.
//
//   Loader loader(*source, {.batch = 128, .is_training = true, .seed = 1, .steps = 1580});
//   while (loader.more())
//     use(loader.next());
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "data/augment.h"
#include "data/drop_path.h"
#include "data/mix.h"
#include "data/source.h"

namespace tilefuse::data {

struct Batch {
  std::int64_t step = 0; // its round
  std::int64_t epoch = 0;
  std::int64_t count = 0;           // pictures; less than the batch only in evaluation's last
  std::vector<std::uint8_t> pixels; // (batch, y, x, channel), zeros behind `count`
  std::vector<std::int32_t> labels; // (batch), -1 behind `count`
  // What its pictures are mixed by (mix.h), where they are; then by picture the factors of its
  // residual branches (drop_path.h).
  std::vector<float> drawn;
};

// Which batches a loader gives. A round is so many batches one behind the other, in training those
// of a step; of each round it gives some. Together, loaders whose shares differ give every batch.
struct Share {
  std::int64_t round = 1; // batches
  std::int64_t first = 0; // of a round
  std::int64_t count = 1;
};

struct LoaderOptions {
  std::int64_t batch = 1;
  bool is_training = false;
  std::uint64_t seed = 0;
  Augment augment = {};        // of training alone
  Mixing mixing = {};          // the same
  DropPath paths = {};         // the same
  int threads = 0;             // 0: as many as there are cores
  std::int64_t first_step = 0; // not 0 in a run that goes on
  std::int64_t steps = 0;      // of the whole run, the last is steps - 1; 0: one epoch
  Share share = {};
  bool skip_damaged = false; // takes the next whole picture instead
};

// Batches of one pass through the data. Error{Shape} where training has less than one.
std::int64_t epoch_steps(std::int64_t count, std::int64_t batch, bool is_training);

// What threads did for the batches given so far, in seconds of a thread.
struct LoaderTimes {
  double reading = 0; // and decoding
  double augmenting = 0;
};

class Loader {
public:
  // `source` must outlive the loader. Error{Shape} for a batch or border that does not fit,
  // Error{Limit} where three batches are too large or threads cannot be started.
  Loader(const Source &source, const LoaderOptions &options);
  ~Loader();
  Loader(const Loader &) = delete;
  Loader &operator=(const Loader &) = delete;

  // Whether there is another batch.
  bool more() const;
  // The next batch, which stays until the next call. Error{Io} for a damaged picture of it, of
  // several the first, at every further call too.
  const Batch &next();
  // Time that next() has waited for a batch to be filled, the first included.
  double waited_seconds() const;
  LoaderTimes times() const;
  // Pictures that others took the place of, in the batches given so far.
  std::int64_t damaged() const;

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace tilefuse::data
