// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/cuda_device.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>

#include <fmt/format.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/lru.h"
#include "runtime/cuda/cuda_build.h"
#include "runtime/cuda/cuda_objects.h"
#include "runtime/cuda/cuda_target.h"
#include "runtime/cuda/cuda_tensor_map.h"
#include "runtime/cuda/cuda_timeline.h"
#include "runtime/device.h"
#include "target/measured_rows.h"

namespace tilefuse::runtime {
namespace {

using cuda::check;
using cuda::DriverApi;

constexpr std::int64_t kAlignment = 256; // bytes, as cuMemAlloc gives them
constexpr std::size_t kMostGraphs = 16;
constexpr std::size_t kMostPlaces = 64; // of arguments that callers move

CudaMemory &memory_of(const Binding &binding) {
  auto *memory = dynamic_cast<CudaMemory *>(binding.memory);
  TILEFUSE_CHECK(memory != nullptr, "a binding without memory of this device");
  TILEFUSE_CHECK(binding.offset >= 0 && binding.bytes >= 0 &&
                     binding.bytes <= memory->bytes() - binding.offset,
                 "a binding outside its memory");
  return *memory;
}

cuda::DevicePtr address_of(const Binding &binding) {
  return memory_of(binding).base() + static_cast<cuda::DevicePtr>(binding.offset);
}

constexpr int kFirstEarlyMajor = 9; // compute capability

struct CudaLaunchable final : Launchable {
  std::uint64_t id = 0;     // differs from every other of its device
  std::uint64_t number = 0; // of the launch: another one where its arguments lie elsewhere
  std::shared_ptr<LoadedModule> module;
  cuda::Function function = nullptr;
  std::string name;
  unsigned blocks = 0;
  unsigned block_size = 1;
  unsigned shared_bytes = 0;           // of dynamic shared memory
  std::vector<cuda::DevicePtr> values; // memory and offset of each argument
  std::unique_ptr<Memory> counts;      // null: none
  std::vector<TensorView> views;       // that maps are of
  std::vector<EncodedMap> maps;
  std::vector<void *> arguments; // addresses of values and maps
};

// TILEFUSE_SERIAL: every kernel starts once the one before has ended.
bool is_serial() {
  const char *serial = std::getenv("TILEFUSE_SERIAL");
  return serial != nullptr && *serial != '\0';
}

class CudaDevice final : public Device {
public:
  CudaDevice(std::shared_ptr<CudaContext> cx, const CudaDeviceInfo &info, Target target,
             Hooks hooks)
      : cx_(std::move(cx)), target_(std::move(target)), hooks_(std::move(hooks)), name_(info.name) {
    int version = 0;
    check(cx_->api, cx_->api.cuDriverGetVersion(&version), "cuDriverGetVersion");
    std::string why;
    const std::string compiler = nvrtc_version(&why);
    if (!compiler.empty())
      target_.compiler = compiler;
    starts_early_ = info.major >= kFirstEarlyMajor && version >= cuda::kFirstEarlyDriver &&
                    cx_->api.cuLaunchKernelEx != nullptr && !is_serial();
    driver_ = fmt::format("CUDA {} | {} | {}", version, info.arch(),
                          compiler.empty() ? "no NVRTC" : compiler);
  }
  ~CudaDevice() override { cx_->api.cuStreamSynchronize(cx_->stream); }

  const Target &target() const override { return target_; }
  const std::string &name() const override { return name_; }
  const std::string &driver() const override { return driver_; }
  std::int64_t alignment() const override { return kAlignment; }

  std::unique_ptr<Memory> allocate(std::int64_t bytes) override {
    if (!hooks_.allocate)
      return std::make_unique<CudaMemory>(cx_, bytes);
    const std::shared_ptr<void> owner =
        runtime::allocate(hooks_, name_, std::max<std::int64_t>(bytes, 1), kAlignment);
    return std::make_unique<CudaMemory>(cx_, owner.get(), bytes, owner);
  }

  std::unique_ptr<Memory> wrap(void *address, std::int64_t bytes) override {
    return std::make_unique<CudaMemory>(cx_, address, bytes);
  }

  void write(const Binding &to, std::span<const std::byte> from) override {
    TILEFUSE_CHECK(static_cast<std::int64_t>(from.size()) <= to.bytes, "a write past its binding");
    cx_->enter();
    check(cx_->api,
          cx_->api.cuMemcpyHtoDAsync_v2(address_of(to), from.data(), from.size(), cx_->stream),
          "cuMemcpyHtoDAsync");
    cx_->wait();
  }

  bool overlaps_writes() const override { return true; }

