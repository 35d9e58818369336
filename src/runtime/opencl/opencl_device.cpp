// SPDX-License-Identifier: Apache-2.0
#include "runtime/opencl/opencl_device.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include <fmt/format.h>

#include "base/error.h"
#include "base/hash.h"
#include "runtime/cpu/host_ceilings.h"
#include "runtime/device.h"
#include "runtime/opencl/opencl_build.h"
#include "runtime/opencl/opencl_ptx.h"
#include "runtime/opencl/opencl_queue.h"
#include "runtime/opencl/opencl_select.h"
#include "runtime/opencl/opencl_target.h"
#include "runtime/opencl/opencl_workers.h"
#include "runtime/out_of_memory.h"
#include "target/measured_rows.h"

namespace tilefuse::runtime {
namespace {

constexpr std::int64_t kMinAlignment = 64;
constexpr std::int64_t kLeast = 1; // bytes of a buffer

bool is_out_of_memory(cl_int code) {
  return code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_RESOURCES ||
         code == CL_OUT_OF_HOST_MEMORY;
}

// Memory of the caller's allocator, which goes back when what is in the queue has ended.
struct Given {
  std::shared_ptr<void> memory; // null: it is not the allocator's
  std::shared_ptr<QueueHandle> queue;
};

// A buffer and the sub-buffers in use; a part that several kernels see is one object.
class OpenclMemory final : public Memory {
public:
  OpenclMemory(std::shared_ptr<OpenclContext> cx, std::int64_t bytes)
      : cx_(std::move(cx)), bytes_(bytes), held_bytes_(bytes) {
    // Drivers give memory when it is first used, and may then fail in any call: what is plainly too
    // much is refused here. What others hold, no OpenCL call tells.
    const std::int64_t free = cx_->info.global_bytes - cx_->held_bytes;
    if (bytes > free)
      throw out_of_memory(cx_->info.name, bytes, free, cx_->info.global_bytes);
    cl_int code = CL_SUCCESS;
    whole_ = {cx_->api,
              cx_->api.clCreateBuffer(cx_->context.get(), CL_MEM_READ_WRITE,
                                      static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1)),
                                      nullptr, &code)};
    if (is_out_of_memory(code))
      throw out_of_memory(cx_->info.name, bytes, free, cx_->info.global_bytes);
    check(code, fmt::format("clCreateBuffer of {} bytes on {}", bytes, cx_->info.name));
    cx_->held_bytes += bytes;
  }
  // Of the caller; `given` goes behind it.
  OpenclMemory(std::shared_ptr<OpenclContext> cx, cl_mem memory, std::int64_t bytes,
               Given given = {})
      : cx_(std::move(cx)), bytes_(bytes), held_bytes_(0), given_(std::move(given)),
        whole_(retain_memory(*cx_, memory, bytes)) {}
  ~OpenclMemory() override {
    cx_->held_bytes -= held_bytes_;
    if (given_.memory)
      cx_->api.clFinish(given_.queue->get());
  }
  OpenclMemory(const OpenclMemory &) = delete;
  OpenclMemory &operator=(const OpenclMemory &) = delete;
  std::int64_t bytes() const override { return bytes_; }
  cl_mem whole() const { return whole_.get(); }

private:
  std::shared_ptr<OpenclContext> cx_;
  std::int64_t bytes_ = 0;
  std::int64_t held_bytes_ = 0;
  Given given_;
  MemHandle whole_;
};

struct OpenclLaunchable final : Launchable {
  std::shared_ptr<OpenclContext> cx;
  std::shared_ptr<ProgramHandle> program;
  KernelHandle kernel;
  std::unique_ptr<Memory> counts; // null: none
  std::string name;
  std::size_t global = 0;
  std::size_t local = 1;
};

