// SPDX-License-Identifier: Apache-2.0
#include "api/run.h"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/stopwatch.h"
#include "target/address_space.h"

namespace tilefuse::api {
namespace {

using onnx_import::Declared;

std::string type_text(DType type, const program::Shape &shape) {
  return fmt::format("{}[{}]", to_string(type), fmt::join(shape, ", "));
}

// "?" where a size is open.
std::string type_text(const Declared &declared) {
  if (!declared.is_shaped)
    return fmt::format("{} of any shape", to_string(declared.type));
  std::vector<std::string> sizes;
  for (std::size_t d = 0; d < declared.dims.size(); ++d)
    sizes.push_back(declared.dims[d] >= 0         ? fmt::format("{}", declared.dims[d])
                    : declared.symbols[d].empty() ? "?"
                                                  : declared.symbols[d]);
  return fmt::format("{}[{}]", to_string(declared.type), fmt::join(sizes, ", "));
}

bool fits(const Declared &declared, const program::Shape &shape) {
  if (!declared.is_shaped)
    return true;
  if (declared.dims.size() != shape.size())
    return false;
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (declared.dims[d] >= 0 && declared.dims[d] != shape[d])
      return false;
  return true;
}

std::size_t bytes_of(const TensorPlace &tensor) {
  return static_cast<std::size_t>(program::elems(tensor.shape) * size_bytes(tensor.type));
}

bool fits(const program::HostTensor &form, const TensorPlace &tensor) {
  return form.type == tensor.type && form.shape == tensor.shape;
}

void check_type(const Declared &declared, const TensorPlace &tensor, const char *what) {
  const bool is_other = declared.is_typed && tensor.type != declared.type;
  if (is_other || !fits(declared, tensor.shape))
    throw Error(is_other ? ErrorCode::Type : ErrorCode::Shape,
                fmt::format("{} '{}' is {}, got {}", what, declared.name, type_text(declared),
                            type_text(tensor.type, tensor.shape)));
}

void check_position(std::size_t position, std::size_t count, const char *what) {
  if (position >= count)
    throw Error(ErrorCode::Shape,
                fmt::format("there is no {} {}, the model has {}", what, position, count));
}

bool overlap(const TensorPlace &a, const TensorPlace &b) {
  const bool has_buffer = a.lies == Lies::InBuffer || b.lies == Lies::InBuffer;
  if (has_buffer && a.data != b.data)
    return false;
  const auto *first = static_cast<const std::byte *>(a.data) + a.offset;
  const auto *second = static_cast<const std::byte *>(b.data) + b.offset;
  return first < second + bytes_of(b) && second < first + bytes_of(a);
}

// A device works in a queue of the caller's for so long.
class InQueue {
public:
  InQueue(runtime::Device &device, void *queue) : device_(device) { device.use_queue(queue); }
  ~InQueue() { device_.use_queue(nullptr); }
  InQueue(const InQueue &) = delete;
  InQueue &operator=(const InQueue &) = delete;

private:
  runtime::Device &device_;
};

// Does `work` and waits for it. Where it fails, what of it is queued is waited for all the same.
template <class Work> void finish_after(runtime::Device &device, const Work &work) {
  try {
    work();
  } catch (...) {
    const std::exception_ptr failure = std::current_exception();
    try {
      device.finish();
    } catch (const Error &) { // the first failure is told
    }
    std::rethrow_exception(failure);
  }
  device.finish();
}

void count(Copies &copies, std::size_t bytes) {
  ++copies.count;
  copies.bytes += static_cast<std::int64_t>(bytes);
}

} // namespace

Run::Run(std::shared_ptr<Network> network)
    : network_(std::move(network)), inputs_(network_->inputs().size()),
      outputs_(network_->outputs().size()),
      known_(static_cast<std::size_t>(network_->options().kept)) {}

Run::~Run() {
  if (started_.valid())
    started_.wait();
  do {
    try {
      settle();
    } catch (const Error &) { // a device that failed: the next call to it says so
    }
  } while (!queued_.empty());
  const std::lock_guard lock(network_->engine().mutex);
  ready_.reset();
  leaving_.clear();
  known_.clear();
}

void Run::check_idle() const {
  if (is_running_)
    throw Error(ErrorCode::Unsupported, "a run is under way", {}, {"wait for it first"});
}

void Run::check_address(const TensorPlace &tensor, const char *what, std::size_t number) const {
  const bool in_buffer = tensor.lies == Lies::InBuffer;
  const auto address = in_buffer ? static_cast<std::uintptr_t>(tensor.offset)
                                 : reinterpret_cast<std::uintptr_t>(tensor.data);
  const auto need = static_cast<std::uintptr_t>(tensor.lies == Lies::OnHost
                                                    ? size_bytes(tensor.type)
                                                    : network_->engine().device->alignment());
  for (const std::int64_t size : tensor.shape)
    if (size < 0)
      throw Error(ErrorCode::Shape,
                  fmt::format("{} {} has a size of {}; need at least 0", what, number, size));
  if (tensor.data == nullptr && program::elems(tensor.shape) > 0)
    throw Error(ErrorCode::Device, fmt::format("{} {}: its data is a null pointer", what, number));
  if (address % need != 0)
    throw Error(ErrorCode::Device,
                fmt::format("{} {}: its data lie at {} {:#x}, which is no multiple of {}", what,
                            number, in_buffer ? "byte_offset" : "address", address, need));
  std::int64_t end = 0;
  if (tensor.offset < 0 ||
      __builtin_mul_overflow(program::elems(tensor.shape), size_bytes(tensor.type), &end) ||
      __builtin_add_overflow(end, tensor.offset, &end))
    throw Error(ErrorCode::Limit,
                fmt::format("{} {} ends beyond what can be addressed", what, number));
}

void Run::bind_input(std::size_t position, const TensorPlace &tensor) {
  check_idle();
  check_position(position, inputs_.size(), "input");
  std::optional<TensorPlace> &bound = inputs_[position];
  check_address(tensor, "input", position);
  if (bound && bound->type == tensor.type && bound->shape == tensor.shape) {
    bound->data = tensor.data;
    bound->lies = tensor.lies;
    bound->offset = tensor.offset;
    return;
  }
  check_type(network_->inputs()[position], tensor, "input");
  bound = tensor;
  ready_ = nullptr;
}

void Run::bind_output(std::size_t position, const TensorPlace &tensor) {
  check_idle();
  check_address(tensor, "output", position);
  if (position >= outputs_.size() && !ready_)
    prepare();
  check_position(position, outputs_.size(), "output");
  std::optional<TensorPlace> &bound = outputs_[position];
  if (ready_ && !(bound && bound->type == tensor.type && bound->shape == tensor.shape))
    check_output(position, tensor);
  bound = tensor;
  are_placed_ = false;
}

void Run::release_output(std::size_t position) {
  check_idle();
  check_position(position, outputs_.size(), "output");
  outputs_[position].reset();
  are_placed_ = false;
}

InputTypes Run::types() const {
  if (network_->is_fixed())
    return network_->fixed_types();
  InputTypes types;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (!inputs_[i])
      throw Error(ErrorCode::Shape,
                  fmt::format("input '{}' is not bound", network_->inputs()[i].name));
    types.emplace_back(inputs_[i]->type, inputs_[i]->shape);
  }
  return types;
}

