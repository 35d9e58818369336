// SPDX-License-Identifier: Apache-2.0
// The C++ face of tilefuse.h, C++17: handles that release themselves, exceptions for statuses, views
// for tensors. Nothing but the C interface is called.
//
//   tilefuse::Device device("cpu");
//   tilefuse::Compiled compiled(tilefuse::Model::read("model.onnx"), device);
//   tilefuse::Run run(compiled);
//   run.input(0, tilefuse::view(image.data(), {1, 3, 224, 224}));
//   run.execute();
//   tilefuse::Output scores = run.output(0);   // scores.data<float>(), scores.shape()
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "tilefuse/tilefuse.h"

namespace tilefuse {

// A status that is not TF_OK, with what the library says of it.
class Error : public std::exception {
public:
  explicit Error(tf_status status)
      : status_(status), message_(tf_error_message()), where_(tf_error_where()),
        notes_(tf_error_notes()) {
    text_ =
        (where_.empty() ? "" : where_ + ": ") + message_ + (notes_.empty() ? "" : "\n" + notes_);
  }
  tf_status status() const { return status_; }
  const std::string &message() const { return message_; }
  const std::string &where() const { return where_; }
  const std::string &notes() const { return notes_; }
  const char *what() const noexcept override { return text_.c_str(); }

private:
  tf_status status_;
  std::string message_;
  std::string where_;
  std::string notes_;
  std::string text_;
};

inline void check(tf_status status) {
  if (status != TF_OK)
    throw Error(status);
}

using Options = std::map<std::string, std::string>; // {"precision", "f16"}, {"dim.height", "320"}
using Progress = std::function<bool(int done, int total)>; // false: cancel
using Log = std::function<void(tf_log_level, const std::string &)>;

namespace detail {

struct Release {
  void operator()(void *handle) const { tf_release(handle); }
};
template <class Handle> using Owner = std::unique_ptr<Handle, Release>;

inline std::vector<tf_option> to_options(const Options &options) {
  std::vector<tf_option> list;
  for (const auto &[key, value] : options)
    list.push_back({key.c_str(), value.c_str()});
  return list;
}

inline int tell(void *user, int done, int total) {
  return (*static_cast<const Progress *>(user))(done, total) ? 0 : 1;
}
inline tf_progress progress_of(const Progress &progress) { return progress ? tell : nullptr; }
inline void *user_of(const Progress &progress) { return const_cast<Progress *>(&progress); }

inline std::string take(char *text) {
  const std::unique_ptr<char, void (*)(char *)> owner(text, tf_free);
  return text;
}

// The text that a call gives through its argument.
template <class Make> std::string text_of(const Make &make) {
  char *made = nullptr;
  check(make(&made));
  return take(made);
}

template <class Element> constexpr DLDataType type_of() {
  using E = std::remove_const_t<Element>;
  static_assert(std::is_arithmetic_v<E>, "an element of a tensor");
  const int code = std::is_same_v<E, bool>       ? kDLBool
                   : std::is_floating_point_v<E> ? kDLFloat
                   : std::is_signed_v<E>         ? kDLInt
                                                 : kDLUInt;
  return {static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(8 * sizeof(E)), 1};
}

} // namespace detail

// Memory of the caller's, row-major; it outlives the runs that it is bound to.
class Tensor {
public:
  // `byte_offset` is for a cl_mem, of kDLOpenCL.
  Tensor(void *data, DLDataType type, std::vector<std::int64_t> shape,
         DLDevice device = {kDLCPU, 0}, std::uint64_t byte_offset = 0)
      : data_(data), type_(type), device_(device), shape_(std::move(shape)),
        byte_offset_(byte_offset) {}
  DLTensor dl() const {
    DLTensor tensor{};
    tensor.data = data_;
    tensor.device = device_;
    tensor.ndim = static_cast<std::int32_t>(shape_.size());
    tensor.dtype = type_;
    tensor.shape = const_cast<std::int64_t *>(shape_.data());
    tensor.byte_offset = byte_offset_;
    return tensor;
  }

private:
  void *data_;
  DLDataType type_;
  DLDevice device_;
  std::vector<std::int64_t> shape_;
  std::uint64_t byte_offset_;
};

template <class Element>
Tensor view(Element *data, std::vector<std::int64_t> shape, DLDevice device = {kDLCPU, 0}) {
  return {const_cast<std::remove_const_t<Element> *>(data), detail::type_of<Element>(),
          std::move(shape), device};
}

// Where a run's output lies.
class Output {
public:
  explicit Output(const DLTensor &tensor)
      : data_(tensor.data), type_(tensor.dtype), shape_(tensor.shape, tensor.shape + tensor.ndim) {}
  // Error of std::exception's kind where the elements are of another type.
  template <class Element> const Element *data() const {
    const DLDataType wanted = detail::type_of<Element>();
    if (wanted.code != type_.code || wanted.bits != type_.bits)
      throw std::bad_cast();
    return static_cast<const Element *>(data_);
  }
  const std::vector<std::int64_t> &shape() const { return shape_; }
  std::int64_t elements() const {
    std::int64_t count = 1;
    for (const std::int64_t size : shape_)
      count *= size;
    return count;
  }

private:
  const void *data_;
  DLDataType type_;
  std::vector<std::int64_t> shape_;
};

// What a device takes from its caller (tf_hooks).
struct Hooks {
  Log log;
  std::function<void *(std::size_t bytes, std::size_t alignment)> allocate;
  std::function<void(void *memory, std::size_t bytes)> release;
  void *queue = nullptr;
};

// A device with its caches. "": the cpu where code can be generated for it.
class Device {
public:
  explicit Device(const std::string &selector = "", const Options &options = {}, Hooks hooks = {})
      : hooks_(std::make_shared<Hooks>(std::move(hooks))) {
    const auto list = detail::to_options(options);
    const tf_hooks given{sizeof(tf_hooks),
                         hooks_.get(),
                         hooks_->log ? tell : nullptr,
                         hooks_->allocate ? allocate : nullptr,
                         hooks_->release ? release : nullptr,
                         hooks_->queue};
    tf_device *device = nullptr;
    check(tf_device_open(selector.c_str(), list.data(), list.size(), &given, &device));
    handle_ =
        std::shared_ptr<tf_device>(device, [hooks = hooks_](tf_device *of) { tf_release(of); });
  }
  tf_device *get() const { return handle_.get(); }
  std::string info() const {
    return detail::text_of([&](char **to) { return tf_info(get(), to); });
  }

private:
  static void tell(void *user, tf_log_level level, const char *text) {
    static_cast<const Hooks *>(user)->log(level, text);
  }
  static void *allocate(void *user, std::size_t bytes, std::size_t alignment) {
    return static_cast<const Hooks *>(user)->allocate(bytes, alignment);
  }
  static void release(void *user, void *memory, std::size_t bytes) {
    static_cast<const Hooks *>(user)->release(memory, bytes);
  }
  std::shared_ptr<Hooks> hooks_;
  std::shared_ptr<tf_device> handle_;
};

class Model {
public:
  static Model read(const std::string &path) {
    tf_model *model = nullptr;
    check(tf_model_read(path.c_str(), &model));
    return Model(model);
  }
  static Model parse(const void *bytes, std::size_t size, const std::string &folder = "") {
    tf_model *model = nullptr;
    check(tf_model_parse(bytes, size, folder.c_str(), &model));
    return Model(model);
  }
  static Model tile(const std::string &text, const std::string &function = "") {
    tf_model *model = nullptr;
    check(tf_model_from_tile(text.c_str(), function.empty() ? nullptr : function.c_str(), &model));
    return Model(model);
  }
  // What is not supported at the sizes that options bind, as JSON.
  std::string gaps(const Options &options = {}) const {
    const auto list = detail::to_options(options);
    return detail::text_of(
        [&](char **to) { return tf_model_check(get(), list.data(), list.size(), to); });
  }
  // The inputs of one run, that precision=int8 takes its scales from.
  void calibrate(const std::vector<Tensor> &inputs) {
    std::vector<DLTensor> list;
    for (const Tensor &input : inputs)
      list.push_back(input.dl());
    check(tf_model_calibrate(get(), list.data(), list.size()));
  }
  tf_model *get() const { return handle_.get(); }

private:
  explicit Model(tf_model *model) : handle_(model) {}
  detail::Owner<tf_model> handle_;
};

class Compiled {
public:
  Compiled(const Model &model, const Device &device, const Options &options = {},
           const Progress &progress = {})
      : device_(device) {
    const auto list = detail::to_options(options);
    tf_compiled *compiled = nullptr;
    check(tf_compile(model.get(), device.get(), list.data(), list.size(),
                     detail::progress_of(progress), detail::user_of(progress), &compiled));
    handle_.reset(compiled);
  }
  std::vector<tf_tensor_info> inputs() const { return list(tf_compiled_inputs); }
  std::vector<tf_tensor_info> outputs() const { return list(tf_compiled_outputs); }
  tf_compiled *get() const { return handle_.get(); }
  const Device &device() const { return device_; }

private:
  using List = tf_status (*)(tf_compiled *, const tf_tensor_info **, std::size_t *);
  std::vector<tf_tensor_info> list(List of) const {
    const tf_tensor_info *infos = nullptr;
    std::size_t count = 0;
    check(of(get(), &infos, &count));
    return {infos, infos + count};
  }
  Device device_; // whose log outlives the handle
  detail::Owner<tf_compiled> handle_;
};

class Run {
public:
  explicit Run(const Compiled &compiled) : device_(compiled.device()) {
    tf_run *run = nullptr;
    check(tf_run_create(compiled.get(), &run));
    handle_.reset(run);
  }
  void input(std::size_t index, const Tensor &tensor) {
    const DLTensor dl = tensor.dl();
    check(tf_run_input(get(), index, &dl));
  }
  void bind_output(std::size_t index, const Tensor &tensor) {
    const DLTensor dl = tensor.dl();
    check(tf_run_bind_output(get(), index, &dl));
  }
  // How many outputs there are.
  std::size_t prepare(const Progress &progress = {}) {
    std::size_t outputs = 0;
    check(
        tf_run_prepare(get(), detail::progress_of(progress), detail::user_of(progress), &outputs));
    return outputs;
  }
  void execute() { check(tf_run_execute(get())); }
  void start() { check(tf_run_start(get(), nullptr, nullptr)); }
  // In a queue of the caller's, null: the device's; the event, null: none is made, is the caller's.
  void enqueue(void *queue = nullptr, void **event = nullptr) {
    check(tf_run_enqueue(get(), queue, event));
  }
  void wait() { check(tf_run_wait(get())); }
  Output output(std::size_t index) const {
    DLTensor tensor{};
    check(tf_run_output(get(), index, &tensor));
    return Output(tensor);
  }
  double seconds() const {
    double seconds = 0;
    check(tf_run_statistics(get(), &seconds, nullptr, nullptr));
    return seconds;
  }
  // Between the caller's memory and the device, in the last run.
  std::int64_t copies() const {
    std::int64_t copies = 0;
    check(tf_run_statistics(get(), nullptr, &copies, nullptr));
    return copies;
  }