OpenclMemory &memory_of(const Binding &binding) {
  auto *memory = dynamic_cast<OpenclMemory *>(binding.memory);
  TILEFUSE_CHECK(memory != nullptr, "a binding without memory of this device");
  TILEFUSE_CHECK(binding.offset >= 0 && binding.bytes >= 0 &&
                     binding.bytes <= memory->bytes() - binding.offset,
                 "a binding outside its memory");
  return *memory;
}

cl_command_queue to_queue(void *queue) { return static_cast<cl_command_queue>(queue); }

std::string name_of(const OpenclDeviceInfo &info) {
  return fmt::format("{} ({})", info.name, info.platform_name);
}

class OpenclDevice final : public Device {
public:
  OpenclDevice(std::shared_ptr<OpenclContext> cx, Target target, Hooks hooks)
      : cx_(std::move(cx)), target_(std::move(target)), hooks_(std::move(hooks)) {
    queue_ = std::make_shared<QueueHandle>(
        hooks_.queue == nullptr ? make_queue(0) : retain_queue(*cx_, to_queue(hooks_.queue)));
    const OpenclDeviceInfo &info = cx_->info;
    name_ = name_of(info);
    driver_ = fmt::format("{} | {} | {} | {} | {}", info.platform_name, info.platform_version,
                          info.name, info.version, info.driver_version);
    if (info.vendor.starts_with("NVIDIA"))
      driver_ += fmt::format(" | {}", kPtxEdition);
  }
  ~OpenclDevice() override { api().clFinish(queue_->get()); }

  const Target &target() const override { return target_; }
  const std::string &name() const override { return name_; }
  const std::string &driver() const override { return driver_; }
  std::int64_t alignment() const override { return std::max(kMinAlignment, cx_->info.alignment); }
  Ceilings ceilings() override {
    if ((cx_->info.type & CL_DEVICE_TYPE_CPU) == 0)
      return stated_ceilings(target_);
    return host_ceilings(target_.compute_units).value_or(stated_ceilings(target_));
  }

  std::unique_ptr<Memory> allocate(std::int64_t bytes) override {
    if (bytes < 0 || bytes > cx_->info.max_allocation)
      throw Error(ErrorCode::Device,
                  fmt::format("{} is out of memory: {} bytes are needed in one piece, it gives at "
                              "most {} and {} of {} are free",
                              name_, bytes, cx_->info.max_allocation,
                              cx_->info.global_bytes - cx_->held_bytes, cx_->info.global_bytes));
    if (!hooks_.allocate)
      return std::make_unique<OpenclMemory>(cx_, bytes);
    const std::shared_ptr<void> memory =
        runtime::allocate(hooks_, name_, std::max(bytes, kLeast), 1);
    return std::make_unique<OpenclMemory>(cx_, static_cast<cl_mem>(memory.get()), bytes,
                                          Given{memory, queue_});
  }

  std::unique_ptr<Memory> wrap(void *address, std::int64_t bytes) override {
    return std::make_unique<OpenclMemory>(cx_, static_cast<cl_mem>(address), bytes);
  }

  void write(const Binding &to, std::span<const std::byte> from) override {
    OpenclMemory &memory = memory_of(to);
    TILEFUSE_CHECK(static_cast<std::int64_t>(from.size()) <= to.bytes, "a write past its binding");
    if (from.empty())
      return;
    check(api().clEnqueueWriteBuffer(in_use(), memory.whole(), CL_TRUE,
                                     static_cast<std::size_t>(to.offset), from.size(), from.data(),
                                     0, nullptr, nullptr),
          "clEnqueueWriteBuffer");
  }

  void read(const Binding &from, std::span<std::byte> to) override {
    OpenclMemory &memory = memory_of(from);
    TILEFUSE_CHECK(static_cast<std::int64_t>(to.size()) <= from.bytes, "a read past its binding");
    if (to.empty())
      return;
    check(api().clEnqueueReadBuffer(in_use(), memory.whole(), CL_TRUE,
                                    static_cast<std::size_t>(from.offset), to.size(), to.data(), 0,
                                    nullptr, nullptr),
          "clEnqueueReadBuffer");
  }

