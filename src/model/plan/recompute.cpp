// SPDX-License-Identifier: Apache-2.0
#include "model/plan/recompute.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/index.h"
#include "cost/group_model.h"
#include "model/plan/plan.h"
#include "poly/group_buffers.h"

namespace tilefuse::model {
namespace {

using launch::Part;
using program::Buffer;
using program::BufferId;

// Where a buffer is written and read, by position of the launch.
struct Life {
  std::vector<int> uses;    // ascending
  std::vector<int> writers; // likewise
  std::size_t part = 0;     // of the last writer
  bool is_alive(int launch) const {
    return !uses.empty() && uses.front() <= launch && launch <= uses.back();
  }
};

// A repetition of the launch that writes a buffer, in front of one of its readers.
struct Repetition {
  BufferId buffer{};
  int reader = 0;
  std::int64_t bytes = 0; // that it frees at the fullest launch
  std::int64_t held = 0;  // of inputs that wait in its place
  double seconds = 0;
  std::map<BufferId, BufferId> inputs; // copies that it reads in place of what is gone
  std::vector<int> moved;              // launches that must come in front of it
  double price() const { return seconds / static_cast<double>(bytes); }
};

std::int64_t bytes_of(const Buffer &buffer) { return buffer.elems * size_bytes(buffer.type); }

class Repeater {
public:
  Repeater(Compiled &compiled, const Target &target) : compiled_(compiled), target_(target) {
    follow();
  }

  // Bytes alive at the fullest launch.
  std::int64_t most() const { return held_[at(fullest_)]; }

  // Whether a tensor more is repeated.
  bool repeat_one() {
    std::optional<Repetition> best;
    int candidates = 0;
    for (const BufferId id : waiting()) {
      const std::optional<Repetition> found = repetition(id);
      candidates += found ? 1 : 0;
      if (found && (!best || found->price() < best->price()))
        best = found;
    }
    if (!best)
      return false;
    compiled_.waiting.push_back(decided(*best, candidates));
    apply(*best);
    follow();
    return true;
  }

  // Why what still waits at the fullest launch is not repeated, the largest first.
  void explain_kept() {
    const auto first = static_cast<std::ptrdiff_t>(compiled_.waiting.size());
    for (const BufferId id : waiting()) {
      WaitingTensor kept = described(id);
      const std::optional<Repetition> found = repetition(id, &kept.reason);
      if (found) {
        kept.freed = found->bytes;
        kept.seconds = found->seconds;
        kept.reason = "enough is free";
      }
      compiled_.waiting.push_back(std::move(kept));
    }
    std::stable_sort(
        compiled_.waiting.begin() + first, compiled_.waiting.end(),
        [](const WaitingTensor &a, const WaitingTensor &b) { return a.bytes > b.bytes; });
  }

private:
  Buffer &info(BufferId id) { return compiled_.stored.buffers[at(id)]; }
  Life &life(BufferId id) { return lives_[at(id)]; }
  std::vector<CompiledLaunch> &launches() { return compiled_.launches; }

  void follow() {
    lives_.assign(compiled_.stored.buffers.size(), {});
    held_.assign(launches().size(), 0);
    for (std::size_t l = 0; l < launches().size(); ++l) {
      const std::vector<Part> &parts = launches()[l].launch.parts;
      for (std::size_t p = 0; p < parts.size(); ++p)
        note_uses(parts[p].placed, static_cast<int>(l), p);
    }
    for (std::size_t b = 0; b < lives_.size(); ++b) {
      const BufferId id{static_cast<int>(b)};
      if (is_shared(info(id)) && !life(id).uses.empty())
        for (int l = life(id).uses.front(); l <= life(id).uses.back(); ++l)
          held_[at(l)] += bytes_of(info(id));
    }
    fullest_ = static_cast<int>(std::max_element(held_.begin(), held_.end()) - held_.begin());
  }

  void note_uses(const poly::PlacedGroup &placed, int launch, std::size_t part) {
    for (const BufferId id : poly::read_buffers(placed))
      life(id).uses.push_back(launch);
    for (const poly::SlotId slot : written_slots(placed.group)) {
      Life &of = life(placed.buffers[slot]);
      of.uses.push_back(launch);
      of.writers.push_back(launch);
      of.part = part;
    }
  }

  const Part &writer(const Life &of) const {
    return compiled_.launches[at(of.writers.back())].launch.parts[of.part];
  }

  // Buffers that share memory and are not used while most is alive, but before and after.
  std::vector<BufferId> waiting() const {
    std::vector<BufferId> found;
    for (std::size_t b = 0; b < lives_.size(); ++b)
      if (is_shared(compiled_.stored.buffers[b]) && lives_[b].is_alive(fullest_) &&
          !std::binary_search(lives_[b].uses.begin(), lives_[b].uses.end(), fullest_))
        found.push_back(BufferId{static_cast<int>(b)});
    return found;
  }

  WaitingTensor described(BufferId id) {
    return {.origin = writer(life(id)).placed.origin, .bytes = bytes_of(info(id)), .reason = {}};
  }

  WaitingTensor decided(const Repetition &made, int of) {
    WaitingTensor again = described(made.buffer);
    again.is_repeated = true;
    again.freed = made.bytes;
    again.seconds = made.seconds;
    again.reason = fmt::format("cheapest of {}{}", of, made.inputs.empty() ? "" : ", from others");
    return again;
  }

  // Why the buffer is not written whole, once, by a part that can be launched by itself; else null.
  const char *why_not(BufferId id) {
    const Life &of = life(id);
    if (of.writers.size() != 1)
      return "several kernels write it";
    if (copies_.count(id) != 0 || is_copy(id))
      return "computed again already";
    const launch::Launch &launch = launches()[at(of.writers.front())].launch;
    if (launch.join)
      return "its kernel joins parts";
    return writer(of).place == launch::Place::Blocks ? nullptr : "runs in another's blocks";
  }