std::shared_ptr<Run::Ready> Run::make_ready(std::shared_ptr<const Loaded> loaded) {
  auto ready = std::make_shared<Ready>();
  ready->loaded = std::move(loaded);
  ready->execution = std::make_unique<model::Execution>(ready->loaded->resident);
  for (std::size_t i = 0; i < ready->loaded->resident.inputs().size(); ++i)
    ready->inputs.push_back({.is_bindable = ready->execution->is_bindable({false, i})});
  for (std::size_t o = 0; o < ready->loaded->resident.outputs().size(); ++o)
    ready->outputs.push_back({.is_bindable = ready->execution->is_bindable({true, o})});
  return ready;
}

bool Run::find_ready(const Progress &progress) {
  if (ready_ && edition_ == network_->edition())
    return false;
  const InputTypes wanted = types();
  const std::shared_ptr<const Loaded> loaded = network_->at(wanted, progress);
  std::shared_ptr<Ready> *known = known_.find(wanted);
  if (const auto *gone = known != nullptr ? known : known_.leaving();
      gone != nullptr && *gone != nullptr && (*gone)->loaded != loaded)
    leaving_.push_back(*gone);
  if (known == nullptr)
    known = &known_.insert(wanted, nullptr);
  const bool is_new = *known == nullptr || (*known)->loaded != loaded;
  if (is_new)
    *known = make_ready(loaded);
  ready_ = *known;
  edition_ = network_->edition();
  outputs_.resize(ready_->outputs.size());
  own_.resize(ready_->outputs.size());
  are_placed_ = false;
  return is_new;
}