  void fill_zero(const Binding &to) override {
    OpenclMemory &memory = memory_of(to);
    if (to.bytes == 0)
      return;
    constexpr std::byte kZeros[16] = {};
    std::size_t pattern = sizeof kZeros; // must divide offset and size
    while ((static_cast<std::size_t>(to.offset) | static_cast<std::size_t>(to.bytes)) % pattern !=
           0)
      pattern /= 2;
    check(api().clEnqueueFillBuffer(in_use(), memory.whole(), kZeros, pattern,
                                    static_cast<std::size_t>(to.offset),
                                    static_cast<std::size_t>(to.bytes), 0, nullptr, nullptr),
          "clEnqueueFillBuffer");
  }

  std::vector<Package> build(std::vector<Package> packages) override {
    return build_opencl(*cx_, std::move(packages));
  }

  std::unique_ptr<Launchable> load(const Package &built,
                                   std::span<const Binding> bindings) override {
    if (built.format != CodeFormat::OpenclBinary)
      throw Error(ErrorCode::Device,
                  fmt::format("kernel '{}' is not built for OpenCL", built.name));
    auto launchable = std::make_unique<OpenclLaunchable>();
    launchable->cx = cx_;
    launchable->name = built.name;
    launchable->program = program_of(built);
    cl_int code = CL_SUCCESS;
    launchable->kernel = {
        api(), api().clCreateKernel(launchable->program->get(), built.symbol.c_str(), &code)};
    check(code, fmt::format("clCreateKernel of '{}'", built.name));
    check_group(*launchable, built);
    bind(*launchable, built, bindings);
    if (built.counts > 0)
      bind_counts(*launchable, built);
    launchable->local = static_cast<std::size_t>(built.block_size);
    launchable->global = static_cast<std::size_t>(built.blocks) * launchable->local;
    return launchable;
  }

  void rebind(Launchable &kernel, std::size_t argument, const Binding &to) override {
    auto &launchable = static_cast<OpenclLaunchable &>(kernel);
    check(set_argument(api(), launchable.kernel.get(), argument, memory_of(to).whole(), to.offset),
          fmt::format("clSetKernelArg {} of '{}'", argument, launchable.name));
  }

  void launch(Launchable &kernel) override { enqueue(in_use(), kernel, nullptr); }

  void finish() override { check(api().clFinish(in_use()), "clFinish"); }

  void use_queue(void *queue) override {
    lent_ = queue == nullptr ? QueueHandle{} : retain_queue(*cx_, to_queue(queue));
  }
  std::unique_ptr<Mark> mark() override { return mark_queue(cx_, in_use()); }
  void begin_behind(Mark &mark) override { queue_behind(*cx_, in_use(), mark); }

  std::vector<LaunchTime> trace(std::span<Launchable *const> kernels) override {
    begin_timing();
    std::vector<EventHandle> events;
    for (Launchable *kernel : kernels) {
      cl_event event = nullptr;
      enqueue(timed_.get(), *kernel, &event);
      events.emplace_back(api(), event);
    }
    check(api().clFinish(timed_.get()), "clFinish");
    return times_of(events);
  }

  // Between two marks: a kernel with an event of its own delays what follows it.
  double time_all(std::span<Launchable *const> kernels, bool) override {
    if (kernels.empty())
      return 0;
    begin_timing();
    const EventHandle begin = timed_mark();
    for (Launchable *kernel : kernels)
      enqueue(timed_.get(), *kernel, nullptr);
    const EventHandle end = timed_mark();
    check(api().clFinish(timed_.get()), "clFinish");
    const cl_ulong from = nanoseconds(begin.get(), CL_PROFILING_COMMAND_END);
    const cl_ulong to = nanoseconds(end.get(), CL_PROFILING_COMMAND_START);
    return static_cast<double>(to - std::min(from, to)) * 1e-9;
  }

private:
  const OpenclApi &api() const { return cx_->api; }
  cl_command_queue in_use() const { return lent_ ? lent_.get() : queue_->get(); }