  bool is_copy(BufferId id) const {
    return std::any_of(copies_.begin(), copies_.end(),
                       [&](const auto &copy) { return copy.second == id; });
  }

  // Of a buffer that waits; nothing, and why, where there is none that frees memory.
  std::optional<Repetition> repetition(BufferId id, std::string *why = nullptr) {
    const auto none = [&](const char *reason) {
      if (why != nullptr)
        *why = reason;
      return std::nullopt;
    };
    if (const char *reason = why_not(id))
      return none(reason);
    const Life &of = life(id);
    Repetition made{.buffer = id,
                    .reader = *std::upper_bound(of.uses.begin(), of.uses.end(), fullest_),
                    .bytes = bytes_of(info(id))};
    for (const BufferId input : poly::read_buffers(writer(of).placed))
      if (!supply(made, input))
        return none("its inputs change before");
    made.bytes -= made.held;
    if (made.bytes <= 0)
      return none("its inputs would wait");
    made.seconds = seconds_of(id);
    return made;
  }

  // Of the part that writes a buffer.
  double seconds_of(BufferId id) {
    const auto [found, is_new] = seconds_.emplace(id, 0);
    const Part &part = writer(life(id));
    if (is_new)
      found->second = cost::predict(part.placed.group, part.schedule, target_).seconds;
    return found->second;
  }

  // Whether an input has the same numbers in front of the reader, and by which buffer.
  bool supply(Repetition &made, BufferId input) {
    const Life &of = life(input);
    if (!of.writers.empty() && of.writers.back() >= life(made.buffer).writers.front())
      return false; // another number by then
    if (!is_shared(info(input)) || of.uses.back() >= made.reader)
      return true;
    const auto copy = copies_.find(input);
    if (copy != copies_.end() && comes_in_front(made, copy->second))
      made.inputs[input] = copy->second;
    else if (of.uses.back() < fullest_)
      made.held += bytes_of(info(input));
    return true;
  }

  // Whether a repetition behind the fullest launch stands in front of the reader, or can.
  bool comes_in_front(Repetition &made, BufferId copy) {
    const int place = life(copy).writers.front();
    if (place <= fullest_)
      return false;
    if (place < made.reader)
      return true;
    for (const BufferId input : poly::read_buffers(writer(life(copy)).placed))
      if (is_shared(info(input)) &&
          (life(input).writers.back() >= made.reader || life(input).uses.back() < made.reader))
        return false;
    made.moved.push_back(place);
    return true;
  }

  // A buffer for what a repetition writes.
  BufferId like(BufferId id) {
    Buffer made = info(id);
    made.is_output = made.needs_zero = false;
    compiled_.stored.buffers.push_back(made);
    return BufferId{static_cast<int>(compiled_.stored.buffers.size()) - 1};
  }

  void apply(Repetition &made) {
    const BufferId copy = copies_[made.buffer] = like(made.buffer);
    CompiledLaunch again{{.parts = {writer(life(made.buffer))}}};
    poly::PlacedGroup &placed = again.launch.parts.front().placed;
    placed.joins_tiles = false;
    placed.notes.push_back(
        fmt::format("computed again in front of its next reader: {:.1f} MB less for {:.1f} us\n",
                    static_cast<double>(made.bytes) * 1e-6, made.seconds * 1e6));
    const poly::PlacedGroup whole = placed;
    for (BufferId &buffer : placed.buffers)
      if (buffer == made.buffer)
        buffer = copy;
      else if (poly::writes(whole, buffer))
        buffer = like(buffer); // which nothing reads
      else if (const auto in = made.inputs.find(buffer); in != made.inputs.end())
        buffer = in->second;
    for (std::size_t l = at(made.reader); l < launches().size(); ++l)
      for (Part &part : launches()[l].launch.parts)
        std::replace(part.placed.buffers.begin(), part.placed.buffers.end(), made.buffer, copy);
    const auto reader = launches().begin() + made.reader;
    const std::set<int> moved(made.moved.begin(), made.moved.end());
    auto behind = reader;
    for (const int place : moved) {
      std::rotate(behind, launches().begin() + place, launches().begin() + place + 1);
      ++behind;
    }
    launches().insert(behind, std::move(again));
  }

  Compiled &compiled_;
  const Target &target_;
  std::vector<Life> lives_;        // by buffer
  std::vector<std::int64_t> held_; // bytes alive, by launch
  int fullest_ = 0;
  std::map<BufferId, BufferId> copies_;
  std::map<BufferId, double> seconds_;
};

} // namespace

void fit_arena(Compiled &compiled, const runtime::Device &device, std::int64_t most_bytes,
               const std::function<void(Compiled &)> &finish) {
  Repeater repeater(compiled, device.target());
  // Buffers do not fill memory without gaps, and asides keep some for longer: what these take is
  // learned from a plan.
  for (std::int64_t gaps = 0;;) {
    while (repeater.most() + gaps > most_bytes)
      if (!repeater.repeat_one())
        throw Error(ErrorCode::Limit,
                    fmt::format("tensors of a step need {:.2f} GB at least, {:.2f} are left for "
                                "them",
                                static_cast<double>(repeater.most() + gaps) * 1e-9,
                                static_cast<double>(most_bytes) * 1e-9));
    finish(compiled);
    const Plan plan = make_plan(compiled, device.alignment());
    const std::int64_t needed = plan.activation_bytes - plan.arena_begin;
    if (needed <= most_bytes)
      break;
    gaps += needed - most_bytes;
  }
  repeater.explain_kept();
}

} // namespace tilefuse::model