void Run::check_output(std::size_t position, const TensorPlace &tensor) const {
  const program::HostTensor &form = ready_->loaded->resident.outputs().at(position);
  check_type({.name = form.name,
              .type = form.type,
              .dims = form.shape,
              .symbols = std::vector<std::string>(form.shape.size())},
             tensor, "output");
}

void Run::place_outputs() {
  if (are_placed_)
    return;
  places_.clear();
  for (std::size_t o = 0; o < ready_->outputs.size(); ++o) {
    const program::HostTensor &form = ready_->loaded->resident.outputs()[o];
    if (outputs_[o]) {
      check_output(o, *outputs_[o]);
      places_.push_back(*outputs_[o]);
      continue;
    }
    places_.push_back({form.type, form.shape});
    own_[o].resize(bytes_of(places_.back()));
    places_.back().data = own_[o].data();
  }
  are_placed_ = true;
}

void Run::prepare(const Progress &progress) {
  check_idle();
  const std::lock_guard lock(network_->engine().mutex);
  if (find_ready(progress))
    network_->engine().device->finish(); // other queues may come next
  for (std::size_t o = 0; o < outputs_.size(); ++o)
    if (outputs_[o] && !fits(ready_->loaded->resident.outputs()[o], *outputs_[o]))
      outputs_[o].reset();
  place_outputs();
}

TensorPlace Run::output(std::size_t position) const {
  check_position(position, places_.size(), "output");
  return places_[position];
}

bool Run::is_shared(std::size_t output) const {
  for (const std::optional<TensorPlace> &input : inputs_)
    if (overlap(*input, places_[output]))
      return true;
  for (std::size_t o = 0; o < output; ++o)
    if (overlap(places_[o], places_[output]))
      return true;
  return false;
}

bool Run::place(Bound &bound, model::Port port, const TensorPlace &tensor, bool may_bind) {
  if (may_bind && bound.address == tensor.data && bound.offset == tensor.offset)
    return true;
  std::unique_ptr<runtime::Memory> memory;
  const auto bytes = static_cast<std::int64_t>(bytes_of(tensor));
  runtime::Device &device = *network_->engine().device;
  const bool on_host = tensor.lies == Lies::OnHost;
  const bool is_near = !on_host || address_space(device.target()) == AddressSpace::Host;
  if (may_bind && bound.is_bindable && is_near)
    memory = device.wrap(tensor.data, tensor.offset + bytes);
  if (memory == nullptr && !on_host)
    throw Error(ErrorCode::Device,
                fmt::format("{} cannot work in this memory for {} {}", device.name(),
                            port.is_output ? "output" : "input", port.position),
                {}, {"memory of the host is copied; outputs overlap neither inputs nor another"});
  const bool is_bound = memory != nullptr;
  if (is_bound || bound.address != nullptr)
    ready_->execution->bind(port, {memory.get(), tensor.offset, is_bound ? bytes : 0});
  bound.memory = std::move(memory);
  bound.address = is_bound ? tensor.data : nullptr;
  bound.offset = tensor.offset;
  return is_bound;
}

const TensorPlace &Run::at(model::Port port) const {
  return port.is_output ? places_[port.position] : *inputs_[port.position];
}