  QueueHandle make_queue(cl_command_queue_properties properties) const {
    cl_int code = CL_SUCCESS;
    QueueHandle queue{
        api(), api().clCreateCommandQueue(cx_->context.get(), cx_->info.id, properties, &code)};
    check(code, "clCreateCommandQueue");
    return queue;
  }

  // What is put into the queue of what is timed runs behind what is queued.
  void begin_timing() {
    if (!timed_)
      timed_ = make_queue(CL_QUEUE_PROFILING_ENABLE);
    queue_behind(*cx_, timed_.get(), *mark());
  }

  EventHandle timed_mark() {
    cl_event event = nullptr;
    check(api().clEnqueueMarkerWithWaitList(timed_.get(), 0, nullptr, &event),
          "clEnqueueMarkerWithWaitList");
    return {api(), event};
  }

  // Packages with the same binary share a program.
  std::shared_ptr<ProgramHandle> program_of(const Package &built) {
    std::weak_ptr<ProgramHandle> &known = programs_[content_hash(built.code)];
    if (auto held = known.lock())
      return held;
    auto made = std::make_shared<ProgramHandle>(load_binary(*cx_, built));
    known = made;
    return made;
  }

  // NVIDIA's driver says 256 of every kernel, and runs those that were built for more.
  void check_group(const OpenclLaunchable &launchable, const Package &built) const {
    std::size_t most = 0;
    check(api().clGetKernelWorkGroupInfo(launchable.kernel.get(), cx_->info.id,
                                         CL_KERNEL_WORK_GROUP_SIZE, sizeof most, &most, nullptr),
          "clGetKernelWorkGroupInfo(CL_KERNEL_WORK_GROUP_SIZE)");
    std::size_t built_for[3] = {};
    if (cx_->info.nvidia_generation > 0)
      check(api().clGetKernelWorkGroupInfo(launchable.kernel.get(), cx_->info.id,
                                           CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof built_for,
                                           built_for, nullptr),
            "clGetKernelWorkGroupInfo(CL_KERNEL_COMPILE_WORK_GROUP_SIZE)");
    if (std::max(most, built_for[0]) < static_cast<std::size_t>(built.block_size))
      throw Error(
          ErrorCode::Limit,
          fmt::format("kernel '{}' needs groups of {} work-items, {} runs it with {} at most",
                      built.name, built.block_size, name_, most));
  }

  void bind(OpenclLaunchable &launchable, const Package &built,
            std::span<const Binding> bindings) const {
    TILEFUSE_CHECK(bindings.size() == built.args.size(), "bindings and arguments differ in number");
    for (std::size_t i = 0; i < bindings.size(); ++i) {
      OpenclMemory &memory = memory_of(bindings[i]);
      TILEFUSE_CHECK(bindings[i].bytes >= built.args[i].bytes,
                     "a binding smaller than its argument");
      TILEFUSE_CHECK(bindings[i].offset % alignment() == 0, "a binding that is not aligned");
      check(set_argument(api(), launchable.kernel.get(), i, memory.whole(), bindings[i].offset),
            fmt::format("clSetKernelArg {} of '{}'", i, built.name));
    }
  }

  void bind_counts(OpenclLaunchable &launchable, const Package &built) {
    const std::int64_t bytes = built.counts * kCountBytes;
    launchable.counts = allocate(bytes);
    const Binding all{launchable.counts.get(), 0, bytes};
    fill_zero(all);
    check(
        set_argument(api(), launchable.kernel.get(), built.args.size(), memory_of(all).whole(), 0),
        fmt::format("clSetKernelArg of the counts of '{}'", built.name));
  }

