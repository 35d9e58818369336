// SPDX-License-Identifier: Apache-2.0
#include "data/loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>

#include "base/error.h"
#include "base/index.h"
#include "base/stopwatch.h"
#include "base/thread_pool.h"
#include "data/order.h"

namespace tilefuse::data {
namespace {

constexpr std::int64_t kRing = 3;
constexpr std::int64_t kMostBatchBytes = std::int64_t{8} << 30;
constexpr std::int64_t kPiece = 8; // pictures that a thread takes at once
constexpr int kMostThreads = 256;
constexpr std::int64_t kMostTries = 1000; // neighbours of a damaged picture

// A batch being filled. Threads write its pixels and labels without the lock, each its own places.
struct Slot {
  Batch batch;
  std::vector<std::int64_t> numbers; // of the pictures, by place
  std::int64_t taken = 0;            // places that threads have taken
  std::int64_t filled = 0;           // places that are done
  std::int64_t damaged = 0;
  std::int64_t failed_place = 0;
  std::exception_ptr failure; // of the first place that failed
};

// Places [begin, end) of a slot, for one thread.
struct Piece {
  Slot *slot = nullptr;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// What became of a piece.
struct Outcome {
  std::int64_t damaged = 0;
  std::int64_t failed_place = 0;
  std::exception_ptr failure;
  LoaderTimes times;
};

// Of one pass through the data; the last one of evaluation may lack batches.
std::int64_t rounds(const LoaderOptions &options, const Source &source) {
  const std::int64_t round = options.share.round;
  if (options.is_training)
    return epoch_steps(source.count(), options.batch * round, true);
  return (epoch_steps(source.count(), options.batch, false) - 1) / round + 1;
}

// How many batches a loader gives in all, from step 0 on.
std::int64_t batches(const LoaderOptions &options, const Source &source) {
  const Share &share = options.share;
  if (options.is_training || share.round == 1)
    return options.steps * share.count;
  const std::int64_t all = epoch_steps(source.count(), options.batch, false);
  const std::int64_t rest = all % share.round - share.first; // of the last round
  return all / share.round * share.count + std::clamp(rest, std::int64_t{0}, share.count);
}

LoaderOptions checked(LoaderOptions options, const Source &source) {
  static_cast<void>(epoch_steps(source.count(), options.batch, options.is_training));
  const Share &share = options.share;
  TILEFUSE_CHECK(share.first >= 0 && share.count > 0 && share.first + share.count <= share.round,
                 "a share that is no part of a round");
  check(options.augment, source.form());
  if (options.steps == 0)
    options.steps = rounds(options, source);
  if (options.threads == 0)
    options.threads = available_threads();
  if (options.threads < 1 || options.threads > kMostThreads)
    throw Error(ErrorCode::Limit, fmt::format("{} threads to load pictures, need 1 to {}",
                                              options.threads, kMostThreads));
  if (options.first_step < 0 || options.first_step > options.steps)
    throw Error(ErrorCode::Limit, fmt::format("step {} of a run of {}, need 0 to {}",
                                              options.first_step, options.steps, options.steps));
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(options.batch, static_cast<std::int64_t>(picture_bytes(source.form())),
                             &bytes) ||
      bytes > kMostBatchBytes)
    throw Error(ErrorCode::Limit, fmt::format("a batch of {} pictures has more than {} GiB",
                                              options.batch, kMostBatchBytes >> 30));
  return options;
}

bool is_damage(const Error &error) {
  return error.code() == ErrorCode::Io || error.code() == ErrorCode::Limit;
}

} // namespace

std::int64_t epoch_steps(std::int64_t count, std::int64_t batch, bool is_training) {
  if (batch < 1)
    throw Error(ErrorCode::Shape, fmt::format("a batch of {} pictures, need at least 1", batch));
  if (count < 1 || (is_training && count < batch))
    throw Error(ErrorCode::Shape,
                fmt::format("the data has {} pictures, fewer than a batch of {}", count, batch));
  return is_training ? count / batch : (count - 1) / batch + 1;
}

struct Loader::State {
  State(const Source &from, const LoaderOptions &asked)
      : source(from), options(checked(asked, from)), per_epoch(rounds(options, from)),
        bytes(picture_bytes(from.form())), end(batches(options, from)),
        filling(options.first_step * options.share.count), free(filling), given(filling) {
    const auto batch = static_cast<std::size_t>(options.batch);
    for (Slot &slot : ring) {
      slot.batch.pixels.resize(batch * bytes);
      slot.batch.labels.resize(batch);
      slot.numbers.resize(batch);
    }
  }