std::vector<model::Port> Run::place_ports() {
  std::vector<model::Port> copied;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (!inputs_[i])
      throw Error(ErrorCode::Shape,
                  fmt::format("input '{}' is not bound", network_->inputs()[i].name));
    if (!place(ready_->inputs[i], {false, i}, *inputs_[i], true))
      copied.push_back({false, i});
  }
  for (std::size_t o = 0; o < places_.size(); ++o)
    if (!place(ready_->outputs[o], {true, o}, places_[o], !is_shared(o)))
      copied.push_back({true, o});
  return copied;
}

void Run::copy_in(model::Port port) {
  const std::size_t bytes = bytes_of(at(port));
  network_->engine().device->write(ready_->execution->own(port),
                                   {static_cast<const std::byte *>(at(port).data), bytes});
  count(copies_, bytes);
}

void Run::copy_out(model::Port port) {
  const std::size_t bytes = bytes_of(at(port));
  network_->engine().device->read(ready_->execution->own(port),
                                  {static_cast<std::byte *>(at(port).data), bytes});
  count(copies_, bytes);
}

void Run::execute_locked() {
  const Stopwatch watch;
  runtime::Device &device = *network_->engine().device;
  if (find_ready({}))
    device.finish(); // other queues may come next
  place_outputs();
  copies_ = {};
  const std::vector<model::Port> copied = place_ports();
  finish_after(device, [&] {
    for (const model::Port port : copied)
      if (!port.is_output)
        copy_in(port);
    ready_->execution->launch();
    for (const model::Port port : copied)
      if (port.is_output)
        copy_out(port);
  });
  seconds_ = watch.seconds();
}

void Run::enqueue_locked(void *queue, void **event) {
  const Stopwatch watch;
  runtime::Device &device = *network_->engine().device;
  device.use_queue(nullptr); // a device without queues says so
  if (find_ready({}))
    track();
  place_outputs();
  copies_ = {};
  for (const model::Port port : place_ports())
    throw Error(ErrorCode::Unsupported,
                fmt::format("{} {} would be copied, which a run in a queue does not wait for",
                            port.is_output ? "output" : "input", port.position),
                {}, {"bind it to memory of the device, or execute the run"});
  const InQueue in(device, queue);
  for (const auto &mark : queued_)
    device.begin_behind(*mark);
  try {
    ready_->execution->launch();
  } catch (...) { // some of it may be queued
    track();
    throw;
  }
  track();
  queued_.erase(queued_.begin(), queued_.end() - 1);
  if (event != nullptr)
    *event = device.mark()->release();
  seconds_ = watch.seconds();
}

void Run::track() {
  runtime::Device &device = *network_->engine().device;
  try {
    queued_.push_back(device.mark());
  } catch (const Error &) { // nothing left to wait by
    device.finish();
    throw;
  }
}

void Run::settle() {
  while (!queued_.empty()) {
    const std::unique_ptr<runtime::Mark> mark = std::move(queued_.back());
    queued_.pop_back();
    mark->wait();
  }
  if (leaving_.empty())
    return;
  const std::lock_guard lock(network_->engine().mutex);
  leaving_.clear();
}

void Run::execute() {
  check_idle();
  settle();
  const std::lock_guard lock(network_->engine().mutex);
  execute_locked();
}

void Run::start(std::function<void(std::exception_ptr)> done) {
  check_idle();
  is_running_ = true;
  started_ = std::async(std::launch::async, [this, done = std::move(done)] {
    std::exception_ptr failure;
    try {
      settle();
      const std::lock_guard lock(network_->engine().mutex);
      execute_locked();
    } catch (...) {
      failure = std::current_exception();
    }
    is_running_ = false;
    if (done)
      done(failure);
    if (failure)
      std::rethrow_exception(failure);
  });
}

void Run::enqueue(void *queue, void **event) {
  check_idle();
  const std::lock_guard lock(network_->engine().mutex);
  enqueue_locked(queue, event);
}

void Run::wait() {
  if (started_.valid())
    started_.get();
  settle();
}

} // namespace tilefuse::api