  void write_beside(const Binding &to, std::span<const std::byte> from) override {
    TILEFUSE_CHECK(static_cast<std::int64_t>(from.size()) <= to.bytes, "a write past its binding");
    cx_->enter();
    const cuda::Stream beside = cx_->transfers;
    check(cx_->api, cx_->api.cuMemcpyHtoDAsync_v2(address_of(to), from.data(), from.size(), beside),
          "cuMemcpyHtoDAsync");
    check(cx_->api, cx_->api.cuStreamSynchronize(beside), "cuStreamSynchronize");
  }

  void copy(const Binding &from, const Binding &to) override {
    TILEFUSE_CHECK(from.bytes <= to.bytes, "a copy past its binding");
    cx_->enter();
    check(cx_->api,
          cx_->api.cuMemcpyDtoDAsync_v2(address_of(to), address_of(from),
                                        static_cast<std::size_t>(from.bytes), cx_->stream),
          "cuMemcpyDtoDAsync");
  }

  void read(const Binding &from, std::span<std::byte> to) override {
    TILEFUSE_CHECK(static_cast<std::int64_t>(to.size()) <= from.bytes, "a read past its binding");
    cx_->enter();
    check(cx_->api,
          cx_->api.cuMemcpyDtoHAsync_v2(to.data(), address_of(from), to.size(), cx_->stream),
          "cuMemcpyDtoHAsync");
    cx_->wait();
  }

  void fill_zero(const Binding &to) override {
    if (to.bytes == 0)
      return;
    cx_->enter();
    check(cx_->api,
          cx_->api.cuMemsetD8Async(address_of(to), 0, static_cast<std::size_t>(to.bytes),
                                   cx_->stream),
          "cuMemsetD8Async");
  }

  std::vector<Package> build(std::vector<Package> packages) override {
    return build_cuda(std::move(packages), target_.isa, nullptr);
  }

  std::unique_ptr<Launchable> load(const Package &built,
                                   std::span<const Binding> bindings) override {
    if (built.format != CodeFormat::CudaBinary)
      throw Error(ErrorCode::Device, fmt::format("kernel '{}' is not built for CUDA", built.name));
    cx_->enter();
    auto launchable = std::make_unique<CudaLaunchable>();
    launchable->id = launchable->number = ++numbers_;
    launchable->name = built.name;
    launchable->module = module_of(built);
    launchable->function = launchable->module->function(built);
    launchable->blocks = static_cast<unsigned>(built.blocks);
    launchable->block_size = static_cast<unsigned>(built.block_size);
    launchable->shared_bytes = static_cast<unsigned>(built.scratch_bytes);
    if (built.scratch_bytes > 0)
      check(cx_->api,
            cx_->api.cuFuncSetAttribute(launchable->function, cuda::kMaxDynamicShared,
                                        static_cast<int>(built.scratch_bytes)),
            fmt::format("{} bytes of shared memory for kernel '{}'", built.scratch_bytes,
                        built.name));
    if (built.counts > 0)
      launchable->counts = zeroed(built.counts * kCountBytes);
    bind(cx_->api, *launchable, built, bindings);
    return launchable;
  }

  // A graph holds the addresses it was recorded with: a caller who takes turns between some finds the
  // graph of each again.
  void rebind(Launchable &kernel, std::size_t argument, const Binding &to) override {
    auto &launchable = static_cast<CudaLaunchable &>(kernel);
    cx_->enter();
    launchable.values[2 * argument] = memory_of(to).base();
    launchable.values[2 * argument + 1] = static_cast<cuda::DevicePtr>(to.offset);
    launchable.number = number_of(launchable);
    for (std::size_t m = 0; m < launchable.views.size(); ++m)
      if (at(launchable.views[m].argument) == argument)
        launchable.maps[m] =
            encode_map(cx_->api, launchable.views[m], address_of(to), launchable.name);
  }

  void launch(Launchable &kernel) override {
    send(kernel, cx_->stream != cx_->beside); // what is beside follows what others sent
  }

  std::unique_ptr<Recorded> record(Timeline timeline) override {
    cx_->enter();
    return std::make_unique<CudaTimeline>(
        cx_, std::move(timeline),
        [this](Launchable &kernel, bool is_early) { send(kernel, is_early); });
  }

  void launch_all(std::span<Launchable *const> kernels) override {
    std::vector<std::uint64_t> numbers;
    for (const Launchable *kernel : kernels)
      numbers.push_back(static_cast<const CudaLaunchable *>(kernel)->number);
    cx_->enter();
    std::unique_ptr<CudaGraph> *graph = graphs_.find(numbers);
    if (graph == nullptr)
      graph =
          &graphs_.insert(std::move(numbers),
                          std::make_unique<CudaGraph>(cx_, [&] { Device::launch_all(kernels); }));
    (*graph)->launch();
  }