  Slot &slot_of(std::int64_t number) { return ring[at(number % kRing)]; }
  void start();
  void stop();
  void work();
  void fill_pieces();
  void prepare(std::int64_t number);
  std::int64_t number_at(std::int64_t epoch, std::int64_t place);
  Piece take_piece();
  Outcome fill(const Piece &piece) const;
  bool fill_place(Slot &slot, std::int64_t place, LoaderTimes &times) const;
  bool read(std::int64_t number, std::span<std::uint8_t> pixels, std::int32_t &label) const;
  void report(const Piece &piece, const Outcome &outcome);

  const Source &source;
  const LoaderOptions options;
  const std::int64_t per_epoch; // rounds
  const std::size_t bytes;      // of a picture
  const std::int64_t end;       // batches that it gives, counted from step 0 on

  std::mutex mutex; // guards all below, but what threads write into slots
  std::condition_variable has_room;
  std::condition_variable has_batch;
  std::array<Slot, kRing> ring;
  std::vector<std::int64_t> order; // of the epoch that `filling` is in
  std::int64_t order_epoch = -1;
  std::int64_t filling;     // batch whose places threads take
  std::int64_t free;        // slots of the batches below may be filled again
  std::int64_t given;       // batches below were given out by next()
  bool is_prepared = false; // slot of `filling`
  bool is_stopping = false;
  std::exception_ptr broken; // ended a thread
  double waited = 0;
  LoaderTimes times;
  std::int64_t damaged = 0;
  std::vector<std::thread> threads;
};

// Threads are started last, when everything they touch is there.
void Loader::State::start() {
  try {
    for (int i = 0; i < options.threads; ++i)
      threads.emplace_back([this] { work(); });
  } catch (const std::system_error &) {
    stop();
    throw Error(ErrorCode::Limit,
                fmt::format("the system gives fewer than {} threads", options.threads));
  }
}

void Loader::State::stop() {
  {
    const std::lock_guard lock(mutex);
    is_stopping = true;
  }
  has_room.notify_all();
  for (std::thread &thread : threads)
    thread.join();
  threads.clear();
}

void Loader::State::work() {
  try {
    fill_pieces();
  } catch (...) { // next() throws it again
    const std::lock_guard lock(mutex);
    broken = std::current_exception();
    has_batch.notify_all();
  }
}

void Loader::State::fill_pieces() {
  std::unique_lock lock(mutex);
  for (;;) {
    has_room.wait(lock, [this] { return is_stopping || filling >= end || filling < free + kRing; });
    if (is_stopping || filling >= end)
      return;
    const Piece piece = take_piece();
    lock.unlock();
    const Outcome outcome = fill(piece);
    lock.lock();
    report(piece, outcome);
  }
}

// The next places to fill. Called with the lock.
Piece Loader::State::take_piece() {
  if (!is_prepared)
    prepare(filling);
  is_prepared = true;
  Slot &slot = slot_of(filling);
  const std::int64_t end = std::min(slot.taken + kPiece, slot.batch.count);
  const Piece piece = {&slot, slot.taken, end};
  slot.taken = end;
  if (slot.taken == slot.batch.count) {
    ++filling;
    is_prepared = false;
  }
  return piece;
}

// Makes the slot of a batch ready to be filled.
void Loader::State::prepare(std::int64_t number) {
  const Share &share = options.share;
  Slot &slot = slot_of(number);
  const std::int64_t step = number / share.count;
  const std::int64_t place_of_round = share.first + number % share.count;
  const std::int64_t first = (step % per_epoch * share.round + place_of_round) * options.batch;
  slot.batch.step = step;
  slot.batch.epoch = step / per_epoch;
  if (options.is_training) {
    std::vector<float> &drawn = slot.batch.drawn;
    drawn =
        draw_mix(options.mixing, source.form(), options.seed, step * share.round + place_of_round);
    drawn.resize(drawn.size() + at(options.batch * options.paths.branches));
  }
  slot.batch.count = std::min(options.batch, source.count() - first);
  slot.taken = slot.filled = slot.damaged = 0;
  slot.failure = nullptr;
  for (std::int64_t place = 0; place < slot.batch.count; ++place)
    slot.numbers[at(place)] = number_at(slot.batch.epoch, first + place);
  const std::size_t end = static_cast<std::size_t>(slot.batch.count) * bytes;
  std::fill(slot.batch.pixels.begin() + static_cast<std::ptrdiff_t>(end), slot.batch.pixels.end(),
            std::uint8_t{0});
  std::fill(slot.batch.labels.begin() + slot.batch.count, slot.batch.labels.end(), -1);
}

std::int64_t Loader::State::number_at(std::int64_t epoch, std::int64_t place) {
  if (!options.is_training)
    return place;
  if (order_epoch != epoch) {
    order = shuffled(source.count(), options.seed, epoch);
    order_epoch = epoch;
  }
  return order[at(place)];
}

Outcome Loader::State::fill(const Piece &piece) const {
  Outcome outcome;
  for (std::int64_t place = piece.begin; place < piece.end; ++place) {
    try {
      outcome.damaged += fill_place(*piece.slot, place, outcome.times) ? 0 : 1;
    } catch (...) { // next() throws it again when it is this batch's turn
      outcome.failed_place = place;
      outcome.failure = std::current_exception();
      return outcome;
    }
  }
  return outcome;
}

// Whether the picture of this place was whole.
bool Loader::State::fill_place(Slot &slot, std::int64_t place, LoaderTimes &times) const {
  const std::int64_t number = slot.numbers[at(place)];
  const std::span<std::uint8_t> pixels =
      std::span(slot.batch.pixels).subspan(static_cast<std::size_t>(place) * bytes, bytes);
  const Stopwatch watch;
  const bool is_whole = read(number, pixels, slot.batch.labels[at(place)]);
  const double read_seconds = watch.seconds();
  times.reading += read_seconds;
  if (options.is_training) {
    augment(options.augment, source.form(), options.seed, slot.batch.epoch, number, pixels);
    const std::span<float> factors = std::span(slot.batch.drawn)
                                         .last(at(options.batch * options.paths.branches))
                                         .subspan(at(place * options.paths.branches));
    draw_paths(options.paths, options.seed, slot.batch.epoch, number, factors);
  }
  times.augmenting += watch.seconds() - read_seconds;
  return is_whole;
}

// Reads the picture, or the next whole one in its place where that is asked for; false then.
bool Loader::State::read(std::int64_t number, std::span<std::uint8_t> pixels,
                         std::int32_t &label) const {
  const std::int64_t tries =
      options.skip_damaged ? std::min(kMostTries, source.count()) : std::int64_t{1};
  for (std::int64_t i = 0;; ++i) {
    try {
      label = source.read((number + i) % source.count(), pixels);
      return i == 0;
    } catch (const Error &error) {
      if (!options.skip_damaged || !is_damage(error))
        throw;
      if (i + 1 == tries)
        throw Error(error.code(),
                    fmt::format("none of {} pictures from number {} on is whole; the last: {}",
                                tries, number, error.message()),
                    error.where());
    }
  }
}

// Called with the lock.
void Loader::State::report(const Piece &piece, const Outcome &outcome) {
  Slot &slot = *piece.slot;
  slot.filled += piece.end - piece.begin;
  slot.damaged += outcome.damaged;
  times.reading += outcome.times.reading;
  times.augmenting += outcome.times.augmenting;
  if (outcome.failure && (!slot.failure || outcome.failed_place < slot.failed_place)) {
    slot.failure = outcome.failure;
    slot.failed_place = outcome.failed_place;
  }
  if (slot.filled == slot.batch.count)
    has_batch.notify_all();
}

Loader::Loader(const Source &source, const LoaderOptions &options) {
  try {
    state_ = std::make_unique<State>(source, options);
  } catch (const std::bad_alloc &) {
    throw Error(ErrorCode::Limit,
                fmt::format("no memory for {} batches of {} pictures", kRing, options.batch));
  }
  state_->start();
}

Loader::~Loader() { state_->stop(); }

bool Loader::more() const { return state_->given < state_->end; }

const Batch &Loader::next() {
  TILEFUSE_CHECK(more(), "a batch behind the last");
  State &state = *state_;
  std::unique_lock lock(state.mutex);
  state.free = state.given;
  state.has_room.notify_all();
  Slot &slot = state.slot_of(state.given);
  const Stopwatch watch;
  state.has_batch.wait(lock, [&] {
    const bool is_begun = state.filling > state.given;
    return state.broken || (is_begun && slot.filled == slot.batch.count);
  });
  state.waited += watch.seconds();
  if (state.broken)
    std::rethrow_exception(state.broken);
  if (slot.failure)
    std::rethrow_exception(slot.failure);
  state.damaged += slot.damaged;
  ++state.given;
  return slot.batch;
}

double Loader::waited_seconds() const { return state_->waited; }

LoaderTimes Loader::times() const {
  const std::lock_guard lock(state_->mutex);
  return state_->times;
}

std::int64_t Loader::damaged() const { return state_->damaged; }

} // namespace tilefuse::data