  std::string info() const {
    return detail::text_of([&](char **to) { return tf_info(get(), to); });
  }
  std::string time(int repeat) const {
    return detail::text_of([&](char **to) { return tf_time(get(), repeat, nullptr, nullptr, to); });
  }
  std::string explain(const std::string &layer = "") const {
    return detail::text_of([&](char **to) { return tf_explain(get(), layer.c_str(), to); });
  }
  std::string verify(std::int64_t samples = 256, const Progress &progress = {}) const {
    return detail::text_of([&](char **to) {
      return tf_verify(get(), samples, detail::progress_of(progress), detail::user_of(progress),
                       to);
    });
  }
  std::string tune(double seconds, const Progress &progress = {}) const {
    return detail::text_of([&](char **to) {
      return tf_tune(get(), seconds, detail::progress_of(progress), detail::user_of(progress), to);
    });
  }
  tf_run *get() const { return handle_.get(); }

private:
  Device device_;
  detail::Owner<tf_run> handle_;
};

// A model that learns; what is made comes as JSON.
class Trainer {
public:
  // `recipe`: a file of TOML or a model's, or "" where options are all of it.
  Trainer(const Device &device, const std::string &recipe, const Options &options = {},
          const Progress &progress = {})
      : device_(device) {
    const auto list = detail::to_options(options);
    tf_trainer *trainer = nullptr;
    check(tf_trainer_create(device.get(), recipe.empty() ? nullptr : recipe.c_str(), list.data(),
                            list.size(), detail::progress_of(progress), detail::user_of(progress),
                            &trainer));
    handle_.reset(trainer);
  }
  std::string step(std::int64_t steps = 1, const Progress &progress = {}) {
    return detail::text_of([&](char **to) {
      return tf_trainer_step(get(), steps, detail::progress_of(progress), detail::user_of(progress),
                             to);
    });
  }
  std::string evaluate(const Progress &progress = {}) {
    return detail::text_of([&](char **to) {
      return tf_trainer_evaluate(get(), detail::progress_of(progress), detail::user_of(progress),
                                 to);
    });
  }
  // The model (.onnx) or a checkpoint (.safetensors).
  void save(const std::string &path) { check(tf_trainer_save(get(), path.c_str())); }
  void restore(const std::string &path) { check(tf_trainer_restore(get(), path.c_str())); }
  std::string info() const {
    return detail::text_of([&](char **to) { return tf_info(get(), to); });
  }
  std::string verify(std::int64_t samples = 256, const Progress &progress = {}) {
    return detail::text_of([&](char **to) {
      return tf_verify(get(), samples, detail::progress_of(progress), detail::user_of(progress),
                       to);
    });
  }
  std::string time(int repeat) {
    return detail::text_of([&](char **to) { return tf_time(get(), repeat, nullptr, nullptr, to); });
  }
  tf_trainer *get() const { return handle_.get(); }

private:
  Device device_;
  detail::Owner<tf_trainer> handle_;
};

// A whole run in the option "folder"; what came of it, as JSON.
inline std::string train(const Device &device, const std::string &recipe, const Options &options,
                         const Progress &progress = {}) {
  const auto list = detail::to_options(options);
  return detail::text_of([&](char **to) {
    return tf_train(device.get(), recipe.empty() ? nullptr : recipe.c_str(), list.data(),
                    list.size(), detail::progress_of(progress), detail::user_of(progress), to);
  });
}

} // namespace tilefuse