  void enqueue(cl_command_queue queue, Launchable &kernel, cl_event *event) const {
    auto &launchable = static_cast<OpenclLaunchable &>(kernel);
    if (launchable.global == 0)
      return; // an empty range is an error in OpenCL 1.2
    const cl_int code =
        api().clEnqueueNDRangeKernel(queue, launchable.kernel.get(), 1, nullptr, &launchable.global,
                                     &launchable.local, 0, nullptr, event);
    if (code == CL_MEM_OBJECT_ALLOCATION_FAILURE) // where buffers get their memory at first use
      throw Error(
          ErrorCode::Device,
          fmt::format("{} is out of memory at kernel '{}': the {} bytes held by this process "
                      "are needed, fewer of {} are free",
                      name_, launchable.name, cx_->held_bytes, cx_->info.global_bytes));
    if (code != CL_SUCCESS)
      check(code, fmt::format("clEnqueueNDRangeKernel of '{}'", launchable.name));
  }

  // By launch; those of an empty range (no event) take no time.
  std::vector<LaunchTime> times_of(const std::vector<EventHandle> &events) const {
    std::vector<LaunchTime> times;
    std::optional<cl_ulong> first;
    double now = 0;
    for (const EventHandle &event : events) {
      times.push_back({now, now});
      if (!event)
        continue;
      const cl_ulong begin = nanoseconds(event.get(), CL_PROFILING_COMMAND_START);
      const cl_ulong end = std::max(begin, nanoseconds(event.get(), CL_PROFILING_COMMAND_END));
      first = first.value_or(begin);
      times.back().begin = static_cast<double>(begin - std::min(begin, *first)) * 1e-9;
      now = times.back().end = times.back().begin + static_cast<double>(end - begin) * 1e-9;
    }
    return times;
  }

  cl_ulong nanoseconds(cl_event event, cl_profiling_info what) const {
    cl_ulong at = 0;
    check(api().clGetEventProfilingInfo(event, what, sizeof at, &at, nullptr),
          fmt::format("clGetEventProfilingInfo({:#x})", what));
    return at;
  }

  std::shared_ptr<OpenclContext> cx_;
  Target target_;
  std::string name_;
  std::string driver_;
  Hooks hooks_;
  std::shared_ptr<QueueHandle> queue_;
  QueueHandle lent_;  // null: `queue_` is in use
  QueueHandle timed_; // of what is traced, kept: a queue's first launch is slow; null: nothing was
  std::map<std::string, std::weak_ptr<ProgramHandle>> programs_;
};

} // namespace

std::vector<DeviceEntry> list_opencl_devices() {
  std::string why;
  const OpenclApi *api = opencl_api(&why);
  if (api == nullptr)
    return {{.selector = "opencl", .name = "OpenCL", .rejected = why}};
  std::vector<DeviceEntry> entries;
  for (const OpenclDeviceInfo &info : opencl_devices(*api))
    entries.push_back({.selector = info.selector(),
                       .name = fmt::format("{} ({})", info.name, info.platform_name),
                       .rejected = rejection(info)});
  if (entries.empty())
    entries.push_back({.selector = "opencl",
                       .name = "OpenCL",
                       .rejected = "no OpenCL driver with a device is installed"});
  return entries;
}

std::unique_ptr<Device> make_opencl_device(const std::string &selector,
                                           const std::vector<Target> &rows, const Hooks &hooks,
                                           std::span<const MeasuredRow> measured) {
  std::string why;
  const OpenclApi *api = opencl_api(&why);
  if (api == nullptr)
    throw Error(ErrorCode::Device, why, "",
                {"install an OpenCL driver and its loader (ocl-icd-libopencl1)"});
  std::shared_ptr<OpenclContext> cx =
      hooks.queue == nullptr ? open_context(*api, select_device(opencl_devices(*api), selector))
                             : context_of_queue(*api, to_queue(hooks.queue), selector);
  Target target = with_measurements(target_of(cx->info, rows), name_of(cx->info), measured);
  return std::make_unique<OpenclDevice>(std::move(cx), std::move(target), hooks);
}

} // namespace tilefuse::runtime
