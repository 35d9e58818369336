// SPDX-License-Identifier: Apache-2.0
// One way to run a resident program: memory for its activations and its kernels, bound to it. The
// program's inputs and outputs lie there too, or in memory of the caller's, from run to run
// elsewhere. Several executions of one program share its constants. What one needs during a run alone
// may lie where that of others does, which run before or after it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "model/resident.h"

namespace tilefuse::model {

// An input or an output of a program, by position.
struct Port {
  bool is_output = false;
  std::size_t position = 0;
};

// A port that lies in the caller's memory.
struct PlacedPort {
  Port port;
  runtime::Binding place; // as many bytes as the tensor has
};

class Execution {
public:
  // The program outlives the result, and so does memory that ports are placed in; each is_alone().
  // `arena`: of arena_bytes(), for what is needed during a run alone; null: it has one of its own.
  explicit Execution(const Resident &resident, std::span<const PlacedPort> placed = {},
                     runtime::Memory *arena = nullptr);
  static std::int64_t arena_bytes(const Resident &resident);

  // Where it lies in this execution's own memory.
  runtime::Binding own(Port port) const;
  // Whether it is all of a buffer, which is no other port's: it may be placed when an execution is made.
  bool is_alone(Port port) const;
  // Whether it may lie in the caller's memory from some run on: it is alone, and its buffer needs no
  // zeros in front of a run.
  bool is_bindable(Port port) const;
  // Lets it lie in `to` from the next launch on; `to` without memory: in its own.
  void bind(Port port, const runtime::Binding &to);
  // Queues one run.
  void launch() { resident_->device().launch_all(kernels_); }
  // Of its own memory.
  std::int64_t bytes() const { return bytes_; }
  std::span<runtime::Launchable *const> kernels() const { return kernels_; }
  // Appends one run, with what runs aside.
  void add_to(runtime::Timeline &timeline) const;

private:
  struct Use { // of a buffer
    std::size_t launch = 0;
    std::size_t argument = 0;
  };

  program::BufferId buffer_of(Port port) const;
  runtime::Binding place_of(program::BufferId id) const;
  void allocate(runtime::Memory *arena);
  void load_kernels();

  const Resident *resident_;
  std::vector<runtime::Binding> placed_; // by BufferId, where it is used
  std::int64_t bytes_ = 0;
  std::unique_ptr<runtime::Memory> activations_;
  std::vector<std::unique_ptr<runtime::Launchable>> loaded_;
  std::vector<runtime::Launchable *> kernels_; // loaded_, in order
  std::vector<std::vector<Use>> uses_;         // by BufferId
};

} // namespace tilefuse::model
