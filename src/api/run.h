// SPDX-License-Identifier: Apache-2.0
// Runs of a network: inputs and outputs lie in the caller's memory, from run to run elsewhere.
// Where the device can, kernels read and write it as it lies; else it is copied. Outputs without
// memory of the caller's are in memory of the run's own. A run is waited for, or made on a thread of
// its own, or queued behind the caller's own work on the device. One thread at a time; the engine is
// shared.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <vector>

#include "api/network.h"
#include "base/lru.h"
#include "model/execution.h"

namespace tilefuse::api {

// What a tensor's data are: an address of the host, one of the engine's device, or a buffer of it.
enum class Lies { OnHost, OnDevice, InBuffer };

// Elements of a tensor one behind the other in row-major order.
struct TensorPlace {
  DType type = DType::F32;
  program::Shape shape;
  void *data = nullptr;
  Lies lies = Lies::OnHost;
  std::int64_t offset = 0; // bytes, in a buffer
};

// What a run copied between the caller's memory and the device.
struct Copies {
  std::int64_t count = 0;
  std::int64_t bytes = 0;
};

class Run {
public:
  explicit Run(std::shared_ptr<Network> network);
  // Waits for what was started.
  ~Run();
  Run(const Run &) = delete;
  Run &operator=(const Run &) = delete;

  Network &network() const { return *network_; }
  // Of all inputs, as they are bound. Error{Shape} names one that is open and not bound.
  InputTypes types() const;

  // The memory is the caller's until another is bound. Error{Type|Shape} where the network takes
  // something else; Error{Device} for an address that the device cannot use.
  void bind_input(std::size_t position, const TensorPlace &tensor);
  void bind_output(std::size_t position, const TensorPlace &tensor);
  // Lets an output lie in the run's own memory.
  void release_output(std::size_t position);

  // Compiles for the bound inputs where that was not done; output shapes are known then. Outputs
  // bound to memory of other shapes are released.
  void prepare(const Progress &progress = {});
  // How many there are, after prepare().
  std::size_t outputs() const { return places_.size(); }
  // Where an output lies, after prepare().
  TensorPlace output(std::size_t position) const;
  // Error{Shape} names an input that is not bound.
  void execute();
  // The same on a thread of its own; `done` is called there, with what went wrong or nothing.
  // Error{Unsupported} while another is under way.
  void start(std::function<void(std::exception_ptr)> done);
  // Queues it in `queue` of the caller's, or in the engine's where that is null, behind what this run
  // queued before in any, and does not wait; shapes that were not prepared, or are no longer kept, are
  // compiled and loaded first. `event`, which may be null, gets a cl_event or CUevent of the caller's that is reached when it has
  // ended. Error{Unsupported} where the device has no queues or something had to be copied.
  void enqueue(void *queue, void **event);
  // For what was started, whose error is thrown here, and what was queued; nothing where nothing was.
  void wait();

  double seconds() const { return seconds_; } // of the last run
  Copies copies() const { return copies_; }   // of the last run

private:
  // A port of an execution: the address that it is bound to.
  struct Bound {
    bool is_bindable = false;
    void *address = nullptr; // null: the execution's own memory
    std::int64_t offset = 0;
    std::unique_ptr<runtime::Memory> memory;
  };
  struct Ready {
    std::shared_ptr<const Loaded> loaded;
    std::unique_ptr<model::Execution> execution;
    std::vector<Bound> inputs;
    std::vector<Bound> outputs;
  };

  void check_idle() const;
  // `what` and `number` name the port.
  void check_address(const TensorPlace &tensor, const char *what, std::size_t number) const;
  static std::shared_ptr<Ready> make_ready(std::shared_ptr<const Loaded> loaded);
  void check_output(std::size_t position, const TensorPlace &tensor) const;
  // Finds, or makes, what runs the bound shapes. Whether something was queued for it in the queue in use.
  bool find_ready(const Progress &progress);
  // Outputs that the caller has no memory for lie in the run's own.
  void place_outputs();
  // Whether an output's memory is an input's too, or that of an output before it.
  bool is_shared(std::size_t output) const;
  // Whether the port lies where `tensor` does from now on; else it is copied.
  bool place(Bound &bound, model::Port port, const TensorPlace &tensor, bool may_bind);
  // Binds all ports for a launch. Those that lie in the execution's own memory, and so are copied.
  std::vector<model::Port> place_ports();
  const TensorPlace &at(model::Port port) const;
  void copy_in(model::Port port);
  void copy_out(model::Port port);
  void execute_locked();
  void enqueue_locked(void *queue, void **event);
  // Remembers all that lies in the queue in use: what is queued later begins behind it.
  void track();
  // Waits for what was queued. Not with the engine's mutex held: what that waits for may need it.
  void settle();

  std::shared_ptr<Network> network_;
  std::vector<std::optional<TensorPlace>> inputs_;
  std::vector<std::optional<TensorPlace>> outputs_; // of the caller
  std::vector<program::Bytes> own_;                 // of outputs that the caller has no memory for
  std::vector<TensorPlace> places_;                 // of outputs of `ready_`
  bool are_placed_ = false;
  Lru<InputTypes, std::shared_ptr<Ready>> known_;
  std::shared_ptr<Ready> ready_; // for the shapes that are bound; null: to be found
  int edition_ = 0;              // of the network, that `ready_` is of
  double seconds_ = 0;
  Copies copies_;
  std::future<void> started_;
  std::vector<std::unique_ptr<runtime::Mark>> queued_; // behind what was queued, each in its queue
  std::vector<std::shared_ptr<Ready>> leaving_;        // no longer known, and perhaps queued
  std::atomic<bool> is_running_ = false;
};

} // namespace tilefuse::api