  cuda::Stream stream() const {
    cx_->enter();
    return cx_->stream;
  }

  void finish() override {
    cx_->enter();
    cx_->wait();
  }

  void use_queue(void *queue) override {
    cx_->stream = queue != nullptr ? cx_->checked(queue) : cx_->usual;
  }
  std::unique_ptr<Mark> mark() override {
    cx_->enter();
    return std::make_unique<CudaMark>(cx_);
  }
  void begin_behind(Mark &mark) override {
    cx_->enter();
    const cuda::Event event = static_cast<CudaMark &>(mark).event();
    check(cx_->api, cx_->api.cuStreamWaitEvent(cx_->stream, event, 0), "cuStreamWaitEvent");
  }

  std::vector<LaunchTime> trace(std::span<Launchable *const> kernels) override {
    cx_->enter();
    std::vector<std::unique_ptr<CudaEvent>> marks;
    const auto mark = [&] {
      marks.push_back(std::make_unique<CudaEvent>(cx_->api));
      check(cx_->api, cx_->api.cuEventRecord(marks.back()->get(), cx_->stream), "cuEventRecord");
    };
    mark();
    for (Launchable *kernel : kernels) {
      launch(*kernel);
      mark();
    }
    cx_->wait();
    std::vector<LaunchTime> times;
    double now = 0;
    for (std::size_t i = 0; i + 1 < marks.size(); ++i) {
      float milliseconds = 0;
      check(cx_->api,
            cx_->api.cuEventElapsedTime(&milliseconds, marks[i]->get(), marks[i + 1]->get()),
            "cuEventElapsedTime");
      const double end = now + static_cast<double>(milliseconds) * 1e-3;
      times.push_back({now, end});
      now = end;
    }
    return times;
  }

  double time_all(std::span<Launchable *const> kernels, bool together) override {
    cx_->enter();
    const CudaEvent begin(cx_->api);
    const CudaEvent end(cx_->api);
    check(cx_->api, cx_->api.cuEventRecord(begin.get(), cx_->stream), "cuEventRecord");
    if (together)
      launch_all(kernels);
    else
      Device::launch_all(kernels);
    check(cx_->api, cx_->api.cuEventRecord(end.get(), cx_->stream), "cuEventRecord");
    cx_->wait();
    float milliseconds = 0;
    check(cx_->api, cx_->api.cuEventElapsedTime(&milliseconds, begin.get(), end.get()),
          "cuEventElapsedTime");
    return static_cast<double>(milliseconds) * 1e-3;
  }

private:
  // Packages with the same code share a module.
  std::shared_ptr<LoadedModule> module_of(const Package &built) {
    std::weak_ptr<LoadedModule> &known = modules_[content_hash(built.code)];
    if (auto held = known.lock())
      return held;
    auto made = std::make_shared<LoadedModule>(cx_, built);
    known = made;
    return made;
  }

  void send(Launchable &kernel, bool is_early) const {
    const auto &launchable = static_cast<CudaLaunchable &>(kernel);
    if (launchable.blocks == 0)
      return;
    cx_->enter();
    const auto arguments = const_cast<void **>(launchable.arguments.data());
    const cuda::Result code =
        starts_early_ && is_early
            ? launch_early(launchable, arguments)
            : cx_->api.cuLaunchKernel(launchable.function, launchable.blocks, 1, 1,
                                      launchable.block_size, 1, 1, launchable.shared_bytes,
                                      cx_->stream, arguments, nullptr);
    if (code != 0)
      check(cx_->api, code, fmt::format("cuLaunchKernel of '{}'", launchable.name));
  }

  // May start while the kernel in front runs its last blocks: emit/c/cuda.cpp has it wait.
  cuda::Result launch_early(const CudaLaunchable &launchable, void **arguments) const {
    cuda::LaunchAttribute early{.id = cuda::kStartsEarly};
    early.value[0] = 1;
    const cuda::LaunchConfig config{.grid = {launchable.blocks, 1, 1},
                                    .block = {launchable.block_size, 1, 1},
                                    .shared_bytes = launchable.shared_bytes,
                                    .stream = cx_->stream,
                                    .attributes = &early,
                                    .count = 1};
    return cx_->api.cuLaunchKernelEx(&config, launchable.function, arguments, nullptr);
  }

  std::uint64_t number_of(const CudaLaunchable &launchable) {
    std::vector<std::uint64_t> places{launchable.id};
    places.insert(places.end(), launchable.values.begin(), launchable.values.end());
    const std::uint64_t *known = places_.find(places);
    return known != nullptr ? *known : places_.insert(std::move(places), ++numbers_);
  }

  std::unique_ptr<Memory> zeroed(std::int64_t bytes) {
    std::unique_ptr<Memory> memory = allocate(bytes);
    fill_zero({memory.get(), 0, bytes});
    return memory;
  }

  static void bind(const DriverApi &api, CudaLaunchable &launchable, const Package &built,
                   std::span<const Binding> bindings) {
    TILEFUSE_CHECK(bindings.size() == built.args.size(), "bindings and arguments differ in number");
    for (std::size_t i = 0; i < bindings.size(); ++i) {
      TILEFUSE_CHECK(bindings[i].bytes >= built.args[i].bytes,
                     "a binding smaller than its argument");
      launchable.values.push_back(memory_of(bindings[i]).base());
      launchable.values.push_back(static_cast<cuda::DevicePtr>(bindings[i].offset));
    }
    if (launchable.counts != nullptr)
      launchable.values.insert(
          launchable.values.end(),
          {address_of({launchable.counts.get(), 0, launchable.counts->bytes()}), 0});
    launchable.views = built.maps;
    for (const TensorView &view : built.maps)
      launchable.maps.push_back(
          encode_map(api, view, address_of(bindings[at(view.argument)]), built.name));
    for (cuda::DevicePtr &value : launchable.values)
      launchable.arguments.push_back(&value);
    for (EncodedMap &map : launchable.maps)
      launchable.arguments.push_back(&map);
  }

  std::shared_ptr<CudaContext> cx_;
  Target target_;
  Hooks hooks_;
  std::string name_;
  std::string driver_;
  bool starts_early_ = false;
  std::uint64_t numbers_ = 0;                                  // given last
  std::map<std::string, std::weak_ptr<LoadedModule>> modules_; // by the hash of their code
  Lru<std::vector<std::uint64_t>, std::uint64_t> places_{kMostPlaces};
  Lru<std::vector<std::uint64_t>, std::unique_ptr<CudaGraph>> graphs_{
      kMostGraphs}; // by numbers of the launches
};

// The number of "cuda:N", 0 for "cuda".
int device_number(const std::string &selector) {
  const std::string_view rest = std::string_view(selector).substr(std::string_view("cuda").size());
  int number = 0;
  const char *end = rest.data() + rest.size();
  if (rest.empty())
    return number;
  const auto [stop, failure] = std::from_chars(rest.data() + 1, end, number);
  if (rest.front() != ':' || failure != std::errc() || stop != end || number < 0)
    throw Error(ErrorCode::Device,
                fmt::format("got device '{}', need cuda or cuda:NUMBER", selector));
  return number;
}

} // namespace

std::vector<DeviceEntry> list_cuda_devices() {
  std::string why;
  const DriverApi *api = cuda::driver_api(&why);
  if (api == nullptr)
    return {{.selector = "cuda", .name = "CUDA", .rejected = why}};
  std::string no_compiler;
  if (!nvrtc_version(&no_compiler).empty())
    no_compiler.clear();
  std::vector<DeviceEntry> entries;
  for (const CudaDeviceInfo &info : cuda_devices(*api))
    entries.push_back({.selector = info.selector(), .name = info.name, .rejected = no_compiler});
  return entries;
}

std::unique_ptr<Device> make_cuda_device(const std::string &selector,
                                         const std::vector<Target> &rows, const Hooks &hooks,
                                         std::span<const MeasuredRow> measured) {
  const int number = device_number(selector);
  std::string why;
  const DriverApi *api = cuda::driver_api(&why);
  if (api == nullptr)
    throw Error(ErrorCode::Device, why);
  const std::vector<CudaDeviceInfo> devices = cuda_devices(*api);
  if (static_cast<std::size_t>(number) >= devices.size())
    throw Error(ErrorCode::Device, fmt::format("there is no device '{}': the driver has {}",
                                               selector, devices.size()));
  const CudaDeviceInfo &info = devices[at(number)];
  auto cx = std::make_shared<CudaContext>(*api, number);
  if (hooks.queue != nullptr)
    cx->stream = cx->usual = cx->checked(hooks.queue);
  return std::make_unique<CudaDevice>(
      std::move(cx), info, with_measurements(target_of(info, rows), info.name, measured), hooks);
}

cuda::Stream cuda_stream(Device &device) {
  auto *cuda = dynamic_cast<CudaDevice *>(&device);
  TILEFUSE_CHECK(cuda != nullptr, "a device that is not of CUDA");
  return cuda->stream();
}

cuda::DevicePtr cuda_address(const Binding &binding) { return address_of(binding); }

} // namespace tilefuse::runtime
